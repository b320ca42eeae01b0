//! `cargo xtask pictures`: makes the pictures of README and docs from a made-up history, so that they can be made again.
//!
//! Does not know what Loci draws: it runs the binary, and takes pictures of a terminal and of a browser.

mod story;
mod terminal_svg;

use crate::Outcome;
use crate::args::Args;
use crate::repository::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testutil::{Home, Screen};

pub(crate) const HELP: &str = "[--loci PATH] [--to FOLDER]\n\
    make the pictures of README and docs from a made-up history; needs chromium and pdftoppm (Debian: poppler-utils)";

const TERMINAL: (u16, u16) = (112, 30);
/// Small enough to be committed: every picture of a page together is below 400 kB.
const WINDOW: &str = "--window-size=1000,760";

/// Keys, the text that shows that they were answered, and the picture that is then taken.
type Step = (&'static str, &'static str, Option<&'static str>);

const BROWSER: &[Step] = &[
    ("checkout", "search: checkout", None),
    ("", "sessions", Some("browser-search.svg")),
    ("\x0f", "▸ ", Some("browser-session.svg")),
    ("q\t5", "by day", Some("browser-usage.svg")),
];

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["loci", "to"], &[])?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let loci = args.path_value("loci").unwrap_or_else(|| own.with_file_name("loci"));
    let to = args.path_value("to").unwrap_or_else(|| root().join("docs/pictures"));
    fs::create_dir_all(&to).map_err(|error| format!("{}: {error}", to.display()))?;
    let home = Home::new();
    story::write_history(&home);
    run_loci(&loci, &home, &["memory", "consolidate", "--no-model"])?;
    draw_browser(&loci, &home, &to)?;
    draw_report(&loci, &home, &to)?;
    draw_code_map(&loci, &home, &to)?;
    print_sizes(&to)
}

fn run_loci(loci: &Path, home: &Home, args: &[&str]) -> Result<(), String> {
    let mut command = Command::new(loci);
    testutil::set_environment(&mut command, home.path());
    run_program(command.args(args))
}

fn run_program(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

// ---- terminal

fn draw_browser(loci: &Path, home: &Home, to: &Path) -> Result<(), String> {
    let screen = Screen::spawn(loci, &["ui"], home.path(), TERMINAL, &[]);
    screen.wait_until("sessions", is_answered);
    for (keys, shown, picture) in BROWSER {
        screen.send(keys);
        screen.wait_until(shown, |text| text.contains(shown) && is_answered(text));
        if let Some(name) = picture {
            write_file(&to.join(name), &screen.inspect(terminal_svg::draw))?;
        }
    }
    Ok(())
}

/// Whether nothing is outstanding: the last line ends with dots while something is.
fn is_answered(text: &str) -> bool {
    text.lines().last().is_some_and(|line| !line.trim().is_empty() && !line.contains('…'))
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

// ---- pages

fn draw_report(loci: &Path, home: &Home, to: &Path) -> Result<(), String> {
    let page = home.path().join("report.html");
    let file = page.to_string_lossy();
    run_loci(
        loci,
        home,
        &["report", "--since", story::FIRST_DAY, "--until", story::LAST_DAY, "--file", &file],
    )?;
    take_picture(home, &page, &to.join("report-light.png"), &["--blink-settings=preferredColorScheme=1"])?;
    take_picture(home, &page, &to.join("report-dark.png"), &["--blink-settings=preferredColorScheme=0"])?;
    print_page(home, &page, &to.join("report-print"))
}

/// A part of this repository: few enough packages that their names can be read in a small picture.
fn draw_code_map(loci: &Path, home: &Home, to: &Path) -> Result<(), String> {
    let page = home.path().join("map.html");
    // The title has the name of the folder, which differs between clones.
    let tree = home.path().join("loci");
    std::os::unix::fs::symlink(root(), &tree).map_err(|error| format!("{}: {error}", tree.display()))?;
    let (tree, file) = (tree.to_string_lossy(), page.to_string_lossy());
    run_loci(loci, home, &["code", "map", "crates/sources", "--root", &tree, "--file", &file])?;
    take_picture(home, &page, &to.join("code-map.png"), &["--blink-settings=preferredColorScheme=1"])
}

fn chromium(home: &Home, page: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]).args(flags);
    command.arg(format!("--user-data-dir={}", home.path().join("profile").display()));
    command.arg(format!("file://{}", page.display())).env("HOME", home.path());
    command
}

fn take_picture(home: &Home, page: &Path, to: &Path, flags: &[&str]) -> Result<(), String> {
    let shot = format!("--screenshot={}", to.display());
    run_program(chromium(home, page, flags).args([WINDOW, &shot]))
}

/// The first page on paper. `pdftoppm` adds the ending to the name.
fn print_page(home: &Home, page: &Path, to: &Path) -> Result<(), String> {
    let paper: PathBuf = home.path().join("paper.pdf");
    let print = format!("--print-to-pdf={}", paper.display());
    run_program(&mut chromium(home, page, &["--no-pdf-header-footer", &print]))?;
    run_program(Command::new("pdftoppm").args(["-png", "-r", "60", "-singlefile"]).arg(paper).arg(to))
}

fn print_sizes(to: &Path) -> Outcome {
    let entries = fs::read_dir(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let mut sizes: Vec<(String, u64)> = Vec::new();
    for entry in entries.flatten() {
        let size = entry.metadata().map_or(0, |data| data.len());
        sizes.push((entry.file_name().to_string_lossy().into_owned(), size));
    }
    sizes.sort();
    for (name, size) in sizes {
        println!("{size:>8}  {name}");
    }
    Ok(true)
}
