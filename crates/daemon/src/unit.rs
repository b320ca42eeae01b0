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

pub fn systemd(exe: &Path, config: &Path) -> Unit {
    Unit {
        path: config.join("systemd/user/loci.service"),
        text: format!(
            "[Unit]\nDescription=Loci: memory and context for coding agents\nStartLimitIntervalSec=60\nStartLimitBurst=5\n\n\
             [Service]\nType=exec\nExecStart={} daemon run --stay\nRestart=on-failure\nMemoryHigh=400M\nMemoryMax=800M\n\
             TasksMax=512\nNoNewPrivileges=yes\nKillMode=control-group\nUMask=0077\n\n[Install]\nWantedBy=default.target\n",
            quoted(exe)
        ),
        enable: "systemctl --user daemon-reload && systemctl --user enable --now loci.service",
        disable: "systemctl --user disable --now loci.service",
    }
}

/// As systemd reads a word: in quotes, with its own specifiers doubled.
fn quoted(exe: &Path) -> String {
    let path = exe.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{path}\"")
}

pub fn launchd(exe: &Path, home: &Path) -> Unit {
    let exe = exe.to_string_lossy().replace('&', "&amp;").replace('<', "&lt;");
    Unit {
        path: home.join("Library/LaunchAgents/dev.loci.daemon.plist"),
        text: format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n  <key>Label</key><string>dev.loci.daemon</string>\n  \
             <key>ProgramArguments</key>\n  <array>\n    <string>{exe}</string><string>daemon</string><string>run</string><string>--stay</string>\n  \
             </array>\n  <key>RunAtLoad</key><true/>\n  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n  \
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
        let unit = systemd(Path::new("/opt/my \"tools\"/50%/loci"), Path::new("/c"));
        assert!(unit.text.contains(r#"ExecStart="/opt/my \"tools\"/50%%/loci" daemon run --stay"#));
        let agent = launchd(Path::new("/a&b/loci"), Path::new("/h"));
        assert!(
            agent.text.contains("<string>/a&amp;b/loci</string>") && agent.path.starts_with("/h/Library")
        );
    }
}
