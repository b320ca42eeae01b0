//! A temporary home with the settings of four agents, and helpers that run `loci` in it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) struct Fixture {
    dir: TempDir,
}

/// Settings with details that a careless edit would destroy: comments, CRLF, a missing final newline.
const AGENT_SETTINGS: &[(&str, &str)] = &[
    (
        ".claude/settings.json",
        "{\n    \"model\": \"opus\",\n    \"permissions\": {\"allow\": [\"Bash(ls)\"]}\n}",
    ),
    (
        ".codex/config.toml",
        "model = \"gpt-5.5\" # mine\n\n[mcp_servers.other]\ncommand = \"true\"\nargs = [\n  \"[x]\",\n]",
    ),
    (
        ".gemini/settings.json",
        "{\"telemetry\": {\"enabled\": false}, \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}\n",
    ),
    (".config/opencode/opencode.jsonc", "{\r\n\t// mine\r\n\t\"autoupdate\": false,\r\n}\r\n"),
];

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let fixture = Fixture { dir: tempfile::tempdir().unwrap() };
        for (path, text) in AGENT_SETTINGS {
            fixture.write(path, text);
        }
        fixture
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = testutil::command(self.path(), args);
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn loci(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs `loci`, checks its exit code and parses the JSON it prints.
    #[track_caller]
    pub(crate) fn run_json(&self, args: &[&str], code: i32) -> Value {
        let output = self.loci(args);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}"))
    }

    /// Mode and bytes of every file and folder below home, except the given folders.
    pub(crate) fn snapshot_files(&self, excluded: &[&str]) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut snapshot = BTreeMap::new();
        let excluded: Vec<PathBuf> = excluded.iter().map(|path| self.path().join(path)).collect();
        walk(self.path(), &excluded, &mut snapshot);
        snapshot
    }
}

fn walk(folder: &Path, excluded: &[PathBuf], snapshot: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries.filter(|path| !excluded.contains(path)) {
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            walk(&path, excluded, snapshot);
        }
        let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        snapshot.insert(path, (meta.mode(), bytes));
    }
}
