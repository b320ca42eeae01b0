//! Debian packages: an `ar` archive of two tars, with every folder listed, so that dpkg removes what it made.
//!
//! Does not know the repositories that serve them.

use super::material::{Built, Release};
use super::names;
use super::output::Output;
use super::pack::{self, Folders};
use super::system_tree::{self, DOCUMENTS, Layout};
use super::tree::Tree;

const LAYOUT: Layout = Layout { zsh: "usr/share/zsh/vendor-completions", licences: None };

pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    for built in release.packaged() {
        if let Some(machine) = built.target.deb {
            output.write(&file_name(release, machine), &package(release, built, machine)?)?;
        }
    }
    Ok(())
}

pub(crate) fn file_name(release: &Release, machine: &str) -> String {
    format!("loci_{}_{machine}.deb", release.system_version())
}

fn package(release: &Release, built: &Built, machine: &str) -> Result<Vec<u8>, String> {
    let mut tree = system_tree::build(release, built, &LAYOUT)?;
    tree.add(format!("{DOCUMENTS}/copyright"), copyright(release));
    tree.add(
        format!("{DOCUMENTS}/CHANGELOG.md.gz"),
        pack::gzip(&release.documents.changelog, release.effort)?,
    );
    tree.add(format!("{DOCUMENTS}/changelog.gz"), pack::gzip(changelog(release).as_bytes(), release.effort)?);
    let mut control = Tree::default();
    control.add("control", describe(release, built, machine, &tree));
    let control = pack::gzip(&pack::tar(&control, release.epoch, Folders::Listed)?, release.effort)?;
    let data = pack::xz(&pack::tar(&tree, release.epoch, Folders::Listed)?, release.effort, built.target)?;
    let members = [("debian-binary", &b"2.0\n"[..]), ("control.tar.gz", &control), ("data.tar.xz", &data)];
    Ok(ar(&members, release.epoch))
}

fn ar(members: &[(&str, &[u8])], epoch: u64) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let size = bytes.len();
        out.extend(format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, "100644").as_bytes());
        out.extend(*bytes);
        if size % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

fn describe(release: &Release, built: &Built, machine: &str, tree: &Tree) -> String {
    let kilobytes =
        tree.iter().map(|(_, file)| file.bytes.len().div_ceil(1024)).sum::<usize>() + tree.folders().len();
    let libc = built.glibc().map(|minor| format!("libc6 (>= 2.{minor})"));
    let libraries: Vec<String> =
        libc.into_iter().chain(built.needs_libgcc().then(|| "libgcc-s1".to_owned())).collect();
    let depends =
        if libraries.is_empty() { String::new() } else { format!("Depends: {}\n", libraries.join(", ")) };
    format!(
        "Package: {}\nVersion: {}\nArchitecture: {machine}\nMaintainer: {}\nInstalled-Size: {kilobytes}\n{depends}\
        Section: devel\nPriority: optional\nHomepage: {}\nDescription: {}\n {}\n {}\n",
        names::PROGRAM,
        release.system_version(),
        names::MAINTAINER,
        names::REPOSITORY,
        lower_first(names::SUMMARY),
        "Searches the transcripts that coding agents keep on disk, and gives them to",
        "agents over MCP. Sends nothing off the machine unless configured to.",
    )
}

/// In Debian's form, which names the file in ours.
fn changelog(release: &Release) -> String {
    format!(
        "{} ({}) stable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- {}  {}\n",
        names::PROGRAM,
        release.system_version(),
        names::MAINTAINER,
        release.date,
    )
}

/// A synopsis is part of a sentence.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The machine-readable form; the Apache licence is on every Debian system.
fn copyright(release: &Release) -> String {
    let mit = release.documents.licences.iter().find(|(name, _)| *name == "LICENSE-MIT");
    let text = mit.map_or_else(String::new, |(_, text)| String::from_utf8_lossy(text).into_owned());
    let indented: String = text
        .trim_end()
        .lines()
        .map(|line| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: {}\nSource: {}\n\n\
        Files: *\nCopyright: {}\nLicense: Apache-2.0 or Expat\n\n\
        License: Apache-2.0\n On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.\n\n\
        License: Expat\n{indented}",
        names::PROGRAM,
        names::REPOSITORY,
        names::AUTHORS,
    )
}
