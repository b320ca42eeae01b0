//! `cargo xtask site`: builds the documentation site from `docs/` with mdBook, and checks the built pages: no dead link or
//! anchor, every page reachable from the first, nothing loaded from another host.
//!
//! Does not know Markdown: it reads what mdBook wrote. Only the list of pages comes from `docs/SUMMARY.md`.

use crate::Outcome;
use crate::args::Args;
use crate::repository::{files, read, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

pub(crate) const HELP: &str = "[--browser] [--to FOLDER]\n\
    build the documentation site with mdbook and check its links; --browser opens it in chromium as on a telephone";

/// Where links lead that leave `docs/`: the site does not contain these files.
const REPOSITORY: &str = "https://github.com/loci-dev/loci/blob/main/";
const FIRST_PAGE: &str = "index.html";
/// Tags whose `src` or `href` the browser loads by itself.
const LOADING_TAGS: &[&str] =
    &["link", "script", "img", "iframe", "source", "video", "audio", "embed", "object", "image", "use"];

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["to"], &["browser"])?;
    let to = args.path_value("to").unwrap_or_else(|| target_folder().join("site"));
    let to = std::path::absolute(to).map_err(|error| error.to_string())?;
    build(&to)?;
    redirect_links(&to)?;
    let site = Site::load(&to)?;
    let mut found = site.findings();
    found.extend(site.unreachable(&pages_of(root())?));
    if args.has_switch("browser") {
        found.extend(open_in_browser(&to)?);
    }
    for finding in &found {
        println!("{finding}");
    }
    println!("{} pages in {}, {} findings", site.pages.len(), to.display(), found.len());
    Ok(found.is_empty())
}

/// The folder of builds: two levels above this program, `target/debug/xtask`.
fn target_folder() -> PathBuf {
    let own = std::env::current_exe().ok();
    let folder = own.as_deref().and_then(|program| program.ancestors().nth(2));
    folder.map_or_else(|| root().join("target"), Path::to_path_buf)
}

fn build(to: &Path) -> Result<(), String> {
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(root().join("site")).arg("--dest-dir").arg(to);
    let missing = "install it with `cargo install mdbook --locked --no-default-features --features search`";
    let output = mdbook.output().map_err(|error| format!("mdbook: {error}: {missing}"))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let is_clean = output.status.success() && !messages.contains("WARN") && !messages.contains("ERROR");
    if is_clean { Ok(()) } else { Err(format!("mdbook: {messages}")) }
}

// ---- pages of docs/

/// Every page below `docs/`, relative to it, except the table of contents itself.
fn pages_of(root: &Path) -> Result<Vec<PathBuf>, String> {
    let docs = root.join("docs");
    let mut pages: Vec<PathBuf> = files(&docs)?
        .iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "md"))
        .map(|file| file.strip_prefix(&docs).unwrap_or(file).to_path_buf())
        .collect();
    pages.retain(|page| page != Path::new("SUMMARY.md"));
    Ok(pages)
}

/// For `tidy`: pages that are not in the table of contents.
pub(crate) fn unlisted_pages(root: &Path) -> Result<Vec<String>, String> {
    Ok(find_unlisted(&read(&root.join("docs/SUMMARY.md"))?, &pages_of(root)?))
}

fn find_unlisted(summary: &str, pages: &[PathBuf]) -> Vec<String> {
    let is_listed = |page: &&PathBuf| summary.contains(&format!("]({})", page.display()));
    let unlisted = pages.iter().filter(|page| !is_listed(page));
    unlisted.map(|page| format!("docs/{}: not in docs/SUMMARY.md", page.display())).collect()
}

// ---- links of built pages

/// The `href` and `src` attributes of a page, with the names of their tags.
fn links(html: &str) -> impl Iterator<Item = (&str, &str)> {
    let values = |tag| ["href", "src"].into_iter().filter_map(move |name| attribute(tag, name));
    // `<base>` is the address of the site: 404.html is shown below any path.
    tags(html)
        .filter(|tag| tag_name(tag) != "base")
        .flat_map(move |tag| values(tag).map(move |value| (tag_name(tag), value)))
}

