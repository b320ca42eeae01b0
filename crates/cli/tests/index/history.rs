//! A small generated history of several agents that can grow. It has entries of every kind, and every session contains
//! words that occur nowhere else.

use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use testutil::{ALPHA, BETA, Home, Rollout, Session, write_file};

/// A deterministic pseudo-random number generator.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound.max(1)
    }
}

/// A made-up word that encodes a number and that no stemmer changes.
pub(crate) fn needle(n: usize) -> String {
    let letters = b"bcdfghkmpz";
    let digits = format!("{n:04}");
    let word: String = digits.bytes().map(|d| char::from(letters[usize::from(d - b'0')])).collect();
    format!("qu{word}ox")
}

/// A session and the number of its lines that are in its file.
pub(crate) struct GrowingSession {
    pub(crate) session: Session,
    pub(crate) path: PathBuf,
    written: usize,
}

impl GrowingSession {
    pub(crate) fn new(home: &Home, session: Session) -> GrowingSession {
        let path = home.add(&session);
        GrowingSession { written: session.lines.len(), path, session }
    }

    /// Appends the lines that were added to the session since the last call.
    pub(crate) fn flush(&mut self) {
        let text: String =
            self.session.lines[self.written..].iter().map(|line| format!("{line}\n")).collect();
        append(&self.path, text.as_bytes());
        self.written = self.session.lines.len();
    }
}

pub(crate) fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

pub(crate) struct History {
    pub(crate) home: Home,
    pub(crate) growing: Vec<GrowingSession>,
    pub(crate) needles: Vec<String>,
    session_count: usize,
    has_damage: bool,
}

impl History {
    /// `scale` Claude Code sessions with forks and subagents, and a few sessions of each other agent.
    pub(crate) fn new(scale: usize) -> History {
        History::filled(scale, false)
    }

    /// The same with damaged lines.
    pub(crate) fn damaged(scale: usize) -> History {
        History::filled(scale, true)
    }

    fn filled(scale: usize, has_damage: bool) -> History {
        let (growing, needles) = (Vec::new(), Vec::new());
        let mut history = History { home: Home::new(), growing, needles, session_count: 0, has_damage };
        for n in 0..scale {
            history.add_session();
            if n % 5 == 0 {
                history.add_fork(n);
            }
            if n % 7 == 0 {
                history.add_subagent();
            }
        }
        for n in 0..scale.div_ceil(5) {
            history.add_codex_session(n);
        }
        for n in 0..scale.div_ceil(10) {
            history.add_gemini_session(n);
        }
        history.add_chatwise_sessions();
        history
    }

    /// A word that does not occur in the history yet.
    pub(crate) fn new_needle(&mut self) -> String {
        self.needles.push(needle(self.needles.len()));
        self.needles.last().unwrap().clone()
    }

    /// Adds a Claude Code session.
    pub(crate) fn add_session(&mut self) {
        let (n, word, other) = (self.session_count, self.new_needle(), self.new_needle());
        self.session_count += 1;
        let start = format!("2026-03-{:02}T{:02}:{:02}:00Z", 1 + n / 100 % 28, n / 10 % 24, n % 60);
        let cwd = if n % 3 == 0 { BETA } else { ALPHA };
        let mut session = Session::new(&format!("{n:08x}-0000-4000-8000-000000000000"), cwd, &start);
        session
            .prompt(&format!("Please look into the {word} of part {n}"))
            .reply(&["I will look.", "Reading."]);
        session.did("Read", json!({"file_path": format!("{cwd}/src/main.rs")}), "fn main() {}");
        session.did("Edit", json!({"file_path": format!("{cwd}/src/part{n}.rs"), "old_string": "a"}), &other);
        if n % 4 == 0 {
            session.failed("Bash", json!({"command": "make"}), &format!("Exit code 2\nmake: error {n}"));
        }
        if n % 6 == 0 {
            session.wait_minutes(7).api_error("overloaded").prompt("go on");
        }
        if self.has_damage && n % 9 == 0 {
            session.raw_line("{\"this line\": is damaged");
        }
        session.reply(&[&format!("Part {n} is done.")]);
        if n % 8 == 0 {
            session.call("Bash", json!({"command": format!("sleep {n}")}));
        }
        let growing = GrowingSession::new(&self.home, session);
        self.growing.push(growing);
    }

