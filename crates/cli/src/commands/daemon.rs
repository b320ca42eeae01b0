//! `loci daemon`: starts, stops, inspects and runs the background daemon.
//!
//! Does not know what the daemon does in the background: that is in [`handlers`].

mod handlers;
mod metrics;
mod sync_rounds;

use crate::daemon_client::{self, VERSION, daemon_status_source, query_daemon_info, read_daemon_status};
use crate::environment::current_exe;
use crate::output::{self, OutputFormat};
use api::{Code, Error, Exit, Handle};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use daemon::lifecycle::WakeHandle;
use daemon::{Client, ExitReason, Holder, Meta, RuntimePaths, unit};
use handlers::{MessageDispatcher, ServiceHandler, ServiceJobs};
use record::Clock;
use serde_json::{Map, Value, json};
use service::{Deliveries, Environment, SnapshotCache, config};
use std::process::Stdio;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const COMMAND: &str = "daemon";

const AFTER_HELP: &str = "The daemon keeps the index current, consolidates memory while you are idle \
and delivers messages to named agents.\n\
It is optional: every command works without it and returns the same results. `loci mcp`, `loci dispatch` and the \
session-start hook start it if none is running. LOCI_DAEMON=use prevents that; LOCI_DAEMON=off also ignores a running \
daemon. The daemon exits after two hours without use.\n\n\
Examples:\n  loci daemon start\n  loci daemon status --json\n  loci daemon logs -n 20\n  loci daemon install --dry-run";

pub(crate) fn build_command() -> Command {
    let json = || Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one line of JSON");
    let dry = || {
        Arg::new("dry_run")
            .long("dry-run")
            .action(ArgAction::SetTrue)
            .help("Show what would change, without changing it")
    };
    Command::new(COMMAND)
        .about("Manage the background daemon")
        .after_help(AFTER_HELP)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands([
            Command::new("start").about("Start the daemon if it is not running").arg(json()),
            Command::new("stop")
                .about("Stop the daemon; running requests are cancelled after two seconds")
                .arg(json()),
            Command::new("status")
                .about("Show whether the daemon is running, what it watches and its request counts")
                .arg(json()),
            Command::new("logs").about("Print the end of the daemon log as JSON lines").arg(
                Arg::new("lines")
                    .short('n')
                    .long("lines")
                    .value_name("N")
                    .default_value("50")
                    .value_parser(value_parser!(u64))
                    .help("Print the last N lines"),
            ),
            Command::new("metrics").about("Print metrics in Prometheus text format (works without a daemon)"),
            Command::new("install")
                .about("Install a systemd unit or launchd agent that starts the daemon at login")
                .arg(dry())
                .arg(json()),
            Command::new("uninstall")
                .about("Remove the systemd unit or launchd agent")
                .arg(dry())
                .arg(json()),
            Command::new("run")
                .about("Run the daemon in the foreground")
                .hide(true)
                .arg(
                    Arg::new("detach")
                        .long("detach")
                        .action(ArgAction::SetTrue)
                        .help("Start in the background and exit"),
                )
                .arg(Arg::new("stay").long("stay").action(ArgAction::SetTrue).help("Do not exit when idle")),
        ])
}

pub(crate) fn run(matches: &ArgMatches) -> Exit {
    let Some((name, sub)) = matches.subcommand() else { return Exit::Failed };
    let flag = |flag: &str| sub.try_get_one::<bool>(flag).ok().flatten().copied().unwrap_or(false);
    let shown = if flag("json") { OutputFormat::Jsonl } else { OutputFormat::default() };
    let command = DaemonCommand { places: service::env::read_places(), format: shown };
    let done = match name {
        "start" => command.start(),
        "stop" => command.stop(),
        "status" => command.print_status(),
        "logs" => command.print_logs(sub.get_one::<u64>("lines").copied().unwrap_or(50) as usize),
        "metrics" => command.print_metrics(),
        "install" => command.install_unit(flag("dry_run")),
        "uninstall" => command.uninstall_unit(flag("dry_run")),
        _ if flag("detach") => start_detached(),
        _ => command.run_daemon(flag("stay")),
    };
    done.unwrap_or_else(|error| output::report_error(shown, &error))
}

