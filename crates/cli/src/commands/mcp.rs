//! `loci mcp`: the flags of the MCP server, and the handler of its tool calls.
//!
//! Does not know the protocol: that is the crate `mcp`.

use crate::{daemon_client, environment, output};
use api::resolve_ids::ResolveIds;
use api::saved_results::Cleanup;
use api::sessions::ListSessions;
use api::{CallContext, Envelope, Error, Handle, Set, Tool, ToolHandler};
use clap::{Arg, ArgMatches, Command, builder::PossibleValuesParser, value_parser};
use record::Clock;
use serde_json::{Map, Value};
use service::{Environment, Service};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) const COMMAND: &str = "mcp";

/// For a person who starts the server at a terminal.
const TERMINAL_NOTICE: &str = "loci: waiting for MCP messages on stdin; agents start this server themselves, see `loci setup` (Ctrl-C quits)\n";

const HTTP_HELP: &str = "Serve HTTP on the loopback interface instead of stdin and stdout, on PORT or a free port; the \
     printed URL contains an access token";

pub(crate) struct McpServer {
    sets: Vec<Set>,
    /// Port for HTTP; `None` serves stdin and stdout.
    http: Option<u16>,
}

pub(crate) fn build_command() -> Command {
    let words = Set::ALL.iter().map(|(_, word, _)| *word).collect::<Vec<_>>();
    let meanings = Set::ALL.iter().map(|(_, word, about)| format!("  {word:<10} {about}"));
    Command::new(COMMAND)
        .about("Run the MCP server that offers Loci's tools to agents")
        .after_help(format!(
            "Toolsets:\n{}\n\nExample (Claude Code):\n  claude mcp add loci -- loci mcp\n\n`loci setup` configures every agent on this \
             machine.",
            meanings.collect::<Vec<_>>().join("\n")
        ))
        .arg(
            Arg::new("toolsets")
                .long("toolsets")
                .value_name("SETS")
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(words))
                .help("Toolsets to offer, comma-separated [default: chat,history,core]"),
        )
        .arg(
            Arg::new("http")
                .long("http")
                .value_name("PORT")
                .num_args(0..=1)
                .default_missing_value("0")
                .value_parser(value_parser!(u16))
                .help(HTTP_HELP),
        )
}

impl McpServer {
    pub(crate) fn from_matches(matches: &ArgMatches) -> McpServer {
        let named = matches.get_many::<String>("toolsets");
        let named: Vec<String> = named.into_iter().flatten().cloned().collect();
        let sets = config::toolsets(&service::env::read_places(), &named);
        McpServer { sets, http: matches.get_one::<u16>("http").copied() }
    }

    pub(crate) fn run(&self) -> ExitCode {
        if self.http.is_none() && output::can_prompt() {
            output::write_stderr(TERMINAL_NOTICE);
        }
        let handler = Handler::new();
        handler.spawn_maintenance();
        match self.serve(handler) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                output::write_stderr(&format!("loci: error: {error}\n"));
                ExitCode::FAILURE
            }
        }
    }

    fn serve(&self, handler: Handler) -> Result<(), mcp::Error> {
        let Some(port) = self.http else { return mcp::serve_stdio(Arc::new(handler), &self.sets) };
        let set = service::env::text_var(&handler.places, "LOCI_MCP_TOKEN");
        let token = set.map_or_else(service::random_token, Ok)?;
        mcp::serve_http(Arc::new(handler), &self.sets, &mcp::HttpOptions { port, token }, |address| {
            output::write_stderr(&format!("loci: listening at {address}\n"));
        })
    }
}

/// Handles tool calls; keeps no state between them.
struct Handler {
    places: Environment,
    cwd: PathBuf,
    exe: PathBuf,
    threads: usize,
}

impl Handler {
    fn new() -> Handler {
        let places = service::env::read_places();
        // Claude Code sets the project directory; other agents start the server in it.
        let project = service::env::text_var(&places, "CLAUDE_PROJECT_DIR").map(PathBuf::from);
        let cwd = project.filter(|dir| dir.is_absolute()).unwrap_or_else(environment::current_dir);
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(64);
        Handler { places, cwd, exe: std::env::current_exe().unwrap_or_default(), threads }
    }

    fn service_for(&self, context: &CallContext) -> Service {
        let mut places = self.places.clone();
        if let Some(session) = &context.session {
            places.vars.insert("CLAUDE_CODE_SESSION_ID", session.into());
        }
        let mut service =
            Service::new(places, Clock::System, self.cwd.clone(), self.exe.clone(), self.threads);
        service.progress = context.progress.clone();
        service.is_long_running = true;
        service
    }

    /// Deletes expired saved results and starts the daemon, in the background.
    fn spawn_maintenance(&self) {
        let service = self.service_for(&CallContext::default());
        std::thread::spawn(move || {
            daemon_client::connect_or_start(&service.places, &service.exe);
            let _ = service.handle(&Cleanup::default());
        });
    }
}

impl ToolHandler for Handler {
    fn call(
        &self,
        tool: &'static Tool,
        mut params: Map<String, Value>,
        context: &CallContext,
    ) -> Result<Envelope, Error> {
        let mut service = self.service_for(context);
        if tool.operation().is_some_and(|operation| operation.daemon) {
            service.detect_sending_agent();
        }
        daemon_client::add_message_key(tool.name, &mut params);
        let response = daemon_client::call_tool(&service, tool, &params);
        response.unwrap_or_else(|| service.call_tool(tool, params))
    }

    fn session_ids(&self, prefix: &str) -> Vec<String> {
        let service = self.service_for(&CallContext::default());
        match prefix.trim() {
            "" => {
                let found = service.handle(&ListSessions::default());
                found.map_or_else(
                    |_| Vec::new(),
                    |found| found.sessions.into_iter().map(|s| s.chat_id).collect(),
                )
            }
            prefix => {
                let request =
                    ResolveIds { chat_id_prefix: Some(prefix.to_string()), ..ResolveIds::default() };
                let found = service.handle(&request);
                found.map_or_else(
                    |_| Vec::new(),
                    |found| found.chats.into_iter().map(|chat| chat.chat_id).collect(),
                )
            }
        }
    }
}
