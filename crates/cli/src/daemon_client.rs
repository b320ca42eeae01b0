//! Whether a command asks the daemon or does its work itself. The answer is the same: the daemon runs the same operation
//! over the same files, as seen from where it was asked.
//!
//! Does not know what is asked.

use api::{AnyResponse, Envelope, Error, Operation, Tool, View};
use daemon::client::Lost;
use daemon::{Client, Holder, Homes, Meta, Place, Unreached};
use serde_json::{Map, Value, json};
use service::{DaemonPaths, Ending, Places, Service};
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What is about this very process and its machine is never asked of another; nor what may need a model's key, which lies in
/// the environment of whoever asks.
const ALONE: &[&str] = &["setup", "doctor", "status", "consolidate", "write_notes", "investigate"];

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the daemon of these places would be; none without a home.
pub(crate) fn place(places: &Places) -> Option<Place> {
    let at = DaemonPaths::of(places)?;
    Some(Place::of(Homes { runtime: at.runtime.as_deref(), state: &at.state, data: &at.data }))
}

/// Whether a daemon may be asked, and whether one may be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    Off,
    Use,
    Start,
}

pub(crate) fn wish(places: &Places) -> Wish {
    let word = service::env::text(places, "LOCI_DAEMON").unwrap_or_default().to_lowercase();
    match word.as_str() {
        "" | "start" => Wish::Start,
        "off" | "0" | "no" => Wish::Off,
        // What is not understood starts nothing.
        _ => Wish::Use,
    }
}

/// The daemon, if there is one that can be asked.
pub(crate) fn reach(places: &Places) -> Option<Client> {
    if wish(places) == Wish::Off {
        return None;
    }
    let place = place(places)?;
    match Client::connect(&place) {
        // In another time zone, its days are others.
        Ok(client) if client.version == VERSION => Some(client).filter(|it| it.zone == record::told_zone()),
        // Of another version: it may answer otherwise than this program would.
        Ok(client) => upgraded(client),
        Err(Unreached::Other { .. } | Unreached::Absent | Unreached::Silent) => None,
    }
}

/// An older one is asked to make room; until the next is started, commands work alone.
fn upgraded(mut client: Client) -> Option<Client> {
    if is_newer(VERSION, &client.version) {
        let _ = client.call("drain", Map::new(), &Meta::default(), &mut |_, _| true);
    }
    None
}

