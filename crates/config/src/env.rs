//! The table of all environment variables, and the only code that reads the environment.
//!
//! Does not know what the values are used for.

use sources::{Environment, SOURCES};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Loci's own variables. Variables that relocate an agent's store are listed by its source.
pub const VARIABLES: &[(&str, &str)] = &[
    ("HOME", "Home directory; agents store their transcripts below it by default"),
    ("USERPROFILE", "Home directory if HOME is not set; set by Windows"),
    ("PATH", "Directories searched for the agents' clients; `loci daemon install` records it"),
    ("XDG_CONFIG_HOME", "Directory for configuration [default: ~/.config]"),
    ("XDG_DATA_HOME", "Directory for data: archive, memory, mailbox, ledger [default: ~/.local/share]"),
    ("XDG_CACHE_HOME", "Directory for the catalogue and the indexes [default: ~/.cache]"),
    (
        "XDG_STATE_HOME",
        "Directory for saved results, which are kept for a week, and for shown cards [default: ~/.local/state]",
    ),
    ("CLAUDE_CODE_SESSION_ID", "ID of the current session, which searches exclude; set by Claude Code"),
    ("LOCI_ARCHIVE_BUDGET", "Size of the archive above which `loci doctor` warns [default: 10G]"),
    ("XDG_RUNTIME_DIR", "Directory for the daemon's socket [default: below XDG_STATE_HOME]"),
    ("NOTIFY_SOCKET", "Socket for readiness and watchdog notifications; set by systemd"),
    (
        "LOCI_DAEMON",
        "`off`: do not use or start a daemon; `use`: use a running daemon but start none [default: use one; `loci mcp`, `loci dispatch` and the session-start hook also start one]",
    ),
    ("LOCI_SYNC_SECONDS", "Seconds between two rounds of `loci sync` that the daemon runs [default: 60]"),
    ("LOCI_AGENT", "Name of the current agent; set for an agent's client that receives a message"),
    ("LOCI_HOPS", "Number of agents a message has passed through; set together with LOCI_AGENT"),
    ("LOCI_HOOKS", "`off`: disable the output of `loci hook`"),
    ("LOCI_WITHIN", "Set for models that Loci itself calls: disables the output of `loci hook`"),
    (
        "LOCI_INLINE_THRESHOLD",
        "Save responses to agents larger than this many bytes to a file [default: 8192]",
    ),
    ("LOCI_INDEXER_SECONDS", "Seconds after which `loci code index --scip` stops an indexer [default: 1800]"),
    (
        "LOCI_HOME_TREE",
        "`on`: accept the home folder as a source tree, as in a container whose home is the project",
    ),
    ("LOCI_CHECK_SECONDS", "Seconds after which `loci edit … --check` stops a compiler [default: 1200]"),
    ("LOCI_THREADS", "Number of threads that read transcripts [default: one per core]"),
    (
        "LOCI_MCP_TOKEN",
        "Bearer token that clients of `loci mcp --http` must send [default: random at each start]",
    ),
    ("CLAUDE_PROJECT_DIR", "Project of the current agent; set by Claude Code for `loci mcp`"),
    ("LOCI_PRICES", "Price file [default: ~/.config/loci/prices.toml]"),
    ("NO_COLOR", "Disable colours; `--color always` overrides it"),
    ("LOCI_PAGER", "Program that shows long text on a terminal; `cat` for none [default: PAGER, or `less`]"),
    ("VISUAL", "Editor that `loci config edit` opens"),
    ("EDITOR", "Editor that `loci config edit` opens, unless VISUAL is set [default: vi]"),
    ("PAGER", "Program that shows long text on a terminal, unless LOCI_PAGER is set"),
];

/// The complete table: names and descriptions.
pub fn all_variables() -> Vec<(&'static str, &'static str)> {
    let theirs = SOURCES.iter().flat_map(|s| s.env_variables());
    VARIABLES.iter().chain(setup::VARIABLES).chain(theirs).copied().collect()
}

/// Variables that an agent session sets for its subprocesses; another session must not inherit them.
const SESSION_VARIABLES: &[&str] = &[
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

/// The environment for a program that Loci runs on the user's behalf: everything except session variables.
#[allow(clippy::disallowed_methods)] // the one place
pub fn inherited_env() -> BTreeMap<OsString, OsString> {
    let is_session_variable = |name: &OsString| SESSION_VARIABLES.iter().any(|known| name == known);
    std::env::vars_os().filter(|(name, _)| !is_session_variable(name)).collect()
}

/// What git needs to find itself, its settings, a place for temporary files and the language of the person: the second list is for Windows.
const TOOL_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "DEVELOPER_DIR",
];
#[rustfmt::skip]
const TOOL_VARIABLES_OF_WINDOWS: &[&str] = &[
    "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "USERNAME", "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "TEMP", "TMP",
    "APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "CommonProgramFiles",
];

