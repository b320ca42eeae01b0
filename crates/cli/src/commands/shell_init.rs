//! `loci shell-init`: prints a script that binds a key of the shell to `loci pick`.
//!
//! Does not know what a session is.

use crate::output::{self, OutputFormat};
use api::Exit;
use clap::{Arg, ArgMatches, Command, builder::PossibleValuesParser};

pub(crate) const COMMAND: &str = "shell-init";

const SCRIPTS: [(&str, &str); 3] = [
    ("bash", include_str!("shell_init/loci.bash")),
    ("zsh", include_str!("shell_init/loci.zsh")),
    ("fish", include_str!("shell_init/loci.fish")),
];

pub(crate) fn build_command() -> Command {
    let shells = SCRIPTS.map(|(shell, _)| shell);
    Command::new(COMMAND)
        .about("Print a script that binds Alt-G to choosing a session")
        .arg(Arg::new("shell").value_name("SHELL").required(true).value_parser(PossibleValuesParser::new(shells)))
        .after_help("Alt-G opens `loci pick` with what is on the command line and replaces it with the command that resumes the chosen session.\n\nExamples:\n  eval \"$(loci shell-init bash)\"      # in ~/.bashrc\n  eval \"$(loci shell-init zsh)\"       # in ~/.zshrc\n  loci shell-init fish | source       # in ~/.config/fish/config.fish")
}

pub(crate) fn run(matches: &ArgMatches) -> Exit {
    let shell = matches.get_one::<String>("shell").map_or("", String::as_str);
    let script = SCRIPTS.iter().find(|(name, _)| *name == shell).map_or("", |(_, script)| script);
    match output::print_stdout(script) {
        Ok(()) => Exit::Found,
        Err(error) => output::report_error(OutputFormat::Text, &error),
    }
}
