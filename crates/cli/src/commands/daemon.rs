//! `loci daemon`: the process that stays, started, stopped and looked at.
//!
//! Does not know what it does while it stays: those are its duties.

mod duties;
mod metrics;

use crate::daemon_client::{self, VERSION, about, standing, teller};
use crate::environment::exe;
use crate::output::{self, Shown};
use api::{Code, Error, Exit, Handle};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use daemon::life::Poke;
use daemon::{Client, Ended, Holder, Meta, Place, unit};
use duties::{Counter, Errands, Housekeeping};
use record::Clock;
use serde_json::{Map, Value, json};
use service::{Places, Runs, config};
use std::process::Stdio;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const COMMAND: &str = "daemon";

const EXAMPLES: &str = "It is optional: every command works without it, with the same answers. `loci mcp`, `loci dispatch` and the \
session-start hook\nstart it when there is none (LOCI_DAEMON=use or off prevents that), and it goes when nobody has needed it for two hours.\n\n\
Examples:\n  loci daemon start\n  loci daemon status --json\n  loci daemon logs -n 20\n  loci daemon install --dry-run";

pub(crate) fn command() -> Command {
    let json =
        || Arg::new("json").long("json").action(ArgAction::SetTrue).help("The answer as one line of JSON");
    let dry =
        || Arg::new("dry_run").long("dry-run").action(ArgAction::SetTrue).help("Show what would be done");
    Command::new(COMMAND)
        .about(
            "The process that stays: keeps the index up to date, remembers while you rest, hands messages on",
        )
        .after_help(EXAMPLES)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands([
            Command::new("start").about("Start it, unless it runs").arg(json()),
            Command::new("stop")
                .about("Ask it to end: what runs is finished, or called off after two seconds")
                .arg(json()),
            Command::new("status")
                .about("Whether it runs, what it watches and what it has answered")
                .arg(json()),
            Command::new("logs").about("What it did lately, a line of JSON each").arg(
                Arg::new("lines")
                    .short('n')
                    .long("lines")
                    .value_name("N")
                    .default_value("50")
                    .value_parser(value_parser!(u64))
                    .help("At most this many"),
            ),
            Command::new("metrics")
                .about("Figures for a monitor, as Prometheus reads them; with and without a daemon"),
            Command::new("install")
                .about("Have it started with your session: a unit of systemd's, or launchd's agent")
                .arg(dry())
                .arg(json()),
            Command::new("uninstall").about("Take that back").arg(dry()).arg(json()),
            Command::new("run")
                .about("Serve, here and now; the other commands start it so")
                .hide(true)
                .arg(Arg::new("detach").long("detach").action(ArgAction::SetTrue))
                .arg(Arg::new("stay").long("stay").action(ArgAction::SetTrue)),
        ])
}

pub(crate) fn run(matches: &ArgMatches) -> Exit {
    let Some((name, sub)) = matches.subcommand() else { return Exit::Failed };
    let flag = |flag: &str| sub.try_get_one::<bool>(flag).ok().flatten().copied().unwrap_or(false);
    let shown = if flag("json") { Shown::Jsonl } else { Shown::default() };
    let command = DaemonCommand { places: service::env::places(), shown };
    let done = match name {
        "start" => command.start(),
        "stop" => command.stop(),
        "status" => command.status(),
        "logs" => command.logs(sub.get_one::<u64>("lines").copied().unwrap_or(50) as usize),
        "metrics" => command.metrics(),
        "install" => command.install(flag("dry_run")),
        "uninstall" => command.uninstall(flag("dry_run")),
        _ if flag("detach") => detach(),
        _ => command.serve(flag("stay")),
    };
    done.unwrap_or_else(|error| output::fail(shown, &error))
}

