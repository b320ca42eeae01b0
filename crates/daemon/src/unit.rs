//! For those who want it started with their session: a unit for systemd, or an agent for launchd. Without either it is
//! started by whoever needs it.
//!
//! Does not write the file, nor tell the system of it.

use std::path::{Path, PathBuf};

/// The file, what stands in it, and what to type then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub path: PathBuf,
    pub text: String,
    pub enable: &'static str,
    pub disable: &'static str,
}

/// `path` is where programs are looked for: agents' clients are run by it. They run within the unit, so it has no bounds of
/// memory or tasks and no closed folders: those would be theirs. One that hangs is started again after half a minute.
pub fn systemd(exe: &Path, config: &Path, path: &str) -> Unit {
    Unit {
        path: config.join("systemd/user/loci.service"),
        text: format!(
            "[Unit]\nDescription=Loci: memory and context for coding agents\nStartLimitIntervalSec=60\nStartLimitBurst=5\n\n\
             [Service]\nType=notify\nWatchdogSec=30\nExecStart={} daemon run --stay\nRestart=on-failure\nEnvironment={}\n\
             KillMode=control-group\n\n[Install]\nWantedBy=default.target\n",
            quoted(&exe.to_string_lossy()),
            quoted(&format!("PATH={path}"))
        ),
        enable: "systemctl --user daemon-reload && systemctl --user enable --now loci.service",
        disable: "systemctl --user disable --now loci.service",
    }
}

/// As systemd reads a word: in quotes, with its own specifiers doubled.
fn quoted(word: &str) -> String {
    let path = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{path}\"")
}

pub fn launchd(exe: &Path, home: &Path, path: &str) -> Unit {
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
        let unit = systemd(Path::new("/opt/my \"tools\"/50%/loci"), Path::new("/c"), "/a b:/bin");
        assert!(unit.text.contains(r#"ExecStart="/opt/my \"tools\"/50%%/loci" daemon run --stay"#));
        assert!(unit.text.contains("Environment=\"PATH=/a b:/bin\"\n"), "{}", unit.text);
        let agent = launchd(Path::new("/a&b/loci"), Path::new("/h"), "/bin");
        assert!(
            agent.text.contains("<string>/a&amp;b/loci</string>") && agent.path.starts_with("/h/Library")
        );
    }
}
