//! Homes with stores that earlier versions of Loci wrote, packed in `crates/cli/tests/stores`: what went into them, and how they
//! are unpacked. `cargo xtask stores` makes them.
//!
//! Does not know the layouts of the stores.

use crate::{Rollout, Session, write_file};
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The home directory at which the stores were made: paths are part of what is stored.
pub const MADE_AT: &str = "/home/ada";
/// The project of all sessions, with a little source code.
pub const PROJECT: &str = "work/harbour";
/// The folder that two devices synchronise through, and the home of the second.
pub const CLOUD: &str = "cloud";
pub const LAPTOP: &str = "laptop";
/// In a packed home: what was done.
const RECORD: &str = "made.json";

/// A made-up session and the word that only it contains.
pub struct MadeUpSession {
    pub id: &'static str,
    pub word: &'static str,
    pub fate: Fate,
}

/// What became of a session after it was indexed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Its transcript still exists.
    Kept,
    /// Its transcript was deleted: only the archive has it.
    Deleted,
    /// A person let Loci forget it; its transcript still exists.
    Forgotten,
    /// It came from another device, if this version could synchronise.
    Received,
}

pub const SESSIONS: &[MadeUpSession] = &[
    MadeUpSession { id: "aaaa0001-0000-4000-8000-000000000001", word: "walrusledger", fate: Fate::Kept },
    MadeUpSession { id: "aaaa0002-0000-4000-8000-000000000002", word: "heronschedule", fate: Fate::Deleted },
    MadeUpSession { id: "aaaa0003-0000-4000-8000-000000000003", word: "ospreytoken", fate: Fate::Deleted },
    MadeUpSession { id: "aaaa0004-0000-4000-8000-000000000004", word: "puffinlog", fate: Fate::Deleted },
    MadeUpSession { id: "aaaa0005-0000-4000-8000-000000000005", word: "badgersecret", fate: Fate::Forgotten },
    MadeUpSession { id: "aaaa0006-0000-4000-8000-000000000006", word: "gannetrollout", fate: Fate::Deleted },
    MadeUpSession { id: "aaaa0007-0000-4000-8000-000000000007", word: "pelicanlaptop", fate: Fate::Received },
];

/// A name, a fact, an agent and a message that a person gave.
pub const NAME: &str = "Ledger of the walruses";
pub const TAG: &str = "northern-pool";
pub const FACT: &str = "Herons are counted on Tuesdays";
pub const AGENT: &str = "harbourmaster";
pub const MESSAGE: &str = "Count the herons";
pub const PROJECT_NAME: &str = "harbour-works";
/// In the deleted session [`SESSIONS`]`[2]`; never stored.
pub const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// A command, in the spellings of different versions; the first that succeeds counts. A version that lacks the command skips it.
pub struct Step {
    pub name: &'static str,
    pub lines: &'static [&'static str],
}

/// What is done before transcripts are deleted.
pub const BEFORE: &[Step] = &[
    Step { name: "index", lines: &["index"] },
    Step { name: "forget", lines: &["forget aaaa0005 --yes", "forget aaaa0005"] },
];

/// What is done after it.
pub const AFTER: &[Step] = &[
    Step { name: "index again", lines: &["index"] },
    Step { name: "consolidate", lines: &["memory consolidate --no-model", "memory consolidate"] },
    Step {
        name: "name",
        lines: &["memory edit aaaa0001 --name 'Ledger of the walruses' --add-tag northern-pool"],
    },
    Step { name: "pin", lines: &["memory pin aaaa0002"] },
    Step { name: "fact", lines: &["memory add 'Herons are counted on Tuesdays' --pin"] },
    Step { name: "agent", lines: &["agent add harbourmaster ."] },
    Step { name: "message", lines: &["dispatch harbourmaster 'Count the herons' --key heron-1"] },
    Step { name: "project", lines: &["project alias harbour-works"] },
    Step { name: "setup", lines: &["setup claude-code --yes"] },
    Step { name: "code", lines: &["code index"] },
    Step { name: "code pin", lines: &["code pin Harbour"] },
    Step { name: "code pack", lines: &["code pack quay --filter 'type:Harbour' --budget 2000"] },
];

/// What was done to make a home.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Made {
    /// The commit of the version that made it.
    pub commit: String,
    /// Names of the steps that succeeded.
    pub steps: BTreeSet<String>,
    /// What `loci memory export` printed then.
    pub memory: Value,
    /// Symbolic links, with their targets.
    pub links: BTreeMap<PathBuf, PathBuf>,
}

// ---- writing a home

/// Writes the transcripts of a home, which is at [`MADE_AT`], and a little source code.
pub fn write_history(home: &Path) {
    let project = format!("{MADE_AT}/{PROJECT}");
    for made_up in SESSIONS.iter().filter(|made_up| made_up.fate != Fate::Received) {
        match made_up.word {
            "gannetrollout" => add_rollout(home, made_up, &project),
            _ => add_session(home, &build_session(made_up, &project)),
        }
    }
    let source = "/// Where ships rest.\npub struct Harbour {\n    pub depth: u32,\n}\n\nimpl Harbour {\n    pub fn is_deep(&self) -> bool {\n        self.depth > 12\n    }\n}\n";
    write_file(&home.join(PROJECT).join("src/lib.rs"), source.as_bytes());
    let manifest = "[package]\nname = \"harbour\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    write_file(&home.join(PROJECT).join("Cargo.toml"), manifest.as_bytes());
}