/// The text of each tag, from its name to its end.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    html.split('<').skip(1).filter_map(|piece| piece.split_once('>').map(|(tag, _)| tag))
}

fn tag_name(tag: &str) -> &str {
    tag.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default()
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Whether a link names a host or a scheme.
fn is_elsewhere(link: &str) -> bool {
    link.starts_with("//") || link.split(['/', '#', '?']).next().is_some_and(|start| start.contains(':'))
}

/// The file that a relative link leads to, from a page of the same tree; `None` above the root. Fragments are left out.
fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
    let path = link.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() {
        return Some(page.to_path_buf());
    }
    let mut resolved = PathBuf::new();
    for part in page.parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::ParentDir if !resolved.pop() => return None,
            Component::Normal(name) => resolved.push(name),
            _ => {}
        }
    }
    Some(resolved)
}

// ---- links that leave docs/

/// Rewrites the links of all pages that mdBook leaves as they are in `docs/`.
fn redirect_links(site: &Path) -> Result<(), String> {
    for file in files(site)?.iter().filter(|file| is_page(file)) {
        let html = read(file)?;
        let page = file.strip_prefix(site).unwrap_or(file);
        let redirected =
            redirect_page(page, &html, |path| site.join(path).is_file(), |path| root().join(path).exists());
        fs::write(file, redirected).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "html")
}

fn redirect_page(
    page: &Path,
    html: &str,
    in_site: impl Fn(&Path) -> bool,
    in_repository: impl Fn(&Path) -> bool,
) -> String {
    let stale: BTreeSet<&str> =
        links(html).map(|(_, link)| link).filter(|link| !is_elsewhere(link)).collect();
    stale.iter().fold(html.to_owned(), |text, link| match redirect(page, link, &in_site, &in_repository) {
        Some(better) => text.replace(&format!("=\"{link}\""), &format!("=\"{better}\"")),
        None => text,
    })
}

/// The address to use instead of a link to a file that the site does not contain: the page that mdBook calls `index.html`, or
/// the file in the repository, where `x.html` is `x.md`.
fn redirect(
    page: &Path,
    link: &str,
    in_site: &impl Fn(&Path) -> bool,
    in_repository: &impl Fn(&Path) -> bool,
) -> Option<String> {
    if resolve(page, link).is_some_and(|target| in_site(&target)) {
        return None;
    }
    let index = link.replace("README.html", FIRST_PAGE);
    if resolve(page, &index).is_some_and(|target| in_site(&target)) {
        return Some(index);
    }
    let path = resolve(&Path::new("docs").join(page), link)?;
    let candidates = [path.with_extension("md"), path];
    let path = candidates.iter().find(|path| in_repository(path))?;
    let fragment = link.split_once('#').map(|(_, name)| format!("#{name}")).unwrap_or_default();
    Some(format!("{REPOSITORY}{}{fragment}", path.display()))
}

// ---- checks

/// The built site: its pages and styles with their text, and the names of all files.
struct Site {
    pages: BTreeMap<PathBuf, String>,
    styles: BTreeMap<PathBuf, String>,
    files: BTreeSet<PathBuf>,
}

impl Site {
    fn load(folder: &Path) -> Result<Site, String> {
        let mut site = Site { pages: BTreeMap::new(), styles: BTreeMap::new(), files: BTreeSet::new() };
        for file in files(folder)? {
            let name = file.strip_prefix(folder).unwrap_or(&file).to_path_buf();
            if is_page(&file) {
                site.pages.insert(name.clone(), read(&file)?);
            } else if file.extension().is_some_and(|ending| ending == "css" || ending == "svg") {
                site.styles.insert(name.clone(), read(&file)?);
            }
            site.files.insert(name);
        }
        Ok(site)
    }

    fn findings(&self) -> Vec<String> {
        let of_pages = self.pages.iter().flat_map(|(page, html)| self.check_page(page, html));
        let of_styles = self.styles.iter().flat_map(|(style, text)| loaded_by_style(style, text));
        of_pages.chain(of_styles).collect()
    }

