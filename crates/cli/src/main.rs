//! Entry point of `loci`: parses the command line and runs one command.
//!
//! stdout carries data, stderr carries messages for people. Does not know how operations and views are implemented.

mod args;
mod commands;
mod daemon_client;
mod environment;
mod flags;
mod output;
mod view_text;

use api::Exit;
use args::Typed;
use commands::{daemon, hook};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == service::JQ_COMMAND) {
        return jq_child();
    }
    if std::env::args_os().nth(1).is_some_and(|arg| arg == service::GUARD_COMMAND) {
        return guard();
    }
    let exit = match args::parse() {
        Ok(Some(Typed::View(call))) => call.run(),
        Ok(Some(Typed::Operation(invocation))) => invocation.run(),
        Ok(Some(Typed::Daemon(matches))) => daemon::run(&matches),
        Ok(Some(Typed::Hook(matches))) => return hook::run(&matches),
        Ok(Some(Typed::Mcp(serve))) => return serve.run(),
        Ok(None) => Exit::Found,
        Err(code) => return code,
    };
    ExitCode::from(exit.code())
}

/// Subprocess side of `--jq`: this binary, re-executed with resource limits, filters the records on stdin.
fn jq_child() -> ExitCode {
    let (code, message) = service::jq_work(std::io::stdin().lock(), std::io::stdout().lock());
    output::complain(&message);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Supervisor process: this binary, re-executed between Loci and a program it runs, ends that program's whole process
/// tree.
fn guard() -> ExitCode {
    let (code, message) = service::run_guard(std::env::args_os().skip(2), std::io::stdin());
    output::complain(&message);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
