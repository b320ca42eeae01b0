//! Sends a command to the daemon, or leaves it to this process if there is none. The result is the same either way: the
//! daemon runs the same operation over the same files, with the caller's directory and environment.
//!
//! Does not know what the operations and views do.

use api::{AnyResponse, Envelope, Error, Operation, Tool, View};
use daemon::client::{CONNECT_TIMEOUT, CallError};
use daemon::{BaseDirs, Client, ConnectError, Holder, Meta, RuntimePaths};
use serde_json::{Map, Value, json};
use service::{DaemonPaths, Environment, OutcomeSummary, Service};
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub(crate) const VERSION: &str = crate::version::NUMBER;

/// Paths of the daemon's socket, lock and log; `None` without a home directory.
pub(crate) fn runtime_paths(places: &Environment) -> Option<RuntimePaths> {
    let at = DaemonPaths::of(places)?;
    Some(RuntimePaths::from_base_dirs(BaseDirs {
        runtime: at.runtime.as_deref(),
        state: &at.state,
        data: &at.data,
    }))
}

/// `LOCI_DAEMON`: whether to use a running daemon, and whether to start one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DaemonMode {
    Off,
    Use,
    Start,
}

pub(crate) fn daemon_mode(places: &Environment) -> DaemonMode {
    let word = service::env::text_var(places, "LOCI_DAEMON").unwrap_or_default().to_lowercase();
    match word.as_str() {
        "" | "start" => DaemonMode::Start,
        "off" | "0" | "no" => DaemonMode::Off,
        // An unknown value never starts a daemon.
        _ => DaemonMode::Use,
    }
}

/// Connects to the running daemon. `None` if there is none, or it may give a different result.
pub(crate) fn connect_to_daemon(places: &Environment) -> Option<Client> {
    if daemon_mode(places) == DaemonMode::Off {
        return None;
    }
    let place = runtime_paths(places)?;
    match Client::connect(&place) {
        // In another time zone its days begin at other times.
        Ok(client) if client.version == VERSION => Some(client).filter(|it| it.zone == record::tz_override()),
        // Another version may return different results.
        Ok(client) => drain_older_daemon(client),
        Err(
            ConnectError::ProtocolMismatch { .. } | ConnectError::NotRunning | ConnectError::NotResponding,
        ) => None,
    }
}