    fn check_page(&self, page: &Path, html: &str) -> Vec<String> {
        let problem = |(tag, link): (&str, &str)| {
            let what = match is_elsewhere(link) {
                true if LOADING_TAGS.contains(&tag) && !link.starts_with("data:") => "loaded from elsewhere",
                true => return None,
                false => self.problem_of_link(page, link)?,
            };
            Some(format!("{}: {what}: {link}", page.display()))
        };
        let of_styles = tags(html).filter_map(|tag| attribute(tag, "style"));
        let of_styles = of_styles.flat_map(|style| loaded_by_style(page, style));
        links(html).filter_map(problem).chain(of_styles).collect()
    }

    fn problem_of_link(&self, page: &Path, link: &str) -> Option<&'static str> {
        let Some(target) = resolve(page, link).filter(|target| self.files.contains(target)) else {
            return Some("no such file");
        };
        let fragment = link.split_once('#').map(|(_, name)| name).filter(|name| !name.is_empty())?;
        let html = self.pages.get(&target)?;
        let has_anchor = tags(html).any(|tag| attribute(tag, "id") == Some(fragment));
        (!has_anchor).then_some("no such anchor")
    }

    /// Pages of `docs/` that no chain of links leads to from the first page.
    fn unreachable(&self, pages: &[PathBuf]) -> Vec<String> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![PathBuf::from(FIRST_PAGE)]);
        while let Some(page) = open.pop() {
            let Some(html) = self.pages.get(&page) else { continue };
            if reached.insert(page.clone()) {
                let inside = links(html).map(|(_, link)| link).filter(|link| !is_elsewhere(link));
                open.extend(inside.filter_map(|link| resolve(&page, link)));
            }
        }
        let built = |page: &Path| {
            if page.ends_with("README.md") {
                page.with_file_name(FIRST_PAGE)
            } else {
                page.with_extension("html")
            }
        };
        let lost = pages.iter().filter(|page| !reached.contains(&built(page)));
        lost.map(|page| format!("docs/{}: not reachable from {FIRST_PAGE}", page.display())).collect()
    }
}

/// `url(…)` and `@import` of another host.
fn loaded_by_style(name: &Path, text: &str) -> Vec<String> {
    let starts = ["url(", "@import "].into_iter().flat_map(|start| text.split(start).skip(1));
    let addresses = starts.map(|rest| rest.trim_start_matches(['"', '\'', ' ']));
    let addresses = addresses.filter_map(|rest| rest.split(['"', '\'', ')', ';']).next());
    let elsewhere = addresses.filter(|link| is_elsewhere(link) && !link.starts_with("data:"));
    elsewhere.map(|link| format!("{}: loaded from elsewhere: {link}", name.display())).collect()
}

// ---- browser

/// The width of a telephone, in pixels.
const WIDTH: u64 = 390;
/// Pages with plain text, with code and with wide tables.
const OPENED: &[&str] = &[FIRST_PAGE, "tutorials/first-ten-minutes.html", "reference/environment.html"];

/// Shows a page in a frame, because a window cannot be that narrow. Puts the widths of frame and content, and what was
/// loaded from another host, into the title. Code and tables scroll by themselves; anything else would move the page.
const FRAME: &str = "<!doctype html><title></title><body style='margin: 0'>\n\
    <iframe src='PAGE' style='border: 0; width: WIDTHpx; height: 844px'></iframe>\n\
    <script>addEventListener('load', () => {\n\
    const {innerWidth: window, document: page, performance} = document.querySelector('iframe').contentWindow;\n\
    const loaded = performance.getEntriesByType('resource').map((one) => one.name);\n\
    const elsewhere = loaded.filter((name) => !/^(file|data|blob):/.test(name));\n\
    const inside = [...page.querySelectorAll('main *')].filter((one) => !one.closest('pre, .table-wrapper'));\n\
    const edges = inside.map((one) => Math.floor(one.getBoundingClientRect().right));\n\
    const content = Math.max(page.documentElement.scrollWidth, ...edges);\n\
    document.title = JSON.stringify({window, content, elsewhere});\n\
    });</script>";