/// Leaves the terminal and whoever started it behind.
fn detach() -> Result<Exit, Error> {
    // Fails where this process leads a group already; then it is alone anyway.
    let _ = rustix::process::setsid();
    let_go();
    let mut command = std::process::Command::new(exe());
    command.args(["daemon", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
        .spawn()
        .map_err(|e| Error::new(Code::ReadError, format!("the daemon could not be started: {e}")))?;
    Ok(Exit::Found)
}

/// Closes what this process has from whoever started it: a script that waits for the end of its pipe, or for a lock that
/// goes with its file, would wait for as long as the daemon runs. Nothing of ours is open yet.
fn let_go() {
    let Ok(open) = std::fs::read_dir("/dev/fd") else { return };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    // All of them first: the folder that is read has a number too, and is closed with the reading.
    let numbers: Vec<i32> = open.flatten().filter_map(number).filter(|number| *number > 2).collect();
    for number in numbers {
        // One that is closed already is as good as closed.
        let _ = nix::unistd::close(number);
    }
}

struct DaemonCommand {
    places: Places,
    shown: Shown,
}

impl DaemonCommand {
    fn place(&self) -> Result<Place, Error> {
        daemon_client::place(&self.places).ok_or_else(|| {
            Error::new(Code::ReadError, "there is no home to keep anything in").hint("set HOME")
        })
    }

    fn say(&self, told: &Value, text: &str) -> Result<(), Error> {
        let shown = if self.shown == Shown::Text { format!("{text}\n") } else { format!("{told}\n") };
        output::say(&shown)
    }

    fn start(&self) -> Result<Exit, Error> {
        let place = self.place()?;
        let was = daemon::client::answers(&place);
        if !was {
            config::Daemon::read(&self.places)?;
            let refused = |error: daemon::Error| {
                Error::new(Code::ReadError, error.to_string()).hint("remove what stands there")
            };
            place.check().map_err(refused)?;
            daemon_client::start(&exe());
            wait(Duration::from_secs(5), || daemon::client::answers(&place));
        }
        let Ok(mut client) = Client::connect(&place) else { return Err(DaemonCommand::silent(&place)) };
        let about = about(&mut client);
        let text = format!(
            "the daemon {} (process {}), at {}",
            if was { "runs already" } else { "runs" },
            about["pid"],
            place.socket.display()
        );
        self.say(
            &json!({"running": true, "started": !was, "pid": about["pid"], "socket": place.socket}),
            &text,
        )?;
        Ok(Exit::Found)
    }

    /// Why nobody answers.
    fn silent(place: &Place) -> Error {
        let why = match Holder::of(place) {
            Some(holder) => format!("process {} holds the seat and does not answer", holder.pid),
            None => "it did not come up".to_string(),
        };
        Error::new(
            Code::ReadError,
            format!("the daemon is not to be reached at {}: {why}", place.socket.display()),
        )
        .hint("loci daemon logs")
        .hint("commands work without it")
    }

    fn stop(&self) -> Result<Exit, Error> {
        let place = self.place()?;
        let Some(holder) = Holder::of(&place) else {
            self.say(&json!({"running": false, "stopped": false}), "no daemon runs")?;
            return Ok(Exit::Nothing);
        };
        let asked = match Client::connect(&place) {
            Ok(mut client) => client.call("drain", Map::new(), &Meta::default(), &mut |_, _| true).is_ok(),
            Err(_) => false,
        };
        let gone = || Holder::of(&place).is_none();
        if !(asked && wait(Duration::from_secs(5), gone)) {
            // It does not listen: asked as the system asks, and only if the process is the one that sat down.
            holder.end();
        }
        if !wait(Duration::from_secs(5), gone) {
            return Err(Error::new(Code::WriterBusy, format!("process {} does not end", holder.pid))
                .hint("look at it with `ps`, and end it yourself; nothing is lost"));
        }
        self.say(&json!({"running": false, "stopped": true, "pid": holder.pid}), "the daemon has ended")?;
        Ok(Exit::Found)
    }

    fn status(&self) -> Result<Exit, Error> {
        let place = self.place()?;
        let told = standing(&place);
        self.say(&told, &shown_status(&told))?;
        Ok(match told["running"].as_bool() {
            Some(true) if told.get("trouble").is_none() => Exit::Found,
            Some(true) => Exit::Failed,
            _ => Exit::Nothing,
        })
    }

    fn metrics(&self) -> Result<Exit, Error> {
        let mut service =
            service::Service::new(self.places.clone(), Clock::System, self.places.home.clone(), exe(), 1);
        service.daemon = Some(teller(&self.places));
        let status = service.handle(&api::status::StatusRequest::default())?;
        output::say(&metrics::text(&status, service.clock.now()))?;
        Ok(Exit::Found)
    }

    fn logs(&self, lines: usize) -> Result<Exit, Error> {
        let place = self.place()?;
        let Ok(lines) = daemon::log::last(&place.log, lines) else {
            output::complain("loci: there is no log yet\n");
            return Ok(Exit::Nothing);
        };
        output::say(&lines.iter().flat_map(|line| [line, "\n"]).collect::<String>())?;
        Ok(if lines.is_empty() { Exit::Nothing } else { Exit::Found })
    }

    fn unit(&self) -> unit::Unit {
        let config = self.places.xdg("XDG_CONFIG_HOME", ".config");
        let path = service::env::text(&self.places, "PATH").unwrap_or_else(|| "/usr/bin:/bin".to_string());
        if cfg!(target_os = "macos") {
            unit::launchd(&exe(), &self.places.home, &path)
        } else {
            unit::systemd(&exe(), &config, &path)
        }
    }

    fn install(&self, dry: bool) -> Result<Exit, Error> {
        let unit = self.unit();
        let failed = |e: std::io::Error| Error::new(Code::ReadError, format!("{}: {e}", unit.path.display()));
        if !dry {
            std::fs::create_dir_all(unit.path.parent().unwrap_or(&unit.path)).map_err(failed)?;
            std::fs::write(&unit.path, &unit.text).map_err(failed)?;
        }
        let head = if dry { "would write" } else { "wrote" };
        let text = format!("{head} {}:\n\n{}\nThen type: {}", unit.path.display(), unit.text, unit.enable);
        self.say(
            &json!({"path": unit.path, "text": unit.text, "enable": unit.enable, "dry_run": dry}),
            &text,
        )?;
        Ok(Exit::Found)
    }

    fn uninstall(&self, dry: bool) -> Result<Exit, Error> {
        let unit = self.unit();
        let there = unit.path.is_file();
        if there && !dry {
            let failed =
                |e: std::io::Error| Error::new(Code::ReadError, format!("{}: {e}", unit.path.display()));
            std::fs::remove_file(&unit.path).map_err(failed)?;
        }
        let text = match (there, dry) {
            (false, _) => "nothing is installed".to_string(),
            (true, true) => format!("would remove {}; first type: {}", unit.path.display(), unit.disable),
            (true, false) => format!("removed {}; to end it now: {}", unit.path.display(), unit.disable),
        };
        self.say(
            &json!({"path": unit.path, "removed": there && !dry, "disable": unit.disable, "dry_run": dry}),
            &text,
        )?;
        Ok(if there { Exit::Found } else { Exit::Nothing })
    }

    fn serve(&self, stay: bool) -> Result<Exit, Error> {
        let place = self.place()?;
        let set = config::Daemon::read(&self.places)?;
        let settings = daemon::Settings {
            version: VERSION.to_string(),
            clock: Clock::System,
            idle_exit: if stay { Duration::MAX } else { set.idle_exit() },
            exe: exe(),
            poll: set.poll(),
            tell: self.places.vars.get("NOTIFY_SOCKET").cloned(),
        };
        let (poke, runs) = (Poke::default(), Runs::default());
        let counter = Arc::new(Counter {
            places: self.places.clone(),
            poke: poke.clone(),
            asked_in: Mutex::default(),
            runs: runs.clone(),
        });
        let keeper = Box::new(Housekeeping { places: self.places.clone() });
        let porter =
            Box::new(Errands { places: self.places.clone(), poke: poke.clone(), runs: runs.clone() });
        let ended = daemon::run(&place, counter, (keeper, porter), &poke, &settings);
        runs.stop.store(true, Relaxed);
        match ended {
            // Whoever has it stay starts it again only if it failed.
            Ok(Ended::Replaced) if stay => Ok(Exit::Failed),
            // Another one serves: that is what was wanted.
            Ok(_) => Ok(Exit::Found),
            Err(error) => Err(Error::new(Code::ReadError, error.to_string())
                .hint("commands work without the daemon; remove what stands there and start it again")),
        }
    }
}

fn wait(longest: Duration, done: impl Fn() -> bool) -> bool {
    let until = Instant::now() + longest;
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

fn shown_status(told: &Value) -> String {
    if told["running"] != true {
        return "no daemon runs; commands work without it (`loci daemon start`)".to_string();
    }
    let mut lines = vec![format!(
        "running: process {}, version {}, for {} s",
        told["pid"],
        told["version"].as_str().unwrap_or("?"),
        told["uptime_seconds"].as_u64().unwrap_or(0)
    )];
    if let Some(trouble) = told["trouble"].as_str() {
        return format!("{}\ntrouble: {trouble}", lines[0]);
    }
    lines.push(format!("socket: {}", told["socket"].as_str().unwrap_or_default()));
    lines.push(format!(
        "watches {} folders, polls {}; lost count {} times; brought the index up to date {} times",
        told["watched"], told["polled"], told["overflows"], told["caught_up"]
    ));
    lines.push(format!(
        "answered {} calls, {} of them with an error; {} run or wait",
        told["calls"], told["failed"], told["in_flight"]
    ));
    lines.extend(told["methods"].as_object().into_iter().flatten().map(|(name, took)| times(name, took)));
    lines.join("\n")
}

/// How long an operation took, as far as that is counted: in powers of two.
fn times(name: &str, took: &Value) -> String {
    let many = if took["calls"] == 1 { "call" } else { "calls" };
    format!(
        "  {name}: {} {many}, half within {} ms, all but one in twenty within {} ms",
        took["calls"], took["p50_ms"], took["p95_ms"]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_sees_how_long_each_operation_took() {
        let told = json!({
            "running": true, "pid": 7, "calls": 3, "failed": 0, "in_flight": 1,
            "methods": {"status": {"calls": 3, "p50_ms": 0.5, "p95_ms": 2.0}},
        });
        let shown = shown_status(&told);
        assert!(shown.contains("3 calls, 0 of them with an error; 1 run or wait"), "{shown}");
        assert!(shown.ends_with("status: 3 calls, half within 0.5 ms, all but one in twenty within 2.0 ms"));
    }
}