/// Writes the session of the second device.
pub fn write_received(laptop: &Path) {
    let made_up = SESSIONS.iter().find(|made_up| made_up.fate == Fate::Received).unwrap();
    add_session(laptop, &build_session(made_up, "/home/ada/laptop/work"));
}

fn build_session(made_up: &MadeUpSession, project: &str) -> Session {
    let start = format!("2026-03-0{}T10:00:00Z", &made_up.id[7..8]);
    let mut session = Session::new(made_up.id, project, &start);
    session.prompt(&format!("We decided to keep the {} in the northern pool", made_up.word));
    match made_up.word {
        "ospreytoken" => session.did("Bash", json!({"command": format!("export GH_TOKEN={TOKEN}")}), "done"),
        // Larger than a row of the archive's database.
        "puffinlog" => {
            for n in 0..40 {
                session.reply(&[&format!("puffin {n} {}", "burrow ".repeat(1200))]);
            }
            &mut session
        }
        _ => session.failed("Bash", json!({"command": "cargo test"}), "Exit code 101\ntest tide failed"),
    };
    session.reply(&["Noted: the tide tables stay in the pool."]);
    session
}

/// Where Claude Code stores a session.
pub fn transcript_path(home: &Path, session_id: &str, project: &str) -> PathBuf {
    let folder: String = project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    home.join(".claude/projects").join(folder).join(format!("{session_id}.jsonl"))
}

fn add_session(home: &Path, session: &Session) {
    write_file(&transcript_path(home, &session.id, &session.cwd), session.text().as_bytes());
}

fn rollout_path(home: &Path, id: &str) -> PathBuf {
    home.join(format!(".codex/sessions/2026/03/06/rollout-2026-03-06T10-00-00-{id}.jsonl"))
}

fn add_rollout(home: &Path, made_up: &MadeUpSession, project: &str) {
    let mut rollout = Rollout::new(made_up.id, project, "2026-03-06T10:00:00Z");
    rollout.prompt(&format!("Plot the {}", made_up.word)).did("c1", "ls", 0).reply("Plotted.");
    write_file(&rollout_path(home, made_up.id), (rollout.lines.join("\n") + "\n").as_bytes());
}

/// Deletes the transcripts that only the archive shall have.
pub fn delete_transcripts(home: &Path) {
    for made_up in SESSIONS.iter().filter(|made_up| made_up.fate == Fate::Deleted) {
        let claude = transcript_path(home, made_up.id, &format!("{MADE_AT}/{PROJECT}"));
        let deleted = fs::remove_file(claude).or_else(|_| fs::remove_file(rollout_path(home, made_up.id)));
        deleted.unwrap();
    }
}

// ---- packed homes

/// The folder of packed homes.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/stores")
}

/// The names of all packed homes, in the order of their layouts.
pub fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let named = entries.filter_map(|name| name.to_str()?.strip_suffix(".tar.gz").map(str::to_string));
    let mut names: Vec<String> = named.collect();
    names.sort();
    names
}

/// A home of an earlier version, unpacked at another place than it was made.
pub struct OldHome {
    folder: TempDir,
    pub made: Made,
}

impl OldHome {
    pub fn unpack(name: &str) -> OldHome {
        let packed = fs::read(super::old_stores::folder().join(format!("{name}.tar.gz"))).unwrap();
        let (folder, mut tar) = (TempDir::new().unwrap(), Vec::new());
        GzDecoder::new(packed.as_slice()).read_to_end(&mut tar).unwrap();
        unpack_tar(&tar, folder.path());
        let made: Made = serde_json::from_slice(&fs::read(folder.path().join(RECORD)).unwrap()).unwrap();
        fs::remove_file(folder.path().join(RECORD)).unwrap();
        for (link, target) in &made.links {
            std::os::unix::fs::symlink(target, folder.path().join(link)).unwrap();
        }
        OldHome { folder, made }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join(".local/share/loci")
    }

    pub fn cache(&self) -> PathBuf {
        self.path().join(".cache/loci")
    }

    /// Whether the version that made it had this command.
    pub fn did(&self, step: &str) -> bool {
        self.made.steps.contains(step)
    }
}

/// Writes the record of a home into it, to be packed with it.
pub fn write_record(home: &Path, made: &Made) {
    write_file(&home.join(RECORD), serde_json::to_string_pretty(made).unwrap().as_bytes());
}

/// Unpacks the plain files of a tar.
fn unpack_tar(mut tar: &[u8], to: &Path) {
    const BLOCK: usize = 512;
    while tar.first().is_some_and(|byte| *byte != 0) {
        let field = |from: usize, len: usize| {
            let bytes = &tar[from..from + len];
            std::str::from_utf8(bytes).unwrap().trim_end_matches(['\0', ' ']).to_string()
        };
        let size = usize::from_str_radix(&field(124, 11), 8).unwrap();
        // An absolute path would replace the folder: none is packed.
        write_file(&to.join(field(345, 155)).join(field(0, 100)), &tar[BLOCK..BLOCK + size]);
        tar = &tar[BLOCK + size.next_multiple_of(BLOCK)..];
    }
}