/// Stops the daemon that runs; returns its process ID.
fn stop_daemon(place: &RuntimePaths) -> Result<Option<u32>, Error> {
    let Some(holder) = Holder::read_current(place) else { return Ok(None) };
    let accepted = match Client::connect(place) {
        Ok(mut client) => client.call("drain", Map::new(), &Meta::default(), &mut |_, _| true).is_ok(),
        Err(_) => false,
    };
    let gone = || Holder::read_current(place).is_none();
    if !(accepted && wait_until(Duration::from_secs(5), gone)) {
        // It does not respond: send a signal, and only if the process is the one that took the leader lock.
        holder.terminate();
    }
    if !wait_until(Duration::from_secs(5), gone) {
        return Err(Error::new(Code::WriterBusy, format!("process {} does not exit", holder.pid))
            .hint("inspect it with `ps` and kill it; no data is lost"));
    }
    Ok(Some(holder.pid))
}

/// Stops the daemon once no agent uses Loci any more.
pub(crate) fn stop_running(places: &Environment) -> Result<(), Error> {
    let Some(place) = daemon_client::runtime_paths(places) else { return Ok(()) };
    if stop_daemon(&place)?.is_some() {
        output::print_note("the daemon has stopped");
    }
    Ok(())
}

/// Starts the daemon detached from the terminal and the parent process.
fn start_detached() -> Result<Exit, Error> {
    os::processes::leave_parent();
    let mut command = std::process::Command::new(current_exe());
    command.args(["daemon", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|e| Error::new(Code::ReadError, format!("cannot start the daemon: {e}")))?;
    Ok(Exit::Found)
}

struct DaemonCommand {
    places: Environment,
    format: OutputFormat,
}

impl DaemonCommand {
    fn runtime_paths(&self) -> Result<RuntimePaths, Error> {
        daemon_client::runtime_paths(&self.places).ok_or_else(|| {
            Error::new(Code::ReadError, "no home directory for the daemon's files").hint("set HOME")
        })
    }

    fn print_result(&self, json: &Value, text: &str) -> Result<(), Error> {
        let line = if self.format == OutputFormat::Text { format!("{text}\n") } else { format!("{json}\n") };
        output::print_stdout(&line)
    }

    fn start(&self) -> Result<Exit, Error> {
        let place = self.runtime_paths()?;
        let was_running = daemon::client::is_daemon_responding(&place);
        if !was_running {
            config::Daemon::read(&self.places)?;
            let refused = |error: daemon::Error| {
                Error::new(Code::ReadError, error.to_string()).hint("remove the file at that path")
            };
            place.check_socket().map_err(refused)?;
            daemon_client::start_daemon(&current_exe());
            wait_until(Duration::from_secs(5), || daemon::client::is_daemon_responding(&place));
        }
        let Ok(mut client) = Client::connect(&place) else {
            return Err(DaemonCommand::unreachable_error(&place));
        };
        let about = query_daemon_info(&mut client);
        let text = format!(
            "the daemon {} (process {}), at {}",
            if was_running { "is already running" } else { "is running" },
            about["pid"],
            place.socket.display()
        );
        self.print_result(
            &json!({"running": true, "started": !was_running, "pid": about["pid"], "socket": place.socket.to_string_lossy()}),
            &text,
        )?;
        Ok(Exit::Found)
    }

    /// Explains why the daemon cannot be reached.
    fn unreachable_error(place: &RuntimePaths) -> Error {
        let why = match Holder::read_current(place) {
            Some(holder) => format!("process {} holds the leader lock and does not respond", holder.pid),
            None => "it did not start".to_string(),
        };
        Error::new(Code::ReadError, format!("cannot reach the daemon at {}: {why}", place.socket.display()))
            .hint("loci daemon logs")
            .hint("commands work without the daemon")
    }

    fn stop(&self) -> Result<Exit, Error> {
        let place = self.runtime_paths()?;
        let Some(pid) = stop_daemon(&place)? else {
            self.print_result(&json!({"running": false, "stopped": false}), "no daemon is running")?;
            return Ok(Exit::Nothing);
        };
        self.print_result(&json!({"running": false, "stopped": true, "pid": pid}), "the daemon has stopped")?;
        Ok(Exit::Found)
    }
    fn print_status(&self) -> Result<Exit, Error> {
        let place = self.runtime_paths()?;
        let status = read_daemon_status(&place);
        self.print_result(&status, &format_status(&status))?;
        Ok(match status["running"].as_bool() {
            Some(true) if status.get("trouble").is_none() => Exit::Found,
            Some(true) => Exit::Failed,
            _ => Exit::Nothing,
        })
    }

    fn print_metrics(&self) -> Result<Exit, Error> {
        let mut service = service::Service::new(
            self.places.clone(),
            Clock::System,
            self.places.home.clone(),
            current_exe(),
            1,
        );
        service.daemon = Some(daemon_status_source(&self.places));
        let status = service.handle(&api::status::StatusRequest::default())?;
        output::print_stdout(&metrics::format_metrics(&status, service.clock.now()))?;
        Ok(Exit::Found)
    }

    fn print_logs(&self, lines: usize) -> Result<Exit, Error> {
        let place = self.runtime_paths()?;
        let Ok(lines) = daemon::log::read_last_lines(&place.log, lines) else {
            output::write_stderr("loci: no daemon log yet\n");
            return Ok(Exit::Nothing);
        };
        output::print_stdout(&lines.iter().flat_map(|line| [line, "\n"]).collect::<String>())?;
        Ok(if lines.is_empty() { Exit::Nothing } else { Exit::Found })
    }

    fn service_unit(&self) -> unit::Unit {
        let config = self.places.xdg_dir("XDG_CONFIG_HOME", ".config");
        let path =
            service::env::text_var(&self.places, "PATH").unwrap_or_else(|| "/usr/bin:/bin".to_string());
        if cfg!(target_os = "macos") {
            unit::launchd_agent(&current_exe(), &self.places.home, &path)
        } else {
            unit::systemd_unit(&current_exe(), &config, &path)
        }
    }

    fn install_unit(&self, dry: bool) -> Result<Exit, Error> {
        let unit = self.service_unit();
        let failed = |e: std::io::Error| Error::new(Code::ReadError, format!("{}: {e}", unit.path.display()));
        if !dry {
            std::fs::create_dir_all(unit.path.parent().unwrap_or(&unit.path)).map_err(failed)?;
            std::fs::write(&unit.path, &unit.text).map_err(failed)?;
        }
        let head = if dry { "would write" } else { "wrote" };
        let text = format!("{head} {}:\n\n{}\nNext, run: {}", unit.path.display(), unit.text, unit.enable);
        self.print_result(
            &json!({"path": unit.path.to_string_lossy(), "text": unit.text, "enable": unit.enable, "dry_run": dry}),
            &text,
        )?;
        Ok(Exit::Found)
    }

    fn uninstall_unit(&self, dry: bool) -> Result<Exit, Error> {
        let unit = self.service_unit();
        let there = unit.path.is_file();
        if there && !dry {
            let failed =
                |e: std::io::Error| Error::new(Code::ReadError, format!("{}: {e}", unit.path.display()));
            std::fs::remove_file(&unit.path).map_err(failed)?;
        }
        let text = match (there, dry) {
            (false, _) => "not installed".to_string(),
            (true, true) => format!("would remove {}; run first: {}", unit.path.display(), unit.disable),
            (true, false) => {
                format!("removed {}; to stop the daemon now: {}", unit.path.display(), unit.disable)
            }
        };
        self.print_result(
            &json!({"path": unit.path.to_string_lossy(), "removed": there && !dry, "disable": unit.disable, "dry_run": dry}),
            &text,
        )?;
        Ok(if there { Exit::Found } else { Exit::Nothing })
    }

    fn run_daemon(&self, stay: bool) -> Result<Exit, Error> {
        let place = self.runtime_paths()?;
        let set = config::Daemon::read(&self.places)?;
        let settings = daemon::Settings {
            version: VERSION.to_string(),
            clock: Clock::System,
            idle_exit: if stay { Duration::MAX } else { set.idle_exit() },
            exe: current_exe(),
            poll: set.poll_interval(),
            notify_socket: self.places.vars.get("NOTIFY_SOCKET").cloned(),
        };
        let (poke, runs) = (WakeHandle::default(), Deliveries::default());
        let changes = poke.clone();
        let snapshots = Arc::new(SnapshotCache::new(Box::new(move || changes.count_history_changes())));
        let counter = Arc::new(ServiceHandler {
            snapshots: Arc::clone(&snapshots),
            places: self.places.clone(),
            wake: poke.clone(),
            code_dirs: Mutex::default(),
            runs: runs.clone(),
        });
        let keeper = Box::new(ServiceJobs { places: self.places.clone(), snapshots });
        let porter = Box::new(MessageDispatcher {
            places: self.places.clone(),
            wake: poke.clone(),
            runs: runs.clone(),
        });
        sync_rounds::start(&self.places);
        let ended = daemon::run_daemon(&place, counter, (keeper, porter), &poke, &settings);
        runs.stop.store(true, Relaxed);
        match ended {
            // systemd and launchd restart it only after a failure.
            Ok(ExitReason::Replaced) if stay => Ok(Exit::Failed),
            // Another daemon is already serving, which is fine.
            Ok(_) => Ok(Exit::Found),
            Err(error) => Err(Error::new(Code::ReadError, error.to_string()).hint(
                "commands work without the daemon; remove the file at that path, then `loci daemon start`",
            )),
        }
    }
}

fn wait_until(timeout: Duration, done: impl Fn() -> bool) -> bool {
    let until = Instant::now() + timeout;
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn format_status(status: &Value) -> String {
    if status["running"] != true {
        return "no daemon is running; commands work without it (`loci daemon start`)".to_string();
    }
    let mut lines = vec![format!(
        "running: process {}, version {}, for {} s",
        status["pid"],
        status["version"].as_str().unwrap_or("?"),
        status["uptime_seconds"].as_u64().unwrap_or(0)
    )];
    if let Some(trouble) = status["trouble"].as_str() {
        return format!("{}\ntrouble: {trouble}", lines[0]);
    }
    lines.push(format!("socket: {}", status["socket"].as_str().unwrap_or_default()));
    lines.push(format!(
        "directories: {} watched, {} polled; event queue overflows: {}; index updates: {}",
        status["watched"], status["polled"], status["overflows"], status["caught_up"]
    ));
    lines.push(format!(
        "calls: {} completed, {} failed, {} running or queued",
        status["calls"], status["failed"], status["in_flight"]
    ));
    lines.extend(
        status["methods"].as_object().into_iter().flatten().map(|(name, took)| format_latency(name, took)),
    );
    lines.join("\n")
}

/// Formats the latency of an operation; each is at most a quarter above the true value.
fn format_latency(name: &str, took: &Value) -> String {
    let noun = if took["calls"] == 1 { "call" } else { "calls" };
    format!("  {name}: {} {noun}, p50 {} ms, p95 {} ms", took["calls"], took["p50_ms"], took["p95_ms"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_shows_the_latency_of_each_operation() {
        let status = json!({
            "running": true, "pid": 7, "calls": 3, "failed": 0, "in_flight": 1,
            "methods": {"status": {"calls": 3, "p50_ms": 0.5, "p95_ms": 2.0}},
        });
        let shown = format_status(&status);
        assert!(shown.contains("calls: 3 completed, 0 failed, 1 running or queued"), "{shown}");
        assert!(shown.ends_with("status: 3 calls, p50 0.5 ms, p95 2.0 ms"));
    }
}
