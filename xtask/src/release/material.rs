//! What packages are made of: the version, the binaries, and the documents that the program prints about itself.
//!
//! Does not know the packages.

use super::pack::Effort;
use super::targets::{TARGETS, Target, host_targets};
use crate::repository::{read, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct Release {
    pub(crate) version: String,
    /// The time of every file, in seconds since 1970.
    pub(crate) epoch: u64,
    /// The same time as mail writes it.
    pub(crate) date: String,
    /// In the order of [`TARGETS`].
    pub(crate) built: Vec<Built>,
    pub(crate) documents: Documents,
    pub(crate) effort: Effort,
}

pub(crate) struct Built {
    pub(crate) target: &'static Target,
    pub(crate) bytes: Vec<u8>,
}

/// Texts that belong into packages, as file names and bytes.
pub(crate) struct Documents {
    /// Shells and their completions.
    pub(crate) completions: Vec<(&'static str, Vec<u8>)>,
    pub(crate) manuals: Vec<(String, Vec<u8>)>,
    pub(crate) licences: Vec<(&'static str, Vec<u8>)>,
    pub(crate) readme: Vec<u8>,
    pub(crate) changelog: Vec<u8>,
}

impl Release {
    pub(crate) fn load(binaries: &Path, program: Option<PathBuf>, effort: Effort) -> Result<Release, String> {
        let built = load_binaries(binaries)?;
        let program = match program {
            Some(program) => program,
            None => host_program(binaries).ok_or_else(|| {
                format!("{}: no binary that runs here; name one with --loci PATH", binaries.display())
            })?,
        };
        let documents = Documents::load(&program)?;
        let (epoch, date) = commit_time()?;
        Ok(Release { version: env!("CARGO_PKG_VERSION").to_owned(), epoch, date, built, documents, effort })
    }

    /// One binary for each machine: the first in [`TARGETS`].
    pub(crate) fn packaged(&self) -> impl Iterator<Item = &Built> {
        let is_first = |built: &Built| {
            let same = |other: &&Built| other.target.npm == built.target.npm;
            self.built.iter().find(same).is_some_and(|first| first.target.triple == built.target.triple)
        };
        self.built.iter().filter(move |built| is_first(built))
    }

    /// The archive of a target without its ending.
    pub(crate) fn stem(&self, target: &Target) -> String {
        format!("loci-{}-{}", self.version, target.triple)
    }

    /// A `-` separates the release from the version in deb and rpm; `~` sorts before the end, as `-rc.1` does.
    pub(crate) fn system_version(&self) -> String {
        self.version.replace('-', "~")
    }
}

impl Built {
    /// Whether the binary needs the library of the compiler at run time.
    pub(crate) fn needs_libgcc(&self) -> bool {
        self.target.libc.is_some() && memchr::memmem::find(&self.bytes, b"libgcc_s.so.1").is_some()
    }

    /// The minor version of glibc 2 that a dynamically linked binary needs: the highest symbol version in it.
    pub(crate) fn glibc(&self) -> Option<u32> {
        self.target.libc?;
        let label = b"GLIBC_2.";
        let versions = memchr::memmem::find_iter(&self.bytes, label).filter_map(|at| {
            let digits: Vec<u8> =
                self.bytes[at + label.len()..].iter().copied().take_while(u8::is_ascii_digit).collect();
            String::from_utf8(digits).ok()?.parse().ok()
        });
        versions.max()
    }
}

/// The binaries that exist; says which targets are left out.
fn load_binaries(binaries: &Path) -> Result<Vec<Built>, String> {
    let mut built = Vec::new();
    for target in TARGETS {
        let path = program_path(binaries, target);
        match fs::read(&path) {
            Ok(bytes) => built.push(Built { target, bytes }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                println!("left out  {:<28} no {}", target.triple, path.display());
            }
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
    if built.is_empty() {
        return Err(format!(
            "{}: no binary of any target, such as {}/loci",
            binaries.display(),
            TARGETS[0].triple
        ));
    }
    Ok(built)
}

fn program_path(binaries: &Path, target: &Target) -> PathBuf {
    binaries.join(target.triple).join(target.program())
}

fn host_program(binaries: &Path) -> Option<PathBuf> {
    host_targets().map(|target| program_path(binaries, target)).find(|path| path.exists())
}

/// The time of the last commit, in seconds and as mail writes it.
fn commit_time() -> Result<(u64, String), String> {
    let text = run_for_text(Command::new("git").args(["log", "-1", "--format=%ct,%cD"]).current_dir(root()))?;
    let parsed =
        text.trim().split_once(',').and_then(|(epoch, date)| Some((epoch.parse().ok()?, date.to_owned())));
    parsed.ok_or_else(|| format!("git log: {text}"))
}

const SHELLS: &[&str] = &["bash", "zsh", "fish", "powershell"];

impl Documents {
    fn load(program: &Path) -> Result<Documents, String> {
        let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
        let mut completions = Vec::new();
        for shell in SHELLS {
            completions.push((*shell, ask(&program, &["completions", shell])?));
        }
        let mut manuals = Vec::new();
        add_manuals(&program, &mut Vec::new(), &mut manuals)?;
        let text = |name: &str| read(&root().join(name)).map(String::into_bytes);
        Ok(Documents {
            completions,
            manuals,
            licences: vec![
                ("LICENSE-APACHE", text("LICENSE-APACHE")?),
                ("LICENSE-MIT", text("LICENSE-MIT")?),
            ],
            readme: text("README.md")?,
            changelog: text("CHANGELOG.md")?,
        })
    }
}

/// The page of a command, and those of the commands that it lists.
fn add_manuals(
    program: &Path,
    words: &mut Vec<String>,
    manuals: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), String> {
    let args: Vec<&str> = std::iter::once("man").chain(words.iter().map(String::as_str)).collect();
    let page = ask(program, &args)?;
    let name = std::iter::once("loci").chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
    let inner = listed_commands(&String::from_utf8_lossy(&page), &name);
    manuals.push((format!("{name}.1"), page));
    for command in inner {
        words.push(command);
        add_manuals(program, words, manuals)?;
        words.pop();
    }
    Ok(())
}

/// The commands to which a page refers: `loci\-memory(1)` in the page `loci`.
fn listed_commands(page: &str, name: &str) -> Vec<String> {
    let command = |line: &str| {
        let title = line.replace("\\-", "-");
        Some(title.strip_suffix("(1)")?.strip_prefix(name)?.strip_prefix('-')?.to_owned())
    };
    page.lines().filter_map(command).filter(|command| command != "help").collect()
}

/// What the program prints, in an empty home.
fn ask(program: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let home = testutil::Home::new();
    let mut command = Command::new(program);
    testutil::set_environment(&mut command, home.path());
    run_for_bytes(command.args(args))
}

pub(crate) fn run_for_text(command: &mut Command) -> Result<String, String> {
    String::from_utf8(run_for_bytes(command)?).map_err(|error| format!("{command:?}: {error}"))
}

fn run_for_bytes(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_commands_below_it() {
        let page = ".SH SUBCOMMANDS\n.TP\nloci\\-shell\\-init(1)\nBind\n.TP\nloci\\-help(1)\n";
        assert_eq!(listed_commands(page, "loci"), ["shell-init"]);
        assert_eq!(listed_commands("loci\\-memory\\-add(1)\n", "loci-memory"), ["add"]);
    }

    #[test]
    fn the_needed_glibc_is_the_highest_in_the_binary() {
        let built = |target| Built { target, bytes: b"\0GLIBC_2.17\0GLIBC_2.34\0GLIBC_2.2.5\0".to_vec() };
        let target = |triple: &str| TARGETS.iter().find(|target| target.triple == triple).unwrap();
        assert_eq!(built(target("x86_64-unknown-linux-gnu")).glibc(), Some(34));
        assert_eq!(built(target("x86_64-unknown-linux-musl")).glibc(), None);
    }
}
