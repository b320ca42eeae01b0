//! How agents install Loci from the marketplaces of the repository and from the extension archive, and remove it again.
//!
//! Does not know what the plugins contain.

use super::{Stop, Trial, run_for_output, run_for_texts, tool};
use crate::repository::root;
use std::path::PathBuf;
use std::process::Command;
use testutil::clients::{CLAUDE, CODEX, GEMINI};

/// An agent: its name on the path, where `.ci/run` installs it, and its commands. `SOURCE` stands for the marketplace or extension.
struct Client {
    name: &'static str,
    program: &'static str,
    install: &'static [&'static str],
    list: &'static str,
    remove: &'static [&'static str],
}

const CLAUDE_CODE: Client = Client {
    name: "claude",
    program: CLAUDE,
    install: &[
        "plugin validate --strict SOURCE",
        "plugin marketplace add SOURCE",
        "plugin install loci@loci",
    ],
    list: "plugin list",
    remove: &["plugin uninstall loci@loci", "plugin marketplace remove loci"],
};

const CODEX_CLI: Client = Client {
    name: "codex",
    program: CODEX,
    install: &["plugin marketplace add SOURCE", "plugin add loci@loci"],
    list: "mcp list",
    remove: &["plugin remove loci@loci", "plugin marketplace remove loci"],
};

const GEMINI_CLI: Client = Client {
    name: "gemini",
    program: GEMINI,
    install: &["extensions validate SOURCE", "extensions install --consent SOURCE"],
    list: "extensions list",
    remove: &["extensions uninstall loci"],
};

pub(super) fn claude_code(trial: &Trial<'_>) -> Result<String, Stop> {
    try_client(trial, &CLAUDE_CODE, &root().display().to_string())
}

pub(super) fn codex(trial: &Trial<'_>) -> Result<String, Stop> {
    try_client(trial, &CODEX_CLI, &root().display().to_string())
}

/// From the archive of the release, unpacked as Gemini CLI does.
pub(super) fn gemini(trial: &Trial<'_>) -> Result<String, Stop> {
    let folder = trial.prefix()?;
    let archive = trial.file("linux.loci-gemini-extension.tar.gz")?;
    run_for_output(tool(trial, "tar").arg("-xf").arg(archive).arg("-C").arg(&folder))?;
    // Otherwise it asks whether the folder is trusted.
    let settings = trial.folder.join("home/.gemini/settings.json");
    testutil::write_file(&settings, br#"{"security": {"folderTrust": {"enabled": false}}}"#);
    try_client(trial, &GEMINI_CLI, &folder.display().to_string())
}

fn try_client(trial: &Trial<'_>, client: &Client, source: &str) -> Result<String, Stop> {
    let program = find_program(trial, client)?;
    let run = |line: &str| {
        let words = line.split(' ').map(|word| if word == "SOURCE" { source } else { word });
        run_for_texts(offline(trial).arg(&program).args(words))
    };
    for line in client.install {
        run(line)?;
    }
    let is_listed = || run(client.list).map(|(shown, said)| shown.contains("loci") || said.contains("loci"));
    if !is_listed()? {
        return Err(Stop::Wrong(format!("{} {}: no loci after installation", client.name, client.list)));
    }
    for line in client.remove {
        run(line)?;
    }
    if is_listed()? {
        return Err(Stop::Wrong(format!("{} {}: loci is still there", client.name, client.list)));
    }
    Ok([client.install, client.remove].concat().join(", "))
}

/// Agents are run without a network, which they would ask for updates, and for a limited time, in case they ask a question.
fn offline(trial: &Trial<'_>) -> Command {
    let mut command = tool(trial, "timeout");
    command.args(["60", "unshare", "--net", "--"]);
    command
}

fn find_program(trial: &Trial<'_>, client: &Client) -> Result<PathBuf, Stop> {
    run_for_output(offline(trial).arg("true"))
        .map_err(|_| Stop::Missing("needs a network namespace".to_owned()))?;
    let home = trial.folder.join("home");
    std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    let installed = testutil::needs::path_variable("CLIENTS_HOME").map(|folder| folder.join(client.program));
    if let Some(program) = installed.filter(|program| program.is_file()) {
        return Ok(program);
    }
    super::require(trial, client.name)?;
    Ok(PathBuf::from(client.name))
}
