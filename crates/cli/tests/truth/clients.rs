//! The real clients, where they are installed, and the scripts that drive them: a provider that says what a scenario tells
//! it to, on loopback, in a network namespace without anything else.
//!
//! Does not know what is played.

use crate::home::{shared, variable};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const CLAUDE: &str = "claude-code/node_modules/@anthropic-ai/claude-code-linux-x64/claude";

pub(crate) struct Clients {
    pub(crate) scripts: PathBuf,
    pub(crate) installed: PathBuf,
}

impl Clients {
    /// None, and a word about it, where something that a play needs is not here.
    pub(crate) fn with(name: &str, binary: &str) -> Option<Clients> {
        let found = Clients::installed(name, &[binary])?;
        let apart = Command::new("unshare").args(["-n", "true"]).status();
        if apart.is_ok_and(|s| s.success()) {
            return Some(found);
        }
        println!("skipped: {name} is not run where there is no network namespace for it");
        None
    }

    /// The same for what is run as it is.
    pub(crate) fn installed(name: &str, files: &[&str]) -> Option<Clients> {
        let scripts = variable("LOCI_CLIENTS").or_else(|| Some(shared()?.join("clients")))?;
        let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        let cache = cache.unwrap_or_default().join("loci-clients");
        let installed = variable("CLIENTS_HOME").unwrap_or(cache);
        match files.iter().find(|file| !installed.join(file).is_file()) {
            None => Some(Clients { scripts, installed }),
            Some(file) => {
                println!("skipped: {name} is not installed (nothing at {})", installed.join(file).display());
                None
            }
        }
    }

    /// Runs a shell script beside the provider. What the provider is asked is written to `requests`, line by line.
    pub(crate) fn play(&self, scenarios: &Path, requests: &Path, script: &str, args: &[impl AsRef<OsStr>]) {
        let run = requests.with_extension("sh");
        fs::write(&run, script).unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        let status = Command::new(self.scripts.join("stub/run_in_ns.sh"))
            .arg(scenarios)
            .arg(requests)
            .arg(&run)
            .args(args)
            .env("LOCI_DAEMON", "off")
            .env("CLIENTS", &self.scripts)
            .env("CLIENTS_HOME", &self.installed)
            .status()
            .unwrap();
        assert!(status.success(), "{status}");
    }
}
