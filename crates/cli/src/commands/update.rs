//! `loci update`: tells how this program was installed and what updates it, and runs that if a person agrees.
//!
//! Does not look for new versions, and opens no connection: the package manager does, once it runs.

use crate::output::{self, OutputFormat};
use crate::version;
use api::operation::shell_quote;
use api::{Code, Error, Exit};
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;
use std::path::Path;

pub(crate) const COMMAND: &str = "update";

/// A way to install Loci.
struct Channel {
    name: &'static str,
    /// A part of the program's path, with `/` as separator.
    mark: &'static str,
    /// What a person types; empty if no command does it.
    command: &'static str,
}

const RELEASES: &str = "https://github.com/loci-dev/loci/releases";

/// The first whose mark is in the program's path counts.
const CHANNELS: &[Channel] = &[
    Channel {
        name: "npm",
        mark: "/node_modules/@loci-dev/",
        command: "npm install --global @loci-dev/loci@latest",
    },
    Channel { name: "uv", mark: "/uv/tools/loci-dev/", command: "uv tool upgrade loci-dev" },
    Channel { name: "pipx", mark: "/pipx/venvs/loci-dev/", command: "pipx upgrade loci-dev" },
    Channel { name: "Homebrew", mark: "/Cellar/loci/", command: "brew upgrade loci" },
    Channel { name: "Nix", mark: "/nix/store/", command: "nix profile upgrade loci" },
    Channel { name: "Scoop", mark: "/scoop/apps/loci/", command: "scoop update loci" },
    Channel { name: "winget", mark: "/Microsoft/WinGet/", command: "winget upgrade LociDev.Loci" },
    Channel {
        name: "cargo",
        mark: "/.cargo/bin/",
        command: "cargo install --locked --git https://github.com/loci-dev/loci loci",
    },
];

/// Packages of the system, which share their folder: the list of files that the package manager keeps tells them apart.
const SYSTEM_PACKAGES: &[(&str, &str)] = &[("deb", "/var/lib/dpkg/info/loci.list")];

pub(crate) fn build_command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new(COMMAND)
        .about("Update Loci the way it was installed")
        .arg(flag("check", "Only tell; run nothing"))
        .arg(flag("yes", "Do not ask before the update runs").conflicts_with("check"))
        .arg(flag("json", "Print JSON; implies --check").conflicts_with("yes"))
        .after_help("Loci opens no connection for this; the package manager does, once you have agreed to run it.\n\nExamples:\n  loci update --check\n  loci update")
}

pub(crate) fn run(matches: &ArgMatches) -> Exit {
    let json = matches.get_flag("json");
    let shown = if json { OutputFormat::Jsonl } else { OutputFormat::Text };
    let exe = std::env::current_exe().and_then(|exe| exe.canonicalize()).unwrap_or_default();
    let found = find_installation(&exe, &|path| Path::new(path).exists());
    let tell = if json { describe_as_json(&exe, &found) } else { describe_as_text(&exe, &found) };
    let told = output::print_stdout(&tell).and_then(|()| {
        let agreed = matches.get_flag("yes");
        if json || matches.get_flag("check") || found.command.is_empty() && !agreed {
            return Ok(Exit::Found);
        }
        run_update(&found.command, agreed)
    });
    told.unwrap_or_else(|error| output::report_error(shown, &error))
}

#[derive(Debug, PartialEq, Eq)]
struct Installation {
    channel: &'static str,
    /// Empty if no command updates it.
    command: String,
}

