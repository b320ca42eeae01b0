//! A home with three sessions and a configured model, in which tests run `loci`.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testutil::model_server::Server;
use testutil::{ALPHA, BETA, Finished, Home, Session, write_file};

pub(crate) const FIRST: &str = "aaaa1111-0000-4000-8000-000000000001";
pub(crate) const SECOND: &str = "aaaa2222-0000-4000-8000-000000000002";
pub(crate) const THIRD: &str = "bbbb1111-0000-4000-8000-000000000003";

pub(crate) struct Fixture {
    pub(crate) home: Home,
}

/// A session of four messages.
pub(crate) fn sample_session(id: &str, cwd: &str, start: &str, topic: &str) -> Session {
    let mut session = Session::new(id, cwd, start);
    session.prompt(&format!("make the {topic} smaller")).reply(&["I looked at it first."]);
    session.prompt(&format!("we decided to keep the {topic} in pages")).reply(&["Done."]);
    session
}

impl Fixture {
    pub(crate) fn new(settings: &str) -> Fixture {
        let fixture = Fixture { home: Home::new() };
        fixture.configure(settings);
        fixture.home.add(&sample_session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser"));
        fixture.home.add(&sample_session(SECOND, ALPHA, "2026-03-02T10:00:00Z", "index"));
        fixture.home.add(&sample_session(THIRD, BETA, "2026-03-03T10:00:00Z", "report"));
        fixture
    }

    /// Uses a model behind a scripted server; `more` are further settings.
    pub(crate) fn with_model(server: &Server, more: &str) -> Fixture {
        let base = &server.url;
        Fixture::new(&format!(
            "[model]\nprovider = \"openai\"\nmodel = \"a-model\"\nbase_url = \"{base}\"\n{more}\n"
        ))
    }

    pub(crate) fn configure(&self, settings: &str) {
        write_file(&self.home.path().join(".config/loci/config.toml"), settings.as_bytes());
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path(".local/share/loci/ledger.db")
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let words = testutil::split_words(line);
        testutil::command(self.home.path(), &words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub(crate) fn run(&self, line: &str) -> Finished {
        testutil::run_command(self.command(line))
    }

    /// Runs an operation, which must exit with `code`, and returns its JSON response.
    #[track_caller]
    pub(crate) fn run_json(&self, line: &str, code: i32) -> Value {
        self.run(&format!("{line} -o json")).expect(code).records().remove(0)
    }

    /// Consolidates and returns the `model` part of the response.
    #[track_caller]
    pub(crate) fn consolidate(&self, more: &str, code: i32) -> Value {
        self.run_json(&format!("memory consolidate {more}"), code)["model"].clone()
    }

    /// Makes waiting jobs due now, expires leases and clears the providers' backoff.
    pub(crate) fn make_jobs_due(&self) {
        self.execute_sql("update job set due = 0, lease_until = min(lease_until, 1)");
        self.execute_sql("delete from door");
    }

    pub(crate) fn has_job_table(&self) -> bool {
        db::Connection::open(self.ledger()).unwrap().prepare("select * from job").is_ok()
    }

    /// Queries a single number from the ledger.
    pub(crate) fn query_number(&self, sql: &str) -> i64 {
        db::Connection::open(self.ledger()).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub(crate) fn execute_sql(&self, sql: &str) {
        change_database(&self.ledger(), sql);
    }

    pub(crate) fn execute_memory_sql(&self, sql: &str) {
        change_database(&self.path(".local/share/loci/memory.db"), sql);
    }
}

/// A daemon that runs in the home until it is dropped.
pub(crate) struct RunningDaemon<'d> {
    fixture: &'d Fixture,
    child: Child,
}

impl Fixture {
    /// The environment in which the daemon listens and commands use it.
    pub(crate) fn daemon_environment(&self) -> [(&'static str, String); 2] {
        let run = self.path("run");
        std::fs::create_dir_all(&run).unwrap();
        [("LOCI_DAEMON", "use".to_string()), ("XDG_RUNTIME_DIR", run.to_string_lossy().into_owned())]
    }

    fn silent_command(&self, line: &str) -> Command {
        let mut command = self.command(line);
        command.envs(self.daemon_environment()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn start_daemon(&self) -> RunningDaemon<'_> {
        let child = self.silent_command("daemon run").spawn().unwrap();
        wait_for(|| self.silent_command("daemon status").status().unwrap().success());
        RunningDaemon { fixture: self, child }
    }
}

impl Drop for RunningDaemon<'_> {
    fn drop(&mut self) {
        let _ = self.fixture.silent_command("daemon stop").status();
        let _ = self.child.wait();
    }
}

/// Waits up to a minute, because the machine may be busy.
#[track_caller]
pub(crate) fn wait_for(condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < until, "timed out after a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A valid model response about such a session.
pub(crate) fn valid_response(name: &str) -> Value {
    json!({
        "session_name": name,
        "tags": ["paging", "refactor"],
        "summary": "Something was made smaller. It is kept in pages.",
        "facts": [{"text": format!("Pages have 500 rows: {name}"), "kind": "constraint", "evidence": ["m3"], "replaces": [], "symbols": ["pages.rs"]}],
    })
}

/// Every file below a folder.
pub(crate) fn list_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(list_files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

/// Changes a sealed database as Loci would: its triggers need functions that only Loci has, so that it is sealed again afterwards.
fn change_database(path: &Path, sql: &str) {
    let connection = db::Connection::open(path).unwrap();
    let triggers: Vec<String> = {
        let mut named = connection
            .prepare("select name from sqlite_schema where type = 'trigger' and name like 'loci%'")
            .unwrap();
        let rows = named.query_map([], |row| row.get(0)).unwrap();
        rows.map(|name| name.unwrap()).collect()
    };
    for trigger in triggers {
        connection.execute_batch(&format!("drop trigger \"{trigger}\"")).unwrap();
    }
    connection.execute_batch(sql).unwrap();
    drop(connection);
    db::sealed::accept(path).unwrap();
}