/// The environment for a tool that Loci runs to read something, such as git: a short list, without keys and tokens.
#[allow(clippy::disallowed_methods)] // the one place
pub fn tool_env() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_for_tools)).collect()
}

fn is_for_tools(name: &str) -> bool {
    // Names are the same in any case on Windows.
    let known = TOOL_VARIABLES.iter().chain(TOOL_VARIABLES_OF_WINDOWS);
    name.starts_with("LC_") || known.into_iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// All programs of this name in `PATH`, in order.
pub fn find_programs(places: &Environment, name: &str) -> Vec<PathBuf> {
    let folders = places.vars.get("PATH").into_iter().flat_map(std::env::split_paths);
    let names = os::processes::program_names(name);
    let paths =
        folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)).collect::<Vec<_>>());
    paths.filter(|path| setup::is_program(path)).collect()
}

/// Reads the variables in the table and no others.
#[allow(clippy::disallowed_methods)] // the one place
pub fn read_places() -> Environment {
    let set = all_variables().into_iter().filter_map(|(name, _)| Some((name, std::env::var_os(name)?)));
    places_from(set.collect())
}

fn places_from(vars: BTreeMap<&'static str, OsString>) -> Environment {
    let home = vars.get("HOME").or_else(|| vars.get("USERPROFILE")).map(PathBuf::from).unwrap_or_default();
    Environment { home, vars }
}

/// The places of another process of the same user, from the variables it sends; unknown names are ignored.
pub fn places_of_client(vars: &BTreeMap<String, String>) -> Environment {
    let known =
        all_variables().into_iter().filter_map(|(name, _)| Some((name, OsString::from(vars.get(name)?))));
    places_from(known.collect())
}

/// Whether both look for histories and for Loci's own files at the same places.
pub fn have_same_places(one: &Environment, other: &Environment) -> bool {
    let theirs = SOURCES.iter().flat_map(|source| source.env_variables()).map(|(name, _)| *name);
    let ours = VARIABLES.iter().map(|(name, _)| *name).filter(|name| is_place(name));
    one.home == other.home && theirs.chain(ours).all(|name| one.vars.get(name) == other.vars.get(name))
}

fn is_place(variable: &str) -> bool {
    variable.starts_with("XDG_") || variable.ends_with("APPDATA")
}

pub fn text_var(places: &Environment, name: &str) -> Option<String> {
    places.vars.get(name).map(|v| v.to_string_lossy().into_owned()).filter(|v| !v.is_empty())
}

/// Reads the variable named in the configuration that contains a model's API key.
#[allow(clippy::disallowed_methods)] // the one place
pub fn key_var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The variables of the tools of cloud storage, `HOME`, below which they keep their files, and `PATH`, on which their programs are.
#[allow(clippy::disallowed_methods)] // the one place
pub fn cloud_variables() -> Vec<(String, String)> {
    let is_known = |name: &str| {
        ["HOME", "PATH"].contains(&name) || ["AWS_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix))
    };
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_known(name))
        .collect()
}

/// The name of this machine, for people.
pub fn host_name() -> String {
    let name = os::processes::host_name();
    if name.is_empty() { "this device".to_string() } else { name }
}

/// The environment for a command that is used as a model.
#[allow(clippy::disallowed_methods)] // the one place
pub fn pick_vars(names: &[&str]) -> BTreeMap<OsString, OsString> {
    names.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_get_places_and_language_but_no_keys() {
        for name in ["PATH", "HOME", "LC_ALL", "LANG", "TZ", "SYSTEMROOT", "Path", "XDG_CONFIG_HOME"] {
            assert!(is_for_tools(name), "{name}");
        }
        for name in [
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "SSH_AUTH_SOCK",
            "GIT_DIR",
            "LD_PRELOAD",
        ] {
            assert!(!is_for_tools(name), "{name}");
        }
    }

    #[test]
    fn windows_names_the_home_directory_otherwise() {
        let home = |vars: &[(&'static str, &str)]| {
            places_from(vars.iter().map(|(name, value)| (*name, OsString::from(value))).collect()).home
        };
        assert_eq!(home(&[("USERPROFILE", "/users/dev")]), PathBuf::from("/users/dev"));
        assert_eq!(home(&[("HOME", "/home/dev"), ("USERPROFILE", "/users/dev")]), PathBuf::from("/home/dev"));
    }
}
