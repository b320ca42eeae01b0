//! `loci`: arguments in, records out.
//!
//! Standard output is data, standard error is for people. Does not know how a question is answered.

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

/// The other end of `--jq`: this program again, limited, filtering what it is fed.
fn jq_child() -> ExitCode {
    let (code, complaint) = service::jq_work(std::io::stdin().lock(), std::io::stdout().lock());
    output::complain(&complaint);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Between Loci and a program that it runs: this program again, which sees to it that nothing of the other is left.
fn guard() -> ExitCode {
    let (code, complaint) = service::run_guard(std::env::args_os().skip(2), std::io::stdin());
    output::complain(&complaint);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
