//! `loci config`: lists, reads and changes settings.
//!
//! Does not know what a setting means.

use crate::output::{self, OutputFormat};
use api::{Code, Error, Exit};
use clap::{Arg, ArgAction, ArgMatches, Command};
use config::{SETTINGS, config_path, edit};
use serde_json::json;
use service::Environment;
use std::fmt::Write as _;

pub(crate) const COMMAND: &str = "config";

pub(crate) fn build_command() -> Command {
    let name = || {
        Arg::new("name")
            .value_name("NAME")
            .required(true)
            .help("The setting, for example daemon.poll_seconds")
    };
    let json =
        Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON, one object per line");
    Command::new(COMMAND)
        .about("List, read and change settings")
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(Command::new("list").about("List all settings with their values").arg(json))
        .subcommand(Command::new("get").about("Print the value of a setting").arg(name()))
        .subcommand(
            Command::new("set")
                .about("Change a setting")
                .arg(name())
                .arg(Arg::new("value").value_name("VALUE").required(true).allow_hyphen_values(true)),
        )
        .subcommand(Command::new("unset").about("Return a setting to its default").arg(name()))
        .subcommand(Command::new("path").about("Print the path of the settings file"))
        .subcommand(Command::new("edit").about("Open the settings file in $VISUAL or $EDITOR"))
        .after_help("Examples:\n  loci config list\n  loci config set daemon.idle_exit_minutes 30\n  loci config edit")
}

pub(crate) fn run(matches: &ArgMatches) -> Exit {
    let places = service::env::read_places();
    let result = match matches.subcommand() {
        Some(("list", sub)) => list_settings(&places, sub.get_flag("json")),
        Some(("get", sub)) => get_setting(&places, argument(sub, "name")),
        Some(("set", sub)) => edit::set_value(&places, argument(sub, "name"), Some(argument(sub, "value")))
            .map(|()| Exit::Found),
        Some(("unset", sub)) => edit::set_value(&places, argument(sub, "name"), None).map(|()| Exit::Found),
        Some(("path", _)) => {
            output::print_stdout(&format!("{}\n", config_path(&places).display())).map(|()| Exit::Found)
        }
        Some(("edit", _)) => edit_file(&places),
        _ => Ok(Exit::Failed),
    };
    result.unwrap_or_else(|error| output::report_error(OutputFormat::Text, &error))
}

fn argument<'m>(matches: &'m ArgMatches, name: &str) -> &'m str {
    matches.get_one::<String>(name).map_or("", String::as_str)
}

fn list_settings(places: &Environment, json: bool) -> Result<Exit, Error> {
    let mut out = String::new();
    for (name, about) in SETTINGS {
        let value = edit::value_of(places, name)?;
        if json {
            let _ = writeln!(out, "{}", json!({"name": name, "value": value, "about": about}));
        } else {
            let value = value.map_or("(default)".to_string(), |value| value);
            let _ = writeln!(out, "{name} = {}\n    {about}", api::terminal_text::one_line(&value));
        }
    }
    output::print_stdout(&out)?;
    Ok(Exit::Found)
}

fn get_setting(places: &Environment, name: &str) -> Result<Exit, Error> {
    let Some(value) = edit::value_of(places, name)? else {
        output::print_note(&format!("{name} is not set; `loci config list` shows its default"));
        return Ok(Exit::Nothing);
    };
    output::print_stdout(&format!("{value}\n"))?;
    Ok(Exit::Found)
}

fn edit_file(places: &Environment) -> Result<Exit, Error> {
    let path = config_path(places);
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| service::env::text_var(places, name));
    let editor = editor.unwrap_or_else(|| "vi".to_string());
    let failed = |error: std::io::Error| Error::new(Code::ReadError, format!("{editor}: {error}"));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let status = os::processes::shell_command_on(&editor, &path).status().map_err(failed)?;
    // A mistake is reported now, not by the next command.
    config::read_config(places)?;
    Ok(if status.success() { Exit::Found } else { Exit::Failed })
}
