//! The systemd unit or launchd agent that starts the daemon with the user's login session. Without either, the first
//! command that needs the daemon starts it.
//!
//! Does not write the file or call the service manager.

use std::path::{Path, PathBuf};

/// The path and content of the file, and the commands that enable and disable it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub path: PathBuf,
    pub text: String,
    pub enable: &'static str,
    pub disable: &'static str,
}

/// `path` is the `PATH` with which the daemon runs agents' clients. They run within the unit, so it sets no limits on
/// memory or tasks and no file system restrictions: those would apply to the clients too. The watchdog restarts a
/// daemon that hangs after half a minute.
pub fn systemd_unit(exe: &Path, config: &Path, path: &str) -> Unit {
    Unit {
        path: config.join("systemd/user/loci.service"),
        text: format!(
            "[Unit]\nDescription=Loci: memory and context for coding agents\nStartLimitIntervalSec=60\nStartLimitBurst=5\n\n\
             [Service]\nType=notify\nWatchdogSec=30\nExecStart={} daemon run --stay\nRestart=on-failure\nEnvironment={}\n\
             KillMode=control-group\n\n[Install]\nWantedBy=default.target\n",
            quote_word(&exe.to_string_lossy()),
            quote_word(&format!("PATH={path}"))
        ),
        enable: "systemctl --user daemon-reload && systemctl --user enable --now loci.service",
        disable: "systemctl --user disable --now loci.service",
    }
}

/// Quotes a word for a systemd unit and escapes `%` specifiers.
fn quote_word(word: &str) -> String {
    let path = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{path}\"")
}

pub fn launchd_agent(exe: &Path, home: &Path, path: &str) -> Unit {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let (exe, path) = (escaped(&exe.to_string_lossy()), escaped(path));
    Unit {
        path: home.join("Library/LaunchAgents/dev.loci.daemon.plist"),
        text: format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n  <key>Label</key><string>dev.loci.daemon</string>\n  \
             <key>ProgramArguments</key>\n  <array>\n    <string>{exe}</string><string>daemon</string><string>run</string><string>--stay</string>\n  \
             </array>\n  <key>EnvironmentVariables</key><dict><key>PATH</key><string>{path}</string></dict>\n  <key>RunAtLoad</key><true/>\n  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n  \
             <key>ThrottleInterval</key><integer>30</integer>\n  <key>ProcessType</key><string>Background</string>\n</dict>\n</plist>\n"
        ),
        enable: "launchctl load -w ~/Library/LaunchAgents/dev.loci.daemon.plist",
        disable: "launchctl unload -w ~/Library/LaunchAgents/dev.loci.daemon.plist",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_stay_one_word() {
        let unit = systemd_unit(Path::new("/opt/my \"tools\"/50%/loci"), Path::new("/c"), "/a b:/bin");
        assert!(unit.text.contains(r#"ExecStart="/opt/my \"tools\"/50%%/loci" daemon run --stay"#));
        assert!(unit.text.contains("Environment=\"PATH=/a b:/bin\"\n"), "{}", unit.text);
        let agent = launchd_agent(Path::new("/a&b/loci"), Path::new("/h"), "/bin");
        assert!(
            agent.text.contains("<string>/a&amp;b/loci</string>") && agent.path.starts_with("/h/Library")
        );
    }
}
