//! `loci completions` and `loci man`: text for shells and manual readers, made from the command definitions.
//!
//! Does not know what the commands do.

use crate::output;
use api::Exit;
use clap::{Arg, ArgMatches, Command, builder::PossibleValuesParser};
use clap_complete::{Shell, generate};
use clap_complete_nushell::Nushell;

pub(crate) const COMPLETIONS: &str = "completions";
pub(crate) const MAN: &str = "man";

const SHELLS: [&str; 6] = ["bash", "zsh", "fish", "powershell", "nushell", "elvish"];

pub(crate) fn completions_command() -> Command {
    Command::new(COMPLETIONS)
        .about("Print completions for a shell")
        .arg(Arg::new("shell").value_name("SHELL").required(true).value_parser(PossibleValuesParser::new(SHELLS)))
        .after_help("Examples:\n  loci completions bash > ~/.local/share/bash-completion/completions/loci\n  loci completions fish > ~/.config/fish/completions/loci.fish")
}

pub(crate) fn man_command() -> Command {
    Command::new(MAN)
        .about("Print the manual page of loci or of one of its commands")
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .num_args(0..)
                .help("The command, for example `memory add`"),
        )
        .after_help("Examples:\n  loci man | man -l -\n  loci man search > loci-search.1")
}

pub(crate) fn run_completions(matches: &ArgMatches, mut root: Command) -> Exit {
    let mut text = Vec::new();
    match matches.get_one::<String>("shell").map(String::as_str) {
        Some("nushell") => generate(Nushell, &mut root, "loci", &mut text),
        name => generate(named_shell(name), &mut root, "loci", &mut text),
    }
    print_bytes(&text)
}

fn named_shell(name: Option<&str>) -> Shell {
    match name {
        Some("zsh") => Shell::Zsh,
        Some("fish") => Shell::Fish,
        Some("powershell") => Shell::PowerShell,
        Some("elvish") => Shell::Elvish,
        _ => Shell::Bash,
    }
}

pub(crate) fn run_man(matches: &ArgMatches, mut root: Command) -> Exit {
    let words: Vec<&str> =
        matches.get_many::<String>("command").into_iter().flatten().map(String::as_str).collect();
    root.build();
    let mut at = &root;
    for word in &words {
        let Some(inner) = at.find_subcommand(word) else {
            output::print_note(&format!("error: there is no command `{}`", words.join(" ")));
            output::print_note("hint: loci --help");
            return Exit::Failed;
        };
        at = inner;
    }
    let name = std::iter::once("loci").chain(words.iter().copied()).collect::<Vec<_>>().join("-");
    let mut page = Vec::new();
    let mut command = at.clone().name(name);
    if command.get_about().is_none() {
        // The program has none, because help begins with its groups; `whatis` shows this line.
        command = command.about(env!("CARGO_PKG_DESCRIPTION").trim_end_matches('.'));
    }
    match clap_mangen::Man::new(command).render(&mut page) {
        Ok(()) => print_bytes(&page),
        Err(_) => Exit::Failed,
    }
}

fn print_bytes(text: &[u8]) -> Exit {
    match output::print_stdout(&String::from_utf8_lossy(text)) {
        Ok(()) => Exit::Found,
        Err(error) => output::report_error(output::OutputFormat::Text, &error),
    }
}
