//! A home with a few sessions in it, a model in its configuration, and `loci` run there.

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
pub(crate) fn session(id: &str, cwd: &str, start: &str, about: &str) -> Session {
    let mut session = Session::new(id, cwd, start);
    session.prompt(&format!("make the {about} smaller")).reply(&["I looked at it first."]);
    session.prompt(&format!("we decided to keep the {about} in pages")).reply(&["Done."]);
    session
}

impl Fixture {
    pub(crate) fn new(settings: &str) -> Fixture {
        let fixture = Fixture { home: Home::new() };
        fixture.configure(settings);
        fixture.home.add(&session(FIRST, ALPHA, "2026-03-01T10:00:00Z", "parser"));
        fixture.home.add(&session(SECOND, ALPHA, "2026-03-02T10:00:00Z", "index"));
        fixture.home.add(&session(THIRD, BETA, "2026-03-03T10:00:00Z", "report"));
        fixture
    }

    /// With a model behind a scripted server.
    pub(crate) fn with(server: &Server, more: &str) -> Fixture {
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

    /// The one answer of an operation, which must end so.
    #[track_caller]
    pub(crate) fn answer(&self, line: &str, code: i32) -> Value {
        self.run(&format!("{line} -o json")).expect(code).records().remove(0)
    }

    /// Consolidates and gives what became of the model.
    #[track_caller]
    pub(crate) fn consolidate(&self, more: &str, code: i32) -> Value {
        self.answer(&format!("memory consolidate {more}"), code)["model"].clone()
    }

    /// Lets what waits be due at once, as if its time had come.
    pub(crate) fn let_time_pass(&self) {
        self.change("update job set due = 0, lease_until = min(lease_until, 1)");
        self.change("delete from door");
    }

    pub(crate) fn has_jobs(&self) -> bool {
        db::Connection::open(self.ledger()).unwrap().prepare("select * from job").is_ok()
    }

    /// One number of the ledger.
    pub(crate) fn read(&self, sql: &str) -> i64 {
        db::Connection::open(self.ledger()).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub(crate) fn change(&self, sql: &str) {
        db::Connection::open(self.ledger()).unwrap().execute_batch(sql).unwrap();
    }
}

/// A daemon at work in the home; it ends with the test.
pub(crate) struct Served<'d> {
    fixture: &'d Fixture,
    child: Child,
}

impl Fixture {
    /// Where a daemon lies, and is asked.
    pub(crate) fn beside_daemon(&self) -> [(&'static str, String); 2] {
        let run = self.path("run");
        std::fs::create_dir_all(&run).unwrap();
        [("LOCI_DAEMON", "use".to_string()), ("XDG_RUNTIME_DIR", run.to_string_lossy().into_owned())]
    }

    fn quietly(&self, line: &str) -> Command {
        let mut command = self.command(line);
        command.envs(self.beside_daemon()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn serve(&self) -> Served<'_> {
        let child = self.quietly("daemon run").spawn().unwrap();
        wait_for(|| self.quietly("daemon status").status().unwrap().success());
        Served { fixture: self, child }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let _ = self.fixture.quietly("daemon stop").status();
        let _ = self.child.wait();
    }
}

/// Generous: a machine may be busy with everything else.
#[track_caller]
pub(crate) fn wait_for(happened: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !happened() {
        assert!(Instant::now() < until, "it did not happen within a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What a good model says of such a session.
pub(crate) fn good(name: &str) -> Value {
    json!({
        "session_name": name,
        "tags": ["paging", "refactor"],
        "summary": "Something was made smaller. It is kept in pages.",
        "facts": [{"text": format!("It is kept in pages: {name}"), "evidence": ["m3"], "symbols": ["pages.rs"]}],
    })
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}
