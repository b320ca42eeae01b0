//! Runs a command under `tracer/tracer.c`, which makes the n-th system call that changes a file fail, kills the command
//! before it, or records all of them.
//!
//! Does not know what the command does.

use crate::{Finished, run_command};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tracer/tracer.c");

pub const EIO: i32 = 5;
pub const ENOSPC: i32 = 28;

/// What happens at the n-th call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing; calls are counted.
    None,
    /// The call fails with this error.
    Once(i32),
    /// The call and all later ones fail.
    Sticky(i32),
    /// The command is killed before the call.
    Kill,
}

impl Fault {
    fn to_args(self) -> (&'static str, i32) {
        match self {
            Fault::None => ("count", 0),
            Fault::Once(error) => ("fail", error),
            Fault::Sticky(error) => ("stick", error),
            Fault::Kill => ("kill", 0),
        }
    }
}

/// A recorded call that changes a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Write {
        path: PathBuf,
        at: usize,
        data: Vec<u8>,
    },
    Truncate {
        path: PathBuf,
        length: usize,
    },
    /// Of a file or a folder.
    Sync {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Unlink {
        path: PathBuf,
    },
    MakeFolder {
        path: PathBuf,
    },
    /// Creates the file if it does not exist; may empty it if it does.
    Create {
        path: PathBuf,
        truncates: bool,
    },
}

pub struct Tracer {
    folder: TempDir,
}

impl Tracer {
    /// Compiles the program: needs a C compiler, as SQLite does.
    pub fn new() -> Tracer {
        let folder = TempDir::new().unwrap();
        let compiled =
            Command::new("cc").args(["-O1", "-o"]).arg(folder.path().join("tracer")).arg(SOURCE).output();
        let compiled = compiled.expect("a C compiler named `cc`");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Tracer { folder }
    }

    /// Runs a command with a fault at the n-th call, counted from 1. Returns the number of calls as well.
    pub fn run(&self, command: &Command, below: &Path, fault: Fault, at: usize) -> (Finished, usize) {
        let (mode, error) = fault.to_args();
        let (finished, out) = self.trace(command, below, mode, at, error);
        (finished, String::from_utf8_lossy(&out).trim().parse().unwrap())
    }

    /// Runs a command and returns every call that changes a file below a folder.
    pub fn record(&self, command: &Command, below: &Path) -> (Finished, Vec<Operation>) {
        let (finished, out) = self.trace(command, below, "record", 0, 0);
        (finished, parse_operations(&out))
    }

    fn trace(
        &self,
        command: &Command,
        below: &Path,
        mode: &str,
        at: usize,
        error: i32,
    ) -> (Finished, Vec<u8>) {
        let out = self.folder.path().join("out");
        let mut traced = Command::new(self.folder.path().join("tracer"));
        traced.args([mode, &at.to_string(), &error.to_string()]).arg(below).arg(&out);
        traced.arg(command.get_program()).args(command.get_args()).env_clear();
        traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            traced.current_dir(folder);
        }
        let finished = run_command(traced);
        assert!(finished.code != Some(99), "the kernel does not support tracing: {}", finished.stderr);
        (finished, fs::read(&out).unwrap())
    }
}

fn parse_operations(mut bytes: &[u8]) -> Vec<Operation> {
    let mut operations = Vec::new();
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let fields: Vec<&[u8]> = bytes[..end].split(|byte| *byte == b'\t').collect();
        bytes = &bytes[end + 1..];
        let path = |n: usize| PathBuf::from(std::ffi::OsStr::from_bytes(fields[n]));
        let number = |n: usize| String::from_utf8_lossy(fields[n]).parse::<usize>().unwrap();
        operations.push(match fields[0] {
            b"write" => {
                let (data, rest) = bytes.split_at(number(3));
                bytes = rest;
                Operation::Write { path: path(1), at: number(2), data: data.to_vec() }
            }
            b"truncate" => Operation::Truncate { path: path(1), length: number(2) },
            b"sync" => Operation::Sync { path: path(1) },
            b"rename" => Operation::Rename { from: path(1), to: path(2) },
            b"unlink" => Operation::Unlink { path: path(1) },
            b"mkdir" => Operation::MakeFolder { path: path(1) },
            _ => Operation::Create { path: path(1), truncates: number(2) == 1 },
        });
    }
    operations
}