fn is_newer(one: &str, other: &str) -> bool {
    let parts =
        |version: &str| -> Vec<u64> { version.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
    parts(one) > parts(other)
}

/// The daemon, started if there is none. How long it may take to be there: then the work is done without it.
pub(crate) fn reach_or_start(places: &Places, exe: &Path) -> Option<Client> {
    if let Some(client) = reach(places) {
        return Some(client);
    }
    if wish(places) != Wish::Start || !start(exe) {
        return None;
    }
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        if let Some(client) = reach(places) {
            return Some(client);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Starts a daemon and does not wait for it to be there. What it is started by goes at once, so that it is nobody's child.
pub(crate) fn start(exe: &Path) -> bool {
    starting(exe).status().is_ok_and(|status| status.success())
}

/// The same, without waiting even for that.
pub(crate) fn spawn(exe: &Path) {
    let _ = starting(exe).spawn();
}

fn starting(exe: &Path) -> Command {
    let mut command = Command::new(exe);
    command.args(["daemon", "run", "--detach"]).current_dir("/");
    // The session that happens to start it is not the one that asks later.
    command.env_remove("CLAUDE_CODE_SESSION_ID").env_remove("CLAUDE_PROJECT_DIR");
    // Nor is it the service that this process may be.
    command.env_remove("NOTIFY_SOCKET").env_remove("WATCHDOG_USEC").env_remove("WATCHDOG_PID");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// From where something is asked; none where that cannot be said in JSON, or should not be answered by another process.
pub(crate) fn meta(service: &Service) -> Option<Meta> {
    if !service.masked {
        return None;
    }
    let one = |(name, value): (&&'static str, &std::ffi::OsString)| {
        Some(((*name).to_string(), value.to_str()?.to_string()))
    };
    let vars: Option<BTreeMap<String, String>> = service.places.vars.iter().map(one).collect();
    if vars.iter().flatten().any(|(name, value)| is_relative(name, value)) || !service.cwd.is_absolute() {
        return None;
    }
    let cwd = service.cwd.to_str().map(|_| service.cwd.clone())?;
    Some(Meta { cwd: Some(cwd), vars: Some(vars?), threads: Some(service.threads), ..Meta::default() })
}

/// Seen from where the daemon runs, it would be another place. Some name several.
fn is_relative(name: &str, value: &str) -> bool {
    let is_place = ["HOME", "_DIR", "_PATH", "LOCI_PRICES"].iter().any(|end| name.ends_with(end));
    is_place && value.split([':', ',']).any(|one| !one.is_empty() && !one.starts_with('/'))
}

/// A message has its key before anybody is asked to take it: asked again elsewhere, it is the same message.
pub(crate) fn keyed(name: &str, params: &mut Map<String, Value>) {
    if service::STARTS.contains(&name) && !params.contains_key("key") {
        params.extend(service::token().ok().map(|key| ("key".to_string(), Value::from(key))));
    }
}

/// Asks the daemon for an operation. None: there is none, or it went away.
pub(crate) fn ask(
    service: &Service,
    operation: &'static Operation,
    params: &Map<String, Value>,
) -> Option<Result<AnyResponse, Error>> {
    if ALONE.contains(&operation.name) {
        return None;
    }
    let sent = told(service, operation.name, params, &Meta { progress: true, ..meta(service)? })?;
    Some(sent.and_then(|sent| api::read_response(operation, sent)))
}

/// What the daemon answers, or refuses; what it tells meanwhile is how far it is.
fn told(
    service: &Service,
    name: &str,
    params: &Map<String, Value>,
    meta: &Meta,
) -> Option<Result<Value, Error>> {
    let mut client = reach_for(service, name)?;
    match client.call(name, params.clone(), meta, &mut |what, told| heard(service, what, told)) {
        Ok(sent) => Some(Ok(sent)),
        Err(Lost::Refused(error)) => Some(Err(error)),
        Err(Lost::Gone) => None,
    }
}

fn reach_for(service: &Service, name: &str) -> Option<Client> {
    if service::STARTS.contains(&name) {
        return reach_or_start(&service.places, &service.exe);
    }
    reach(&service.places)
}

/// How far it is; and whether it is still wanted.
fn heard(service: &Service, what: &str, told: &Value) -> bool {
    let progress = &service.progress;
    if what == "progress" {
        progress.files.store(told["files"].as_u64().unwrap_or(0), Relaxed);
        progress.of.store(told["of"].as_u64().unwrap_or(0), Relaxed);
    }
    !progress.stopped()
}

/// Asks the daemon what a tool would answer an agent. None: there is none, or it went away.
pub(crate) fn ask_tool(
    service: &Service,
    tool: &'static Tool,
    params: &Map<String, Value>,
) -> Option<Result<Envelope, Error>> {
    let sent = told(service, tool.name, params, &Meta { envelope: true, progress: true, ..meta(service)? })?;
    sent.map(|sent| serde_json::from_value(sent).ok()).transpose()
}

/// A question for records.
pub(crate) struct Asked<'a> {
    pub(crate) view: &'static View,
    pub(crate) params: &'a Map<String, Value>,
    pub(crate) tsv: bool,
}

/// What was told before the daemon went away: whoever goes on alone does not tell it again. Known by what it says, not by its
/// number: agents go on writing meanwhile.
#[derive(Default)]
pub(crate) struct Told(Vec<u64>);

impl Told {
    fn add(&mut self, line: &[u8]) {
        self.0.push(mark(line));
    }

    /// Takes only what has not been told. What was told twice, the same, is left out twice.
    pub(crate) fn rest(self, take: &mut dyn FnMut(&[u8]) -> bool) -> impl FnMut(&[u8]) -> bool {
        let mut left = BTreeMap::<u64, u64>::new();
        for mark in self.0 {
            *left.entry(mark).or_default() += 1;
        }
        move |line: &[u8]| match (left.is_empty(), left.get_mut(&mark(line))) {
            (false, Some(times)) if *times > 0 => {
                *times -= 1;
                true
            }
            _ => take(line),
        }
    }
}

fn mark(line: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(line);
    hasher.finish()
}

/// Asks the daemon for records, which are taken as they come. The error: there is none, or it went away, and this had been told
/// by then. It also goes away from whoever reads too slowly, as a person does who pages through them.
pub(crate) fn ask_view(
    service: &Service,
    asked: &Asked<'_>,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Result<Ending, Error>, Told> {
    let Some(meta) = meta(service) else { return Err(Told::default()) };
    let Some(mut client) = reach(&service.places) else { return Err(Told::default()) };
    let meta = Meta { progress: true, tsv: asked.tsv, ..meta };
    let (mut told, mut enough) = (Told::default(), None);
    let mut notice = |what: &str, said: &Value| {
        let text = if what == "lines" { said["text"].as_str().unwrap_or_default() } else { "" };
        for line in text.split_inclusive('\n') {
            told.add(line.as_bytes());
            if !take(line.as_bytes()) {
                enough = Some(said.clone());
                return false;
            }
        }
        heard(service, what, said)
    };
    match client.call(&asked.view.title(), asked.params.clone(), &meta, &mut notice) {
        Ok(ending) => serde_json::from_value(ending).map(Ok).map_err(|_| told),
        Err(Lost::Refused(error)) => Ok(Err(error)),
        Err(Lost::Gone) => enough.map(|said| Ok(broken_off(&said, told.0.len()))).ok_or(told),
    }
}

/// Whoever reads has enough: what was lost is known all the same, and that there were files.
fn broken_off(said: &Value, printed: usize) -> Ending {
    let figure = |name: &str| said[name].as_u64().unwrap_or(0) as usize;
    let (lost, lost_files) = (figure("lost"), figure("lost_files"));
    Ending { printed: printed as u64, lost, lost_files, files: 1, ..Ending::default() }
}

/// The same as an agent would get it. None: there is no daemon, or it went away.
pub(crate) fn ask_enclosed(
    service: &Service,
    view: &'static View,
    params: &Map<String, Value>,
) -> Option<Result<(Envelope, Ending), Error>> {
    let meta = Meta { envelope: true, progress: true, ..meta(service)? };
    let read = |mut sent: Value| -> Option<(Envelope, Ending)> {
        let envelope = serde_json::from_value(sent["envelope"].take()).ok()?;
        Some((envelope, serde_json::from_value(sent["ending"].take()).ok()?))
    };
    told(service, &view.title(), params, &meta)?.map(read).transpose()
}

pub(crate) fn about(client: &mut Client) -> Value {
    client.call("daemon", Map::new(), &Meta::default(), &mut |_, _| true).unwrap_or_default()
}

/// Whoever is asked how Loci stands asks this.
pub(crate) fn teller(places: &Places) -> Arc<dyn Fn() -> Value + Send + Sync> {
    let place = place(places);
    Arc::new(move || place.as_ref().map_or(Value::Null, standing))
}

/// How many of those that ran before are told of.
const EXITS: usize = 3;

/// What can be said of the daemon from outside.
pub(crate) fn standing(place: &Place) -> Value {
    let holder = Holder::of(place);
    let reached = Client::connect(place);
    let mut told = match &holder {
        None => json!({"running": false}),
        Some(holder) => json!({"running": true, "pid": holder.pid, "version": holder.version}),
    };
    told["socket"] = json!(place.socket);
    told["log"] = json!(place.log);
    told["exits"] = json!(daemon::log::exits(&place.log, EXITS, holder.is_some()));
    match reached {
        Ok(mut client) => {
            if let (Value::Object(told), Value::Object(about)) = (&mut told, about(&mut client)) {
                told.extend(about);
            }
        }
        Err(Unreached::Other { version }) => {
            told["trouble"] = json!(format!("it is of version {version}, this is {VERSION}"));
        }
        Err(_) if holder.is_some() => told["trouble"] = json!("it does not answer"),
        Err(_) => {}
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_not_told_again_whatever_came_in_between() {
        let mut told = Told::default();
        for line in ["a", "b", "b"] {
            told.add(line.as_bytes());
        }
        let mut rest = Vec::new();
        let mut take = |line: &[u8]| {
            rest.push(String::from_utf8_lossy(line).into_owned());
            true
        };
        {
            let mut take = told.rest(&mut take);
            for line in ["new", "a", "b", "a", "b", "b", "c"] {
                assert!(take(line.as_bytes()));
            }
        }
        assert_eq!(rest, ["new", "a", "b", "c"]);
    }

    #[test]
    fn a_place_seen_from_elsewhere_is_another_one() {
        for (name, value, relative) in [
            ("CLAUDE_CONFIG_DIR", "/a:b/c", true),
            ("CLAUDE_CONFIG_DIR", "/a,/b", false),
            ("CHATWISE_DB_PATH", "app.db", true),
            ("XDG_DATA_HOME", "", false),
            ("LOCI_THREADS", "4", false),
        ] {
            assert_eq!(is_relative(name, value), relative, "{name}={value}");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (one, other, newer) in [
            ("0.2.0", "0.1.9", true),
            ("0.10.0", "0.9.0", true),
            ("0.1.0", "0.1.0", false),
            ("0.1.0", "1.0.0", false),
        ] {
            assert_eq!(is_newer(one, other), newer, "{one} {other}");
        }
    }
}