/// Asks an older daemon to exit. Until a new one is started, commands run in their own process.
fn drain_older_daemon(mut client: Client) -> Option<Client> {
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

/// Connects to the daemon and starts one if there is none. After a timeout of two seconds, the caller goes on without it: one that
/// hangs in the handshake has used them up.
pub(crate) fn connect_or_start(places: &Environment, exe: &Path) -> Option<Client> {
    let until = Instant::now() + CONNECT_TIMEOUT;
    if let Some(client) = connect_to_daemon(places) {
        return Some(client);
    }
    if daemon_mode(places) != DaemonMode::Start || Instant::now() >= until || !start_daemon(exe) {
        return None;
    }
    while Instant::now() < until {
        if let Some(client) = connect_to_daemon(places) {
            return Some(client);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Starts a daemon without waiting until it accepts connections. The intermediate process exits at once, so the daemon is not
/// a child of this process.
pub(crate) fn start_daemon(exe: &Path) -> bool {
    detach_command(exe).status().is_ok_and(|status| status.success())
}

/// Like [`start_daemon`], without waiting for the intermediate process either.
pub(crate) fn spawn_daemon(exe: &Path) {
    let _ = detach_command(exe).spawn();
}

fn detach_command(exe: &Path) -> Command {
    let mut command = Command::new(exe);
    command.args(["daemon", "run", "--detach"]).current_dir("/");
    // The session that starts the daemon is not the one that calls it later.
    command.env_remove("CLAUDE_CODE_SESSION_ID").env_remove("CLAUDE_PROJECT_DIR");
    // The daemon is not the systemd service that this process may run in.
    command.env_remove("NOTIFY_SOCKET").env_remove("WATCHDOG_USEC").env_remove("WATCHDOG_PID");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Describes the caller. `None` if that is not representable in JSON, or if the daemon must not handle the call: unmasked output,
/// or relative paths in variables.
pub(crate) fn caller_meta(service: &Service) -> Option<Meta> {
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

/// Whether a variable contains a relative path, which the daemon would resolve differently. Some variables contain lists.
fn is_relative(name: &str, value: &str) -> bool {
    let is_path = ["HOME", "_DIR", "_PATH", "LOCI_PRICES"].iter().any(|end| name.ends_with(end));
    is_path && value.split([':', ',']).any(|one| !one.is_empty() && !one.starts_with('/'))
}

fn needs_daemon(name: &str) -> bool {
    api::operation_named(name).is_some_and(|operation| operation.daemon)
}

/// Adds an idempotency key to a message before the first attempt, so that a retry without the daemon is the same message.
pub(crate) fn add_message_key(name: &str, params: &mut Map<String, Value>) {
    if needs_daemon(name) && !params.contains_key("key") {
        params.extend(service::random_token().ok().map(|key| ("key".to_string(), Value::from(key))));
    }
}

/// Calls an operation on the daemon. `None`: there is no daemon, or it disconnected.
pub(crate) fn call_operation(
    service: &Service,
    operation: &'static Operation,
    params: &Map<String, Value>,
) -> Option<Result<AnyResponse, Error>> {
    if operation.local || runs_indexers(operation, params) {
        return None;
    }
    let result =
        call_daemon(service, operation.name, params, &Meta { progress: true, ..caller_meta(service)? })?;
    Some(result.and_then(|response| api::read_response(operation, response)))
}

/// Indexers are looked for on the path of the caller, and their progress is reported step by step.
fn runs_indexers(operation: &'static Operation, params: &Map<String, Value>) -> bool {
    operation.name == "index_code" && params.get("scip").is_some_and(|scip| *scip == Value::Bool(true))
}

/// Calls a method on the daemon and forwards its progress notifications. `None`: there is no daemon, or it disconnected.
fn call_daemon(
    service: &Service,
    name: &str,
    params: &Map<String, Value>,
    meta: &Meta,
) -> Option<Result<Value, Error>> {
    let mut client = connect_for(service, name)?;
    match client
        .call(name, params.clone(), meta, &mut |method, data| handle_notification(service, method, data))
    {
        Ok(response) => Some(Ok(response)),
        Err(CallError::Failed(error)) => Some(Err(error)),
        Err(CallError::Disconnected) => None,
    }
}

fn connect_for(service: &Service, name: &str) -> Option<Client> {
    if needs_daemon(name) {
        return connect_or_start(&service.places, &service.exe);
    }
    connect_to_daemon(&service.places)
}

/// Handles a progress notification. Returns false if the operation was cancelled.
fn handle_notification(service: &Service, method: &str, data: &Value) -> bool {
    let progress = &service.progress;
    if method == "progress" {
        progress.files.store(data["files"].as_u64().unwrap_or(0), Relaxed);
        progress.of.store(data["of"].as_u64().unwrap_or(0), Relaxed);
    }
    !progress.is_cancelled()
}

/// Calls a tool on the daemon and returns the envelope for the agent. `None`: there is no daemon, or it disconnected.
pub(crate) fn call_tool(
    service: &Service,
    tool: &'static Tool,
    params: &Map<String, Value>,
) -> Option<Result<Envelope, Error>> {
    let result = call_daemon(
        service,
        tool.name,
        params,
        &Meta { envelope: true, progress: true, ..caller_meta(service)? },
    )?;
    result.map(|response| serde_json::from_value(response).ok()).transpose()
}

/// A view to run on the daemon.
pub(crate) struct ViewCall<'a> {
    pub(crate) view: &'static View,
    pub(crate) params: &'a Map<String, Value>,
    pub(crate) tsv: bool,
}

/// Records printed before the daemon disconnected; this process must not print them again. Identified by a hash of the text, not
/// by position: agents keep writing in the meantime.
#[derive(Default)]
pub(crate) struct PrintedRecords(Vec<u64>);

impl PrintedRecords {
    fn add_record(&mut self, line: &[u8]) {
        self.0.push(hash_record(line));
    }

    /// Wraps `take` to skip the records already printed. A record that was printed twice is skipped twice.
    pub(crate) fn skip_printed(self, take: &mut dyn FnMut(&[u8]) -> bool) -> impl FnMut(&[u8]) -> bool {
        let mut left = BTreeMap::<u64, u64>::new();
        for hash in self.0 {
            *left.entry(hash).or_default() += 1;
        }
        move |line: &[u8]| match (left.is_empty(), left.get_mut(&hash_record(line))) {
            (false, Some(times)) if *times > 0 => {
                *times -= 1;
                true
            }
            _ => take(line),
        }
    }
}

fn hash_record(line: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(line);
    hasher.finish()
}

/// Runs a view on the daemon and passes each record to `take` as it arrives. Fails with the records printed so far if there is no
/// daemon or it disconnected. The daemon also disconnects slow readers, such as a person paging through the output.
pub(crate) fn call_view(
    service: &Service,
    asked: &ViewCall<'_>,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Result<OutcomeSummary, Error>, PrintedRecords> {
    let Some(meta) = caller_meta(service) else { return Err(PrintedRecords::default()) };
    let Some(mut client) = connect_to_daemon(&service.places) else { return Err(PrintedRecords::default()) };
    let meta = Meta { progress: true, tsv: asked.tsv, ..meta };
    let (mut printed, mut enough) = (PrintedRecords::default(), None);
    let mut notice = |method: &str, data: &Value| {
        let text = if method == "lines" { data["text"].as_str().unwrap_or_default() } else { "" };
        for line in text.split_inclusive('\n') {
            printed.add_record(line.as_bytes());
            if !take(line.as_bytes()) {
                enough = Some(data.clone());
                return false;
            }
        }
        handle_notification(service, method, data)
    };
    match client.call(&asked.view.title(), asked.params.clone(), &meta, &mut notice) {
        Ok(ending) => serde_json::from_value(ending).map(Ok).map_err(|_| printed),
        Err(CallError::Failed(error)) => Ok(Err(error)),
        Err(CallError::Disconnected) => {
            enough.map(|data| Ok(partial_ending(&data, printed.0.len()))).ok_or(printed)
        }
    }
}

/// Summary of a view whose reader closed the pipe: what could not be read is known so far, and that there were files.
fn partial_ending(data: &Value, printed: usize) -> OutcomeSummary {
    let figure = |name: &str| data[name].as_u64().unwrap_or(0) as usize;
    let (lost, lost_files) = (figure("lost"), figure("lost_files"));
    OutcomeSummary { printed: printed as u64, lost, lost_files, files: 1, ..OutcomeSummary::default() }
}

/// Runs a view on the daemon and returns the envelope for an agent. `None`: there is no daemon, or it disconnected.
pub(crate) fn call_view_envelope(
    service: &Service,
    view: &'static View,
    params: &Map<String, Value>,
) -> Option<Result<(Envelope, OutcomeSummary), Error>> {
    let meta = Meta { envelope: true, progress: true, ..caller_meta(service)? };
    let read = |mut response: Value| -> Option<(Envelope, OutcomeSummary)> {
        let envelope = serde_json::from_value(response["envelope"].take()).ok()?;
        Some((envelope, serde_json::from_value(response["ending"].take()).ok()?))
    };
    call_daemon(service, &view.title(), params, &meta)?.map(read).transpose()
}

pub(crate) fn query_daemon_info(client: &mut Client) -> Value {
    client.call("daemon", Map::new(), &Meta::default(), &mut |_, _| true).unwrap_or_default()
}

/// Returns a function that reads the daemon's status, for `status` and `doctor`.
pub(crate) fn daemon_status_source(places: &Environment) -> Arc<dyn Fn() -> Value + Send + Sync> {
    let place = runtime_paths(places);
    Arc::new(move || place.as_ref().map_or(Value::Null, read_daemon_status))
}

/// Number of earlier daemons whose exit reason is reported.
const REPORTED_EXITS: usize = 3;

/// Status of the daemon as JSON: lock, socket, log and, if it responds, its own figures.
pub(crate) fn read_daemon_status(place: &RuntimePaths) -> Value {
    let holder = Holder::read_current(place);
    let reached = Client::connect(place);
    let mut status = match &holder {
        None => json!({"running": false}),
        Some(holder) => json!({"running": true, "pid": holder.pid, "version": holder.version}),
    };
    status["socket"] = json!(place.socket.to_string_lossy());
    status["log"] = json!(place.log.to_string_lossy());
    status["exits"] = json!(daemon::log::exit_reasons(&place.log, REPORTED_EXITS, holder.is_some()));
    match reached {
        Ok(mut client) => {
            if let (Value::Object(status), Value::Object(about)) =
                (&mut status, query_daemon_info(&mut client))
            {
                status.extend(about);
            }
        }
        Err(ConnectError::ProtocolMismatch { version }) => {
            status["trouble"] = json!(format!("the daemon is version {version}, this is {VERSION}"));
        }
        Err(_) if holder.is_some() => status["trouble"] = json!("the daemon does not respond"),
        Err(_) => {}
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_records_are_skipped_even_if_new_ones_arrive_in_between() {
        let mut printed = PrintedRecords::default();
        for line in ["a", "b", "b"] {
            printed.add_record(line.as_bytes());
        }
        let mut rest = Vec::new();
        let mut take = |line: &[u8]| {
            rest.push(String::from_utf8_lossy(line).into_owned());
            true
        };
        {
            let mut take = printed.skip_printed(&mut take);
            for line in ["new", "a", "b", "a", "b", "b", "c"] {
                assert!(take(line.as_bytes()));
            }
        }
        assert_eq!(rest, ["new", "a", "b", "c"]);
    }

    #[test]
    fn relative_paths_in_variables_are_detected() {
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
    fn versions_are_compared_numerically() {
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