    /// Continues a session in a new file that repeats its history under a new session ID.
    pub(crate) fn add_fork(&mut self, n: usize) {
        let original = &self.growing[n.min(self.growing.len() - 1)].session;
        let (mut fork, old) = (original.clone(), original.id.clone());
        fork.id = format!("{}f-{:03}-4000-8000-000000000000", &old[..8], self.session_count % 1000);
        let renamed = |line: &String| {
            line.replace(&format!("\"sessionId\":\"{old}\""), &format!("\"sessionId\":\"{}\"", fork.id))
        };
        fork.lines = original.lines.iter().map(renamed).collect();
        self.session_count += 1;
        let word = self.new_needle();
        fork.wait_minutes(3).prompt(&format!("A fork about {word}")).reply(&["It forks."]);
        let growing = GrowingSession::new(&self.home, fork);
        self.growing.push(growing);
    }

    fn add_subagent(&mut self) {
        let word = self.new_needle();
        let parent = &self.growing[self.growing.len() - 1].session;
        let mut agent = parent.subagent(&format!("ace{}", self.session_count));
        agent.prompt(&format!("Look around for {word}")).did("Grep", json!({"pattern": "x"}), "none");
        agent.reply(&["Nothing."]);
        let growing = GrowingSession::new(&self.home, agent);
        self.growing.push(growing);
    }

    fn add_codex_session(&mut self, n: usize) {
        let word = self.new_needle();
        let start = format!("2026-04-01T10:{:02}:00Z", n % 60);
        let mut rollout = Rollout::new(&format!("cccc{n:04x}-0000-4000-8000-000000000000"), ALPHA, &start);
        rollout.prompt(&format!("Codex, find {word}")).did("call_1", "ls", 0).did("call_2", "cat gone", 1);
        rollout.reply("Listed.");
        self.home.add_codex(&rollout);
    }

    fn add_gemini_session(&mut self, n: usize) {
        let word = self.new_needle();
        let path = format!(".gemini/tmp/proj/chats/session-2026-04-02T10-{:02}-{n:08x}.json", n % 60);
        write_file(&self.home.path().join(path), gemini_transcript(n, &word).to_string().as_bytes());
    }

    fn add_chatwise_sessions(&mut self) {
        let folder = self.home.path().join(".config/app.chatwise");
        fs::create_dir_all(&folder).unwrap();
        let connection = db::Connection::open(folder.join("app.db")).unwrap();
        connection
            .execute_batch(
                "create table chat(id text primary key, title text, model text, assistantId text, createdAt integer,
                    lastReplyAt integer, agentOptions text);
                create table message(id text primary key, chatId text, role text, content text, reasoningContent text,
                    model text, files text, meta text, createdAt integer);",
            )
            .unwrap();
        for n in 0..3 {
            let at = 1_774_699_523_000_i64 + n * 100_000;
            let word = self.new_needle();
            connection
                .execute_batch(&format!(
                    "insert into chat values ('chat{n}', 'Talk {n}', 'gpt-x', null, {at}, {at}, null);
                    insert into message values ('m{n}', 'chat{n}', 'user', 'What of {word}?', null, null, null, null, {at});
                    insert into message values ('r{n}', 'chat{n}', 'assistant', 'Much.', null, 'gpt-x', null, null, {at});"
                ))
                .unwrap();
        }
    }

    /// Adds a turn to one of the Claude Code sessions and returns the new word in it.
    pub(crate) fn grow_session(&mut self, n: usize) -> String {
        let word = self.new_needle();
        let growing = &mut self.growing[n];
        growing.session.wait_minutes(1).prompt(&format!("And now the {word}"));
        growing.session.did("Bash", json!({"command": format!("echo {n}")}), "ok").reply(&["Again."]);
        growing.flush();
        word
    }

    /// Search terms: words that many sessions contain, then all needles.
    pub(crate) fn search_terms(&self) -> Vec<String> {
        let common = ["\"part done\"", "overloaded", "make error", "damaged", "forks", "main.rs"];
        common.iter().map(|s| s.replace('"', "")).chain(self.needles.iter().cloned()).collect()
    }
}

/// A Gemini CLI transcript of one prompt and one reply.
pub(crate) fn gemini_transcript(n: usize, word: &str) -> Value {
    let at = format!("2026-04-02T10:{:02}:00.000Z", n % 60);
    json!({
        "sessionId": format!("eeee{n:04x}-0000-4000-8000-000000000000"), "projectHash": "00", "startTime": at,
        "lastUpdated": at, "messages": [
            {"id": format!("g{n}-1"), "timestamp": at, "type": "user", "content": format!("Gemini, where is {word}?")},
            {"id": format!("g{n}-2"), "timestamp": at, "type": "gemini", "content": "Here.", "model": "gemini-3",
             "tokens": {"input": 10, "output": 2, "cached": 0, "thoughts": 0, "tool": 0, "total": 12}},
        ],
    })
}
