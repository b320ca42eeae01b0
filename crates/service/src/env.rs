//! Every environment variable Loci knows, once. Nothing else reads the environment.

use sources::{Places, SOURCES};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Variables of Loci itself; those that move an agent's store stand with its source.
pub const VARIABLES: &[(&str, &str)] = &[
    ("HOME", "where agents keep their histories unless they are told otherwise"),
    ("PATH", "where agents' clients are looked for; `loci daemon install` writes it down"),
    ("XDG_CONFIG_HOME", "where configuration is kept, instead of ~/.config"),
    ("XDG_DATA_HOME", "where data is kept, instead of ~/.local/share"),
    ("XDG_CACHE_HOME", "where the catalogue and the text index are kept, instead of ~/.cache"),
    (
        "XDG_STATE_HOME",
        "where answers too large for a reply are kept for a week, and which cards were shown, instead of ~/.local/state",
    ),
    ("CLAUDE_CODE_SESSION_ID", "the session that asks, which a search leaves out; Claude Code sets it"),
    ("LOCI_ARCHIVE_BUDGET", "how large the archive may grow before `loci doctor` warns [default: 10G]"),
    ("XDG_RUNTIME_DIR", "where the daemon's socket lies; without it below XDG_STATE_HOME"),
    ("NOTIFY_SOCKET", "where systemd is told that the daemon is ready and alive; systemd sets it"),
    (
        "LOCI_DAEMON",
        "`off`: no daemon is asked or started; `use`: one that is there is asked [default: `loci mcp`, `loci dispatch` and the session-start hook also start one]",
    ),
    ("LOCI_AGENT", "the agent that is speaking; set for the client of an agent that was handed a message"),
    ("LOCI_HOPS", "how many agents a message has passed through; set likewise"),
    ("LOCI_HOOKS", "`off` makes `loci hook` say nothing"),
    ("LOCI_WITHIN", "set for a model that Loci itself calls: `loci hook` says nothing there"),
    (
        "LOCI_INLINE_THRESHOLD",
        "an answer to an agent that is larger than so many bytes goes into a file [default: 8192]",
    ),
    ("LOCI_THREADS", "how many threads read histories [default: one per core]"),
    ("LOCI_MCP_TOKEN", "what a client of `loci mcp --http` must know [default: made anew at each start]"),
    ("CLAUDE_PROJECT_DIR", "the project that an agent works in; Claude Code sets it for `loci mcp`"),
    ("LOCI_PRICES", "a file of prices to use instead of ~/.config/loci/prices.toml"),
    ("NO_COLOR", "no colours, whatever the terminal can do"),
];

/// The whole table: name and meaning.
pub fn all() -> Vec<(&'static str, &'static str)> {
    let theirs = SOURCES.iter().flat_map(|s| s.variables());
    VARIABLES.iter().chain(setup::VARIABLES).chain(theirs).copied().collect()
}

/// What a session of an agent tells those it starts; another session must not take it for its own.
const OF_A_SESSION: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
];

/// The whole environment, for a program that we run on the user's behalf, as the user would.
#[allow(clippy::disallowed_methods)] // the one place
pub(crate) fn inherited() -> BTreeMap<OsString, OsString> {
    let told = |name: &OsString| OF_A_SESSION.iter().any(|known| name == known);
    std::env::vars_os().filter(|(name, _)| !told(name)).collect()
}

/// The programs of a name, as a shell would look for them.
pub(crate) fn programs(places: &Places, name: &str) -> Vec<PathBuf> {
    let folders = places.vars.get("PATH").into_iter().flat_map(std::env::split_paths);
    folders.map(|folder| folder.join(name)).filter(|path| setup::is_program(path)).collect()
}

/// Reads the variables of the table and no others.
#[allow(clippy::disallowed_methods)] // the one place
pub fn places() -> Places {
    let set = all().into_iter().filter_map(|(name, _)| Some((name, std::env::var_os(name)?)));
    of(set.collect())
}

fn of(vars: BTreeMap<&'static str, OsString>) -> Places {
    let home = vars.get("HOME").map(PathBuf::from).unwrap_or_default();
    Places { home, vars }
}

/// The places of another process of the same user, as it tells them; names that are not in the table mean nothing.
pub fn told(vars: &BTreeMap<String, String>) -> Places {
    let known = all().into_iter().filter_map(|(name, _)| Some((name, OsString::from(vars.get(name)?))));
    of(known.collect())
}

pub fn text(places: &Places, name: &str) -> Option<String> {
    places.vars.get(name).map(|v| v.to_string_lossy().into_owned()).filter(|v| !v.is_empty())
}

/// A variable that the configuration names: it holds a model's key.
#[allow(clippy::disallowed_methods)] // the one place
pub(crate) fn key(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// What a command that is asked as a model gets of our environment.
#[allow(clippy::disallowed_methods)] // the one place
pub(crate) fn passed(names: &[&str]) -> BTreeMap<OsString, OsString> {
    names.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?))).collect()
}