fn find_installation(exe: &Path, exists: &dyn Fn(&str) -> bool) -> Installation {
    let path = exe.to_string_lossy().replace('\\', "/");
    if let Some(one) = CHANNELS.iter().find(|one| path.contains(one.mark)) {
        return Installation { channel: one.name, command: one.command.to_string() };
    }
    let is_system = path.starts_with("/usr/bin/");
    if let Some((name, _)) = SYSTEM_PACKAGES.iter().find(|(_, list)| is_system && exists(list)) {
        return Installation { channel: name, command: String::new() };
    }
    let beside = exe.with_file_name(format!("python{}", std::env::consts::EXE_SUFFIX));
    if exists(&beside.to_string_lossy()) && !is_system {
        return Installation {
            channel: "pip",
            // Of this environment: another one may come first in PATH.
            command: format!("{} -m pip install --upgrade loci-dev", shell_quote(&beside.to_string_lossy())),
        };
    }
    Installation { channel: "file", command: String::new() }
}

fn describe_as_text(exe: &Path, found: &Installation) -> String {
    let how = match found.channel {
        "file" => "as a file".to_string(),
        channel => format!("by {channel}"),
    };
    let next = match (found.command.as_str(), found.channel) {
        ("", "deb") => {
            format!("To update: download the deb from {RELEASES} and run `sudo apt install ./FILE.deb`.")
        }
        ("", _) => {
            format!("To update: download the file for {} from {RELEASES} and put it there.", version::TARGET)
        }
        (command, _) => format!("To update: {command}"),
    };
    format!("loci {}\nInstalled {how}, at {}\n{next}\n", version::describe(), exe.display())
}

fn describe_as_json(exe: &Path, found: &Installation) -> String {
    let command = (!found.command.is_empty()).then_some(&found.command);
    let told = json!({
        "version": version::NUMBER,
        "commit": version::COMMIT,
        "target": version::TARGET,
        "path": exe.to_string_lossy(),
        "installed_by": found.channel,
        "command": command,
        "releases": RELEASES,
    });
    format!("{told}\n")
}

fn run_update(command: &str, agreed: bool) -> Result<Exit, Error> {
    if command.is_empty() {
        return Err(Error::new(Code::InvalidArgument, "no package manager has installed this program")
            .hint("`loci update --check` says how to update it"));
    }
    if !agreed && !output::can_prompt() {
        return Err(Error::new(Code::InvalidArgument, "nobody can be asked whether to run the update")
            .hint("run `loci update --yes`, or the command above"));
    }
    if !agreed && !output::confirm(&format!("Run `{command}`? [y/N] ")) {
        return Ok(Exit::Found);
    }
    let failed = |error: std::io::Error| Error::new(Code::ReadError, format!("`{command}`: {error}"));
    let status = os::processes::shell_command(command).status().map_err(failed)?;
    Ok(if status.success() { Exit::Found } else { Exit::Failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel_of(path: &str, present: &[&str]) -> &'static str {
        find_installation(Path::new(path), &|wanted| present.contains(&wanted)).channel
    }

    #[test]
    fn the_path_of_the_program_tells_who_installed_it() {
        for (path, expected) in [
            ("/home/dev/.npm/lib/node_modules/@loci-dev/loci-linux-x64-musl/bin/loci", "npm"),
            ("/home/dev/.local/share/uv/tools/loci-dev/bin/loci", "uv"),
            ("/opt/homebrew/Cellar/loci/0.2.0/bin/loci", "Homebrew"),
            (r"C:\Users\dev\scoop\apps\loci\0.2.0\loci.exe", "Scoop"),
            ("/home/dev/.cargo/bin/loci", "cargo"),
            ("/home/dev/bin/loci", "file"),
            ("/usr/bin/loci", "file"),
        ] {
            assert_eq!(channel_of(path, &[]), expected, "{path}");
        }
    }

    #[test]
    fn what_lies_beside_the_program_tells_the_rest() {
        assert_eq!(channel_of("/usr/bin/loci", &["/var/lib/dpkg/info/loci.list"]), "deb");
        assert_eq!(channel_of("/home/dev/bin/loci", &["/var/lib/dpkg/info/loci.list"]), "file");
        assert_eq!(channel_of("/home/dev/env/bin/loci", &["/home/dev/env/bin/python"]), "pip");
        assert_eq!(channel_of("/usr/bin/loci", &["/usr/bin/python"]), "file");
    }
}