fn open_in_browser(site: &Path) -> Result<Vec<String>, String> {
    let frame = site.join("frame.html");
    let picture = site.with_extension("png");
    let mut found = Vec::new();
    for page in OPENED {
        let html = FRAME.replace("PAGE", page).replace("WIDTH", &WIDTH.to_string());
        fs::write(&frame, html).map_err(|error| format!("{}: {error}", frame.display()))?;
        found.extend(judge_measures(page, &run_chromium(&frame, "--dump-dom")?)?);
        if *page == FIRST_PAGE {
            run_chromium(&frame, &format!("--screenshot={}", picture.display()))?;
        }
    }
    fs::remove_file(&frame).map_err(|error| format!("{}: {error}", frame.display()))?;
    println!("{FIRST_PAGE} at {WIDTH} pixels: {}", picture.display());
    Ok(found)
}

fn run_chromium(page: &Path, flag: &str) -> Result<String, String> {
    let home = target_folder().join("site-browser");
    fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    let mut browser = Command::new("timeout");
    browser.args(["120", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    browser.args(["--virtual-time-budget=10000", "--allow-file-access-from-files"]);
    browser.arg(format!("--window-size={WIDTH},844")).arg(flag);
    browser.arg("--host-resolver-rules=MAP * ~NOTFOUND").arg(format!("--user-data-dir={}", home.display()));
    browser.arg(format!("file://{}", page.display())).env("HOME", &home);
    let output = browser.output().map_err(|error| format!("chromium: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("chromium: {errors}"))
    }
}

fn judge_measures(page: &str, dom: &str) -> Result<Vec<String>, String> {
    let title =
        dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or_default();
    let measures: Value = serde_json::from_str(&title.replace("&quot;", "\""))
        .map_err(|error| format!("{page}: not measured: {error}: {title}"))?;
    let mut found = Vec::new();
    if measures["window"] != WIDTH {
        return Err(format!("{page}: the window is {} pixels wide, not {WIDTH}", measures["window"]));
    }
    if measures["content"].as_u64() > Some(WIDTH) {
        found.push(format!("{page}: {} pixels wide in a window of {WIDTH}", measures["content"]));
    }
    if measures["elsewhere"] != serde_json::json!([]) {
        found.push(format!("{page}: loaded from elsewhere: {}", measures["elsewhere"]));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(pages: &[(&str, &str)], styles: &[(&str, &str)]) -> Site {
        let named = |files: &[(&str, &str)]| {
            files
                .iter()
                .map(|(name, text)| (PathBuf::from(name), (*text).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let (pages, styles) = (named(pages), named(styles));
        let files = pages.keys().chain(styles.keys()).cloned().collect();
        Site { pages, styles, files }
    }

    #[test]
    fn a_broken_page_is_found() {
        let page = "<h1 id=\"top\">x</h1><a href=\"#top\">a</a> <a class=\"b\" href=\"b.html#there\">b</a>\n\
            <a href=\"#nowhere\">c</a> <a href=\"b.html#gone\">d</a> <a href=\"../c.html\">e</a>\n\
            <a href=\"https://example.com/\">f</a> <code>&lt;a href=\"no.html\"&gt;</code>";
        let other = "<p id=\"there\"></p><img src=\"gone.png\">";
        let site = site(&[("index.html", page), ("b.html", other)], &[]);
        assert_eq!(
            site.findings(),
            [
                "b.html: no such file: gone.png",
                "index.html: no such anchor: #nowhere",
                "index.html: no such anchor: b.html#gone",
                "index.html: no such file: ../c.html",
            ]
        );
    }

    #[test]
    fn what_is_loaded_from_another_host_is_found() {
        let page = "<link rel=\"stylesheet\" href=\"https://cdn.example/a.css\"><script src=\"//cdn.example/a.js\"></script>\n\
            <a href=\"https://example.com/\">x</a><img src=\"data:image/png;base64,AA\">\n\
            <p style=\"background: url(https://cdn.example/b.png)\">y</p>";
        let style = "@import \"https://cdn.example/c.css\"; a { background: url('d.png') } b { src: url(http://x.example/e.woff) }";
        let found = site(&[("index.html", page)], &[("a.css", style)]).findings();
        let addresses: Vec<&str> = found.iter().filter_map(|line| line.rsplit(' ').next()).collect();
        let cdn = "https://cdn.example";
        let expected = [
            &format!("{cdn}/a.css"),
            "//cdn.example/a.js",
            &format!("{cdn}/b.png"),
            "http://x.example/e.woff",
            &format!("{cdn}/c.css"),
        ];
        assert_eq!(addresses, expected);
        assert!(found.iter().all(|line| line.contains("loaded from elsewhere")), "{found:?}");
    }

    #[test]
    fn a_page_without_a_link_to_it_is_found() {
        let site = site(
            &[
                ("index.html", "<a href=\"a/index.html\">a</a>"),
                ("a/index.html", "<a href=\"../b.html#x\">b</a>"),
                ("b.html", ""),
                ("lost.html", ""),
            ],
            &[],
        );
        let pages = ["README.md", "a/README.md", "b.md", "lost.md"].map(PathBuf::from);
        assert_eq!(site.unreachable(&pages), ["docs/lost.md: not reachable from index.html"]);
    }

    #[test]
    fn a_page_outside_the_table_of_contents_is_found() {
        let pages = ["a.md", "guides/b.md", "b.md"].map(PathBuf::from);
        let unlisted = find_unlisted("- [A](a.md)\n- [B](guides/b.md)\n", &pages);
        assert_eq!(unlisted, ["docs/b.md: not in docs/SUMMARY.md"]);
    }

    #[test]
    fn links_that_leave_the_site_lead_to_the_repository() {
        let in_site = |path: &Path| {
            ["guides/a.html", "design/index.html", "a.png"].iter().any(|name| path == Path::new(name))
        };
        let in_repository = |path: &Path| {
            ["SECURITY.md", "docs/examples/memo", "docs/a.tsv"].iter().any(|name| path == Path::new(name))
        };
        let page = Path::new("guides/a.html");
        for (link, expected) in [
            ("../a.png", None),
            ("#here", None),
            ("../design/README.html#x", Some("../design/index.html#x".to_owned())),
            ("../../SECURITY.html#secrets", Some(format!("{REPOSITORY}SECURITY.md#secrets"))),
            ("../examples/memo", Some(format!("{REPOSITORY}docs/examples/memo"))),
            ("../gone.html", None),
            ("../../../../etc/passwd", None),
        ] {
            assert_eq!(redirect(page, link, &in_site, &in_repository), expected, "{link}");
        }
        let html = "<a href=\"../../SECURITY.html\">x</a> <a href=\"https://x.example/\">y</a>";
        let expected =
            format!("<a href=\"{REPOSITORY}SECURITY.md\">x</a> <a href=\"https://x.example/\">y</a>");
        assert_eq!(redirect_page(page, html, in_site, in_repository), expected);
    }

    #[test]
    fn a_page_wider_than_its_window_is_found() {
        let dom = |measures: &str| format!("<title>{}</title>", measures.replace('"', "&quot;"));
        let judge = |measures: &str| judge_measures("p", &dom(measures));
        assert_eq!(judge(r#"{"window":390,"content":390,"elsewhere":[]}"#), Ok(vec![]));
        let wide = judge(r#"{"window":390,"content":412,"elsewhere":["https://x.example/a.js"]}"#).unwrap();
        assert_eq!(wide[0], "p: 412 pixels wide in a window of 390");
        assert!(wide[1].contains("x.example"), "{wide:?}");
        assert!(judge(r#"{"window":500,"content":390,"elsewhere":[]}"#).is_err());
        assert!(judge("Introduction").is_err());
    }
}
