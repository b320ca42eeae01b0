//! Makes a home with the stores of an earlier version, for the tests of upgrades: a binary of that version indexes, archives,
//! forgets, remembers and synchronises a made-up history, and the result is packed.
//!
//! Does not build the binary, and does not know the layouts.

use crate::Outcome;
use crate::args::Args;
use crate::release::pack::{self, Effort, Folders};
use crate::release::tree::{PLAIN, Tree};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use testutil::old_stores::{self, AFTER, BEFORE, CLOUD, LAPTOP, MADE_AT, Made, PROJECT, Step};

pub(crate) const HELP: &str = "--binary LOCI --commit COMMIT --name NAME [--keep]
make a home with the stores of an earlier version of Loci, and pack it as
crates/cli/tests/stores/NAME.tar.gz. LOCI is a binary of that version.
Writes below /home/ada, which must not exist, and removes it unless --keep";

/// The binary is copied to this folder: its path is part of what `loci setup` stores.
const BIN: &str = "bin";
/// Nothing that only running processes use.
const LEFT_OUT: &[&str] = &[".lock", "-shm", ".sock", ".log"];

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["binary", "commit", "name"], &["keep"])?;
    let required = |name: &str| args.text_value(name).ok_or_else(|| format!("--{name} is missing"));
    let binary = fs::canonicalize(required("binary")?).map_err(|error| error.to_string())?;
    let (commit, name, home) = (required("commit")?, required("name")?, Path::new(MADE_AT));
    if home.exists() {
        return Err(format!("{MADE_AT} exists already"));
    }
    let made = copy_binary(&binary, home).and_then(|binary| make_home(&binary, home, commit));
    let packed = made.and_then(|made| pack_home(home, &made, name));
    if !args.has_switch("keep") {
        fs::remove_dir_all(home).map_err(|error| error.to_string())?;
    }
    packed.map(|()| true)
}

fn copy_binary(binary: &Path, home: &Path) -> Result<PathBuf, String> {
    let to = home.join(BIN).join("loci");
    let copied = fs::create_dir_all(home.join(BIN)).and_then(|()| fs::copy(binary, &to));
    copied.map(|_| to).map_err(|error| error.to_string())
}

struct Maker<'a> {
    binary: &'a Path,
    home: &'a Path,
    made: Made,
}

fn make_home(binary: &Path, home: &Path, commit: &str) -> Result<Made, String> {
    old_stores::write_history(home);
    let made = Made { commit: commit.to_string(), ..Made::default() };
    let mut maker = Maker { binary, home, made };
    maker.run_steps(BEFORE)?;
    old_stores::delete_transcripts(home);
    maker.run_steps(AFTER)?;
    maker.synchronise()?;
    let exported = maker.run_line(home, "memory export", None)?;
    maker.made.memory = serde_json::from_slice(&exported.stdout).unwrap_or_default();
    Ok(maker.made)
}

impl Maker<'_> {
    fn run_steps(&mut self, steps: &[Step]) -> Result<(), String> {
        for step in steps {
            for line in step.lines {
                let ended = self.run_line(self.home, line, None)?;
                if ended.status.success() {
                    println!("{}: `loci {line}`", step.name);
                    self.made.steps.insert(step.name.to_string());
                    break;
                }
                let message = String::from_utf8_lossy(&ended.stderr);
                println!(
                    "{}: `loci {line}` fails: {}",
                    step.name,
                    message.lines().next().unwrap_or_default()
                );
            }
        }
        Ok(())
    }

    /// Receives a session from a second device.
    fn synchronise(&mut self) -> Result<(), String> {
        let (cloud, laptop) = (self.home.join(CLOUD), self.home.join(LAPTOP));
        fs::create_dir_all(&cloud).map_err(|error| error.to_string())?;
        let url = format!("{MADE_AT}/{CLOUD}");
        let started =
            self.run_line(self.home, &format!("sync init --show-phrase {url} --label desk -o json"), None)?;
        let phrase = serde_json::from_slice::<serde_json::Value>(&started.stdout).unwrap_or_default();
        let Some(phrase) = phrase["phrase"].as_str().map(str::to_string) else {
            println!("sync: `loci sync init` fails: {}", String::from_utf8_lossy(&started.stderr));
            return fs::remove_dir(&cloud).map_err(|error| error.to_string());
        };
        old_stores::write_received(&laptop);
        let join = format!("sync join {url} --phrase - --label laptop");
        for (home, line, input) in [
            (self.home, "sync now", None),
            (laptop.as_path(), join.as_str(), Some(phrase.as_str())),
            (laptop.as_path(), "sync now", None),
            (self.home, "sync now", None),
            (self.home, "sync now", None),
        ] {
            let ended = self.run_line(home, line, input)?;
            if !ended.status.success() {
                return Err(format!("`loci {line}`: {}", String::from_utf8_lossy(&ended.stderr)));
            }
            println!("sync: `loci {line}`");
        }
        fs::remove_dir_all(&laptop).map_err(|error| error.to_string())?;
        self.made.steps.insert("sync".to_string());
        Ok(())
    }

    fn run_line(&self, home: &Path, line: &str, input: Option<&str>) -> Result<Output, String> {
        let mut command = Command::new(self.binary);
        testutil::set_environment(&mut command, home);
        command.args(testutil::split_words(line)).current_dir(self.home.join(PROJECT));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", self.binary.display()))?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            stdin.write_all(input.as_bytes()).map_err(|error| error.to_string())?;
        }
        child.wait_with_output().map_err(|error| error.to_string())
    }
}

// ---- packing

fn pack_home(home: &Path, made: &Made, name: &str) -> Result<(), String> {
    let mut made = made.clone();
    let mut files = Vec::new();
    list_files(home, &mut files).map_err(|error| error.to_string())?;
    files.retain(|path| !path.starts_with(home.join(BIN)));
    for path in files.iter().filter(|path| path.is_symlink()) {
        let target = fs::read_link(path).map_err(|error| error.to_string())?;
        made.links.insert(path.strip_prefix(home).unwrap_or(path).to_path_buf(), target);
    }
    old_stores::write_record(home, &made);
    files.push(home.join("made.json"));
    let mut tree = Tree::default();
    for path in files.iter().filter(|path| !path.is_symlink()) {
        let inner = path.strip_prefix(home).unwrap_or(path).to_string_lossy().into_owned();
        tree.insert(inner, PLAIN, fs::read(path).map_err(|error| error.to_string())?);
    }
    let packed = pack::gzip(&pack::tar(&tree, 0, Folders::Implied)?, Effort::Full)?;
    let to = old_stores::folder().join(format!("{name}.tar.gz"));
    println!("{}: {} files, {} bytes", to.display(), files.len(), packed.len());
    fs::write(&to, packed).map_err(|error| error.to_string())
}

/// Whether this is the log of a database, with nothing in it.
fn is_empty_log(path: &Path) -> bool {
    path.to_string_lossy().ends_with("-wal") && path.metadata().is_ok_and(|meta| meta.len() == 0)
}

fn list_files(folder: &Path, into: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            list_files(&path, into)?;
        } else if !LEFT_OUT.iter().any(|ending| name.ends_with(ending)) && !is_empty_log(&path) {
            into.push(path);
        }
    }
    Ok(())
}
