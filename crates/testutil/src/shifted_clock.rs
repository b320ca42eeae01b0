//! Shifts the wall clock of commands, also while they run.
//!
//! Does not shift the timestamps of files: those are the kernel's.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tracer/clock.c");

pub struct ShiftedClock {
    folder: TempDir,
}

impl ShiftedClock {
    /// Compiles the library that commands preload: needs a C compiler, as SQLite does.
    pub fn new() -> ShiftedClock {
        let folder = TempDir::new().unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(folder.path().join("clock.so")).arg(SOURCE);
        let compiled = cc.output().expect("a C compiler named `cc`");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let clock = ShiftedClock { folder };
        clock.shift(0);
        clock
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("shift")
    }

    /// Sets the distance to the real time, for running commands as well.
    pub fn shift(&self, seconds: i64) {
        let beside = self.file().with_extension("new");
        fs::write(&beside, seconds.to_string()).unwrap();
        fs::rename(beside, self.file()).unwrap();
    }

    pub fn apply(&self, command: &mut Command) {
        command.env("LD_PRELOAD", self.folder.path().join("clock.so")).env("CLOCK_SHIFT", self.file());
    }
}
