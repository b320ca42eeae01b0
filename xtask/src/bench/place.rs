//! Where things lie: the binaries measured, the corpora, and a directory for what is thrown away.

use serde_json::Value;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

pub(super) struct Binaries {
    pub(super) loci: PathBuf,
    pub(super) xtask: PathBuf,
    pub(super) noop: PathBuf,
    /// An example, and only for `bench index`.
    pub(super) bare: PathBuf,
    pub(super) ccusage: Option<PathBuf>,
}

impl Binaries {
    /// Builds nothing: what is measured is what the person built, and only an optimised build means anything.
    pub(super) fn find(loci: Option<&Path>, ccusage: Option<&Path>) -> Result<Binaries, String> {
        let this = std::env::current_exe().map_err(|error| format!("where this program lies: {error}"))?;
        let own = this.parent().unwrap_or(&this);
        let release = if cfg!(debug_assertions) { own.with_file_name("release") } else { own.to_path_buf() };
        let there = |path: PathBuf| {
            let path = fs::canonicalize(&path).map_err(|error| format!("{}: {error}", path.display()));
            path.map_err(|error| format!("{error}; first run: cargo build --release"))
        };
        Ok(Binaries {
            loci: there(loci.map_or_else(|| release.join("loci"), Path::to_path_buf))?,
            xtask: there(release.join("xtask"))?,
            noop: there(release.join("noop"))?,
            bare: release.join("examples/bare"),
            ccusage: ccusage.map(|path| there(path.to_path_buf())).transpose()?,
        })
    }
}

/// Whether a program of that name can be run here.
pub(super) fn installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// How many cores there are and how busy they were: a reader of the table needs to know.
pub(super) fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("{cores} cores, load {}", load.split(' ').next().unwrap_or("unknown"))
}

/// A corpus and what it is known to hold.
pub(super) struct Corpus {
    /// Goes behind the names of commands run on it.
    pub(super) suffix: &'static str,
    pub(super) home: PathBuf,
    pub(super) manifest: Value,
}

impl Corpus {
    pub(super) fn count(&self, at: &str) -> u64 {
        self.manifest.pointer(at).and_then(Value::as_u64).unwrap_or_default()
    }

    pub(super) fn projects(&self) -> PathBuf {
        self.home.join(".claude/projects")
    }
}

impl fmt::Display for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.count("/bytes") as f64 / 1e6;
        let (files, lines, calls) = (self.count("/files"), self.count("/lines"), self.count("/calls"));
        let seed = self.count("/seed");
        write!(f, "corpus{}: {megabytes:.0} MB, {files} files, {lines} lines, ", self.suffix)?;
        write!(f, "{calls} tool calls, seed {seed}")
    }
}

pub(super) struct Work {
    /// Removed at the end.
    scratch: PathBuf,
    corpora: PathBuf,
}

impl Work {
    pub(super) fn new(keep: Option<&Path>) -> Result<Work, String> {
        let scratch = std::env::temp_dir().join(format!("loci-bench-{}", std::process::id()));
        let mut work = Work { corpora: keep.unwrap_or(&scratch).to_path_buf(), scratch };
        fs::create_dir_all(work.empty_home())
            .and_then(|()| fs::create_dir_all(&work.corpora))
            // Commands run in their home, from where a relative path would lead elsewhere.
            .and_then(|()| fs::canonicalize(&work.corpora))
            .map(|corpora| work.corpora = corpora)
            .map_err(|error| format!("{}: {error}", work.corpora.display()))?;
        Ok(work)
    }

    pub(super) fn empty_home(&self) -> PathBuf {
        self.scratch.join("empty")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// A corpus, made by the release build of this program unless it was kept. `name` tells those that a bench adds to
    /// from those that stay as they were made.
    pub(super) fn corpus(
        &self,
        binaries: &Binaries,
        name: &str,
        size: u64,
        seed: u64,
        suffix: &'static str,
    ) -> Result<Corpus, String> {
        let home = self.corpora.join(format!("{name}-{}-{seed}-{size}", crate::corpus::VERSION));
        if !home.join("manifest.json").exists() {
            make(binaries, size, seed, &home)?;
        }
        let read = fs::read(home.join("manifest.json")).map_err(|error| error.to_string())?;
        let manifest = serde_json::from_slice(&read).map_err(|error| error.to_string())?;
        Ok(Corpus { suffix, home, manifest })
    }

    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.corpora.join(name)
    }
}

fn make(binaries: &Binaries, size: u64, seed: u64, home: &Path) -> Result<(), String> {
    // Half a corpus, from a run that was stopped.
    if home.exists() {
        fs::remove_dir_all(home).map_err(|error| format!("{}: {error}", home.display()))?;
    }
    let mut make = Command::new(&binaries.xtask);
    make.args(["corpus", "--size", &size.to_string(), "--seed", &seed.to_string(), "--out"]).arg(home);
    let made = make.output().map_err(|error| format!("{}: {error}", binaries.xtask.display()))?;
    if made.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&made.stderr).into_owned()) }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.scratch);
    }
}
