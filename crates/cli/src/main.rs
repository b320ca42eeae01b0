//! Entry point of `loci`: parses the command line and runs one command.
//!
//! stdout carries data, stderr carries messages for people. Does not know how operations and views are implemented.

mod args;
mod commands;
mod daemon_client;
mod environment;
mod flags;
mod forgiving;
mod help;
mod output;
mod version;
mod view_text;

use api::Exit;
use args::ParsedCommand;
use commands::{config, daemon, export, hook, page, resume, shell, shell_init, statusline, ui, update};
use std::process::ExitCode;

/// musl's own allocator takes one lock for all threads: it would make an index of several threads as slow as one of one thread.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The supervisor's command until version 0.1: a server that was started before an upgrade still calls it.
const FORMER_GUARD_COMMAND: &str = "internal-ward";

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == service::JQ_COMMAND) {
        return run_jq_child();
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|arg| arg == service::GUARD_COMMAND || arg == FORMER_GUARD_COMMAND)
    {
        return run_supervisor();
    }
    if let Err(error) = os::processes::fail_at_file_size_limit() {
        output::write_stderr(&format!("loci: {error}\n"));
    }
    service::report_waiting(output::print_note);
    let exit = match args::parse() {
        Ok(Some(ParsedCommand::View(call))) => call.run(),
        Ok(Some(ParsedCommand::Operation(invocation))) => invocation.run(),
        Ok(Some(ParsedCommand::Daemon(matches))) => daemon::run(&matches),
        Ok(Some(ParsedCommand::Config(matches))) => config::run(&matches),
        Ok(Some(ParsedCommand::StatusLine(matches))) => statusline::run(&matches),
        Ok(Some(ParsedCommand::Export(matches))) => export::run(&matches),
        Ok(Some(ParsedCommand::Page(page, matches))) => page::run(page, &matches),
        Ok(Some(ParsedCommand::Resume(matches))) => resume::run(&matches),
        Ok(Some(ParsedCommand::Ui(matches))) => return ui::run(&matches),
        Ok(Some(ParsedCommand::Pick(matches))) => return ui::run_pick(&matches),
        Ok(Some(ParsedCommand::ShellInit(matches))) => shell_init::run(&matches),
        Ok(Some(ParsedCommand::Update(matches))) => update::run(&matches),
        Ok(Some(ParsedCommand::Completions(matches))) => {
            shell::run_completions(&matches, args::build_command(None))
        }
        Ok(Some(ParsedCommand::Man(matches))) => shell::run_man(&matches, args::build_command(None)),
        Ok(Some(ParsedCommand::Hook(matches))) => return hook::run(&matches),
        Ok(Some(ParsedCommand::Mcp(serve))) => return serve.run(),
        Ok(None) => Exit::Found,
        Err(code) => return code,
    };
    ExitCode::from(exit.code())
}

/// Subprocess side of `--jq`: this binary, re-executed with resource limits, filters the records on stdin.
fn run_jq_child() -> ExitCode {
    let (code, message) = service::jq_work(std::io::stdin().lock(), std::io::stdout().lock());
    output::write_stderr(&message);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Supervisor process: this binary, re-executed between Loci and a program it runs, ends that program's whole process
/// tree.
fn run_supervisor() -> ExitCode {
    let (code, message) = service::run_guard(std::env::args_os().skip(2), std::io::stdin());
    output::write_stderr(&message);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
