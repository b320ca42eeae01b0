//! What a source reports while it reads a transcript, and what is kept of it: rows, sessions, coverage.
//!
//! The counting that every agent needs is implemented here once: turns and sequence numbers, joining the
//! blocks of one reply, matching results to calls, giving prompts a key that survives copying, finding
//! abandoned branches. Does not know any agent's format, and keeps no text.

use record::row::{COPIED, SIDECHAIN};
use record::{
    Coverage, Kind, Problem, ProblemKind, Role, Row, RowKind, Session, Stamp, Status, TitleOrigin, Tokens,
    event_key,
};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What the query needs, so that a source can skip the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct SurveyOptions {
    pub messages: bool,
    pub calls: bool,
    /// Read every field of every line, to report unknown ones.
    pub fields: bool,
}

impl SurveyOptions {
    /// Messages and calls.
    pub const ALL: SurveyOptions = SurveyOptions { messages: true, calls: true, fields: false };
}

/// Interned names of tools and models, each with an index.
#[derive(Default)]
pub struct Names(Mutex<Table>);

/// Indexes by name, and names by index.
type Table = (FxHashMap<Arc<str>, u32>, Vec<Arc<str>>);

impl Names {
    pub fn intern(&self, name: &str) -> u32 {
        let Ok(mut table) = self.0.lock() else { return 0 };
        if let Some(n) = table.0.get(name) {
            return *n;
        }
        let (name, n): (Arc<str>, u32) = (Arc::from(name), table.1.len() as u32);
        table.1.push(name.clone());
        table.0.insert(name, n);
        n
    }

    pub fn to_vec(&self) -> Vec<Arc<str>> {
        self.0.lock().map(|table| table.1.clone()).unwrap_or_default()
    }
}

/// One user or assistant entry, as the source read it.
#[derive(Clone, Copy)]
pub struct MessageEntry<'a> {
    pub session: u32,
    pub role: Role,
    pub kind: Kind,
    /// The agent's own ID: `message.id` for a reply (its blocks share it), `uuid` for the rest.
    pub id: &'a [u8],
    pub at: Stamp,
    pub place: u64,
    pub text: &'a [u8],
    pub model: &'a [u8],
    pub tokens: Tokens,
    pub flags: u8,
}

/// The result of a survey besides its rows.
#[derive(Default)]
pub struct SurveyOutcome {
    pub sessions: Vec<Session>,
    /// The first time written in the file: of two sessions that share history, the earlier is the original.
    pub birth: Option<Stamp>,
    /// Turns of the main session that the person rewound, ascending.
    pub abandoned: Vec<u32>,
    /// Coverage by version of the agent.
    pub coverage: Vec<(Arc<str>, Coverage)>,
    pub problems: Vec<Problem>,
}

/// Rows are passed on in batches of this size, so that a file of any size needs bounded memory.
const MAX_BUFFERED_ROWS: usize = 50_000;
/// Maximum length of a title made from the first prompt.
const MAX_TITLE_CHARS: usize = 80;
/// All problems are counted; only this many are described.
const MAX_DESCRIBED_PROBLEMS: usize = 50;

/// Returns the masked text, or None if nothing in it needs masking.
pub type MaskText<'a> = &'a dyn Fn(&str) -> Option<String>;

pub struct Survey<'a> {
    pub options: SurveyOptions,
    pub outcome: SurveyOutcome,
    /// Masks secrets before a title is cut out of a text: half a secret would not be recognised.
    pub mask_text: Option<MaskText<'a>>,
    /// Whether copies of the current entry keep its ID: then no other key is needed to recognise them.
    pub copies_keep_ids: bool,
    /// Texts are what they say, not the inside of a JSON string: a backslash is a backslash.
    pub text_is_decoded: bool,
    file: u32,
    path: &'a Path,
    names: &'a Names,
    emit: &'a mut dyn FnMut(&mut Vec<Row>),
    rows: Vec<Row>,
    counters: Vec<Counter>,
    open_calls: FxHashMap<u64, usize>,
    /// Replies that may continue with further blocks, newest last.
    open_replies: Vec<(u64, usize)>,
    /// User messages whose key depends on the next reply: session, row and hash of the text.
    awaiting_reply: Vec<(u32, usize, u64)>,
    known_names: Vec<(Vec<u8>, u32)>,
    branch: Branches,
    version: Arc<str>,
    coverage: Coverage,
}

#[derive(Clone, Copy, Default)]
struct Counter {
    turn: u32,
    sequence: u32,
}

impl<'a> Survey<'a> {
    pub fn new(
        file: u32,
        path: &'a Path,
        names: &'a Names,
        want: SurveyOptions,
        emit: &'a mut dyn FnMut(&mut Vec<Row>),
    ) -> Survey<'a> {
        Survey {
            options: want,
            outcome: SurveyOutcome::default(),
            mask_text: None,
            copies_keep_ids: false,
            text_is_decoded: false,
            file,
            path,
            names,
            emit,
            rows: Vec::new(),
            counters: Vec::new(),
            open_calls: FxHashMap::default(),
            open_replies: Vec::new(),
            awaiting_reply: Vec::new(),
            known_names: Vec::new(),
            branch: Branches::default(),
            version: Arc::from(""),
            coverage: Coverage { files: 1, ..Coverage::default() },
        }
    }

    // ---- sessions

    pub fn add_session(&mut self, session: Session) -> u32 {
        self.outcome.sessions.push(session);
        self.counters.push(Counter::default());
        self.outcome.sessions.len() as u32 - 1
    }

    pub fn session_mut(&mut self, index: u32) -> &mut Session {
        &mut self.outcome.sessions[index as usize]
    }

    /// Session properties are short and repeat on every line: the first value is kept.
    pub fn set_if_empty(slot: &mut Arc<str>, value: &[u8]) {
        if slot.is_empty() && !value.is_empty() {
            *slot = Arc::from(crate::json::decode_string(value).as_str());
        }
    }

    /// A title from a better source replaces a worse one, a later one replaces an equal one.
    pub fn set_title(&mut self, session: u32, text: &str, origin: TitleOrigin) {
        let rank = |o: TitleOrigin| {
            [TitleOrigin::FirstPrompt, TitleOrigin::Agent, TitleOrigin::Custom].iter().position(|r| *r == o)
        };
        let slot = &mut self.session_mut(session).title;
        let better = slot.as_ref().is_none_or(|(_, old)| {
            rank(origin) > rank(*old) || (origin == *old && origin != TitleOrigin::FirstPrompt)
        });
        let text = text.trim();
        if better && !text.is_empty() {
            *slot = Some((Arc::from(text), origin));
        }
    }

    pub fn record_time(&mut self, session: u32, at: Stamp) {
        if !at.is_some() {
            return;
        }
        self.outcome.birth.get_or_insert(at);
        let session = self.session_mut(session);
        if !session.started_at.is_some() || at < session.started_at {
            session.started_at = at;
        }
        session.ended_at = session.ended_at.max(at);
    }

    pub fn current_turn(&self, session: u32) -> u32 {
        self.counters[session as usize].turn
    }

    // ---- messages

    pub fn add_message(&mut self, entry: MessageEntry<'_>) {
        // The time of a copied entry does not show when this session began.
        if entry.flags & COPIED == 0 {
            self.record_time(entry.session, entry.at);
        }
        match entry.role {
            Role::Assistant => self.add_reply(entry),
            _ => self.add_user_message(entry),
        }
    }

    /// Adds a user entry. Its key is its ID; but if copies of history have new IDs and times, the key is
    /// derived from its text and the ID of the reply that follows, if one does.
    fn add_user_message(&mut self, entry: MessageEntry<'_>) {
        if matches!(entry.kind, Kind::Prompt | Kind::Task) {
            self.counters[entry.session as usize].turn += 1;
            if entry.session == 0 {
                self.branch.start_turn(self.counters[0].turn);
            }
            if entry.kind == Kind::Prompt {
                // Decodes no more than a title can need.
                let head = &entry.text[..entry.text.len().min(8 * MAX_TITLE_CHARS)];
                let head = if self.text_is_decoded {
                    String::from_utf8_lossy(head).into_owned()
                } else {
                    crate::json::decode_string(head)
                };
                let masked = self.mask_text.and_then(|mask| mask(&head)).unwrap_or(head);
                self.set_title(entry.session, &title_from_prompt(&masked), TitleOrigin::FirstPrompt);
            }
        }
        if !self.options.messages {
            self.counters[entry.session as usize].sequence += 1;
            return;
        }
        let row = self.message_row(&entry, event_key(b'u', &[entry.id]));
        self.push_row(row);
        if self.copies_keep_ids {
            return;
        }
        self.awaiting_reply.push((entry.session, self.rows.len() - 1, event_key(b't', &[entry.text])));
    }

    fn add_reply(&mut self, entry: MessageEntry<'_>) {
        let reply = event_key(b'm', &[entry.id]);
        if !self.options.messages {
            return self.count_reply(entry.session, reply);
        }
        let (mut numbers, mut times) = (FxHashMap::default(), FxHashMap::default());
        for (_, row, text) in self.awaiting_reply.extract_if(.., |(session, ..)| *session == entry.session) {
            // The same text typed again before any reply is another message: the number distinguishes them.
            let row = &mut self.rows[row];
            let number: u32 = *numbers.entry((text, row.id)).or_insert_with(|| {
                let times: &mut u32 = times.entry(text).or_default();
                *times += 1;
                *times
            });
            row.key = event_key(b'p', &[&text.to_le_bytes(), entry.id, &number.to_le_bytes()]);
        }
        if let Some((_, index)) = self.open_replies.iter().rev().find(|(k, _)| *k == reply) {
            let row = &mut self.rows[*index];
            row.end = entry.place;
            row.until = row.until.max(entry.at);
            row.lines += 1;
            row.tokens = row.tokens.max(entry.tokens);
            return;
        }
        let row = self.message_row(&entry, reply);
        self.push_row(row);
        self.track_reply(reply, self.rows.len() - 1);
    }

    fn track_reply(&mut self, reply: u64, row: usize) {
        if self.open_replies.len() == 32 {
            self.open_replies.remove(0);
        }
        self.open_replies.push((reply, row));
    }

    /// A call has the same sequence number whether or not the replies around it are wanted.
    fn count_reply(&mut self, session: u32, reply: u64) {
        if !self.open_replies.iter().rev().any(|(known, _)| *known == reply) {
            self.counters[session as usize].sequence += 1;
            self.track_reply(reply, usize::MAX);
        }
    }

    /// Sets a flag on an earlier reply, because a later line shows its purpose. A reply whose row was passed
    /// on already stays as it is.
    pub fn flag_reply(&mut self, id: &[u8], flag: u8) {
        let reply = event_key(b'm', &[id]);
        let open = self.open_replies.iter().rev().find(|(known, _)| *known == reply);
        if let Some(row) = open.and_then(|(_, index)| self.rows.get_mut(*index)) {
            row.flags |= flag;
        }
    }

    fn message_row(&mut self, entry: &MessageEntry<'_>, key: u64) -> Row {
        let counter = &mut self.counters[entry.session as usize];
        counter.sequence += 1;
        let (turn, sequence) = (counter.turn, counter.sequence);
        let name = if entry.model.is_empty() { u32::MAX } else { self.intern_name(entry.model) };
        Row {
            key,
            at: entry.at,
            until: entry.at,
            start: entry.place,
            end: entry.place,
            file: self.file,
            end_file: self.file,
            session: entry.session,
            turn,
            sequence,
            name,
            tokens: entry.tokens,
            id: Row::id_head(entry.id),
            row: RowKind::Message,
            detail: entry.kind as u8,
            flags: entry.flags,
            lines: 1,
        }
    }

    // ---- calls

    pub fn add_call(&mut self, session: u32, id: &[u8], tool: &[u8], at: Stamp, place: u64, flags: u8) {
        if flags & COPIED == 0 {
            self.record_time(session, at);
        }
        if !self.options.calls {
            return;
        }
        let key = event_key(b'c', &[id]);
        if self.open_calls.contains_key(&key) {
            return; // the same call again in one file: a later compaction re-appends history
        }
        let name = self.intern_name(tool);
        let counter = &mut self.counters[session as usize];
        counter.sequence += 1;
        let (turn, sequence) = (counter.turn, counter.sequence);
        self.push_row(Row {
            key,
            at,
            start: place,
            file: self.file,
            session,
            turn,
            sequence,
            name,
            id: Row::id_head(id),
            row: RowKind::Call,
            detail: Status::Pending as u8,
            flags,
            ..Row::default()
        });
        self.open_calls.insert(key, self.rows.len() - 1);
    }

    pub fn add_result(&mut self, id: &[u8], status: Status, at: Stamp, place: u64) {
        if !self.options.calls {
            return;
        }
        let key = event_key(b'c', &[id]);
        if let Some(index) = self.open_calls.get(&key) {
            let row = &mut self.rows[*index];
            if row.end == Row::NO_END {
                (row.end, row.end_file, row.until, row.detail) = (place, self.file, at, status as u8);
            }
            return;
        }
        self.push_row(Row {
            key,
            at,
            until: at,
            start: place,
            end: place,
            file: self.file,
            end_file: self.file,
            id: Row::id_head(id),
            row: RowKind::Result,
            detail: status as u8,
            ..Row::default()
        });
    }

    /// Corrects the status of a call from a later line with better information (an exit code, an event of its
    /// own).
    pub fn set_call_status(&mut self, id: &[u8], status: Status) {
        if let Some(index) = self.open_calls.get(&event_key(b'c', &[id])) {
            self.rows[*index].detail = status as u8;
        }
    }

    /// Adds a row that an earlier survey made and the archive stored, at its position there. Only its file
    /// and the index of its name are new.
    pub fn add_archived_row(&mut self, row: Row, name: Option<&str>) {
        let wanted = if row.row == RowKind::Message { self.options.messages } else { self.options.calls };
        if !wanted {
            return;
        }
        let none = if row.row == RowKind::Result { Row::default().name } else { u32::MAX };
        let name = name.map_or(none, |name| self.intern_with(name.as_bytes(), || name.to_string()));
        let end_file = if row.end == Row::NO_END { Row::default().end_file } else { self.file };
        self.push_row(Row { file: self.file, end_file, name, ..row });
    }

    fn intern_name(&mut self, name: &[u8]) -> u32 {
        self.intern_with(name, || crate::json::decode_string(name))
    }

    fn intern_with(&mut self, name: &[u8], text: impl FnOnce() -> String) -> u32 {
        if let Some((_, n)) = self.known_names.iter().find(|(known, _)| known == name) {
            return *n;
        }
        let text = text();
        let masked = self.mask_text.and_then(|mask| mask(&text));
        let n = self.names.intern(masked.as_ref().unwrap_or(&text));
        self.known_names.push((name.to_vec(), n));
        n
    }

    fn push_row(&mut self, row: Row) {
        if self.rows.len() >= MAX_BUFFERED_ROWS {
            self.flush_rows();
        }
        self.rows.push(row);
    }

    fn flush_rows(&mut self) {
        self.open_calls.clear();
        self.open_replies.clear();
        self.awaiting_reply.clear();
        (self.emit)(&mut self.rows);
        self.rows.clear();
    }

    // ---- branches

    /// Adds an entry of the main session that can be a parent, in file order.
    pub fn add_entry(&mut self, id: &[u8], parent: &[u8], logical_parent: &[u8]) {
        let parent = if parent.is_empty() { logical_parent } else { parent };
        self.branch.add_entry(id, parent);
    }

    // ---- coverage

    /// Sets the agent's version from here on. True if it changed.
    pub fn set_version(&mut self, version: &[u8]) -> bool {
        let another = !version.is_empty() && version != self.version.as_bytes();
        if another {
            self.close_coverage();
            self.version = Arc::from(crate::json::decode_string(version).as_str());
            if let Some(main) = self.outcome.sessions.first_mut() {
                main.version = self.version.clone();
            }
        }
        another
    }

    pub fn coverage_mut(&mut self) -> &mut Coverage {
        &mut self.coverage
    }

    pub fn report_problem(&mut self, kind: ProblemKind, offset: u64, note: &str) {
        match kind {
            ProblemKind::Salvaged => self.coverage.salvaged += 1,
            ProblemKind::BadLine | ProblemKind::LineTooLong => self.coverage.bad += 1,
            ProblemKind::Unfinished => self.coverage.unfinished += 1,
            ProblemKind::Unreadable | ProblemKind::Moved | ProblemKind::Shortened => {}
        }
        let described = self.outcome.problems.len();
        if described <= MAX_DESCRIBED_PROBLEMS || kind == ProblemKind::Unreadable {
            // The last one states that there are more: nothing is omitted silently.
            let note = if described == MAX_DESCRIBED_PROBLEMS {
                "more problems not listed: `loci sources` shows the counts"
            } else {
                note
            };
            let (file, note) = (self.path.to_path_buf(), note.to_string());
            self.outcome.problems.push(Problem { kind, file, offset, note });
        }
    }

    fn close_coverage(&mut self) {
        // Lines counted before the first version was seen belong to that version.
        if self.version.is_empty() {
            return;
        }
        let done = std::mem::take(&mut self.coverage);
        match self.outcome.coverage.iter_mut().find(|(v, _)| *v == self.version) {
            Some((_, sum)) => sum.merge(&done),
            None => self.outcome.coverage.push((self.version.clone(), done)),
        }
    }

    /// Sets a flag on every row not passed on yet: a short file can be judged at its end.
    pub fn flag_buffered_rows(&mut self, flag: u8) {
        for row in &mut self.rows {
            row.flags |= flag;
        }
    }

    pub fn finish(mut self) -> SurveyOutcome {
        if self.version.is_empty() {
            self.version = Arc::from("unknown");
        }
        self.close_coverage();
        // An archived copy has no branches any more, only their result.
        self.outcome.abandoned.extend(self.branch.abandoned_turns());
        // History copied without a flag is older than the first line written to the file.
        if let (Some(birth), Some(main)) = (self.outcome.birth, self.outcome.sessions.first_mut())
            && main.started_at.is_some()
        {
            main.started_at = main.started_at.max(birth).min(main.ended_at.max(birth));
        }
        self.flush_rows();
        self.outcome
    }
}

/// Finds the turns that the person rewound: a turn is active if the last one descends from it.
#[derive(Default)]
struct Branches {
    /// Entries in file order, each with its turn.
    entries: Vec<(u64, u32)>,
    /// The same, by ID, as far as a lookup further back was ever needed.
    index: FxHashMap<u64, u32>,
    indexed: usize,
    /// By turn: the turn its prompt continues, always an earlier one.
    parents: Vec<u32>,
    turn: u32,
    next_turn: Option<u32>,
}

impl Branches {
    fn start_turn(&mut self, turn: u32) {
        self.next_turn = Some(turn);
        self.parents.resize(turn as usize + 1, turn.saturating_sub(1));
    }

    fn add_entry(&mut self, id: &[u8], parent: &[u8]) {
        if let Some(turn) = self.next_turn.take() {
            self.turn = turn;
            // If the parent is missing, later or the turn itself, the turn continues the previous one.
            if let Some(of_parent) = self.turn_of_entry(event_key(b'e', &[parent])).filter(|t| *t < turn) {
                self.parents[turn as usize] = of_parent;
            }
        }
        self.entries.push((event_key(b'e', &[id]), self.turn));
    }

    /// A prompt nearly always continues one of the last few entries; only a rewind looks further back.
    fn turn_of_entry(&mut self, id: u64) -> Option<u32> {
        let near = self.entries.iter().rev().take(64).find(|(e, _)| *e == id);
        if let Some((_, turn)) = near {
            return Some(*turn);
        }
        self.index.extend(self.entries[self.indexed..].iter().copied());
        self.indexed = self.entries.len();
        self.index.get(&id).copied()
    }

    fn abandoned_turns(&self) -> Vec<u32> {
        let last = self.parents.len().saturating_sub(1) as u32;
        let mut alive = vec![false; last as usize + 1];
        let mut turn = last;
        while turn > 0 {
            alive[turn as usize] = true;
            turn = self.parents[turn as usize];
        }
        (1..=last).filter(|t| !alive[*t as usize]).collect()
    }
}

/// The title of a prompt: its first non-empty line, truncated.
pub fn title_from_prompt(prompt: &str) -> String {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    if line.chars().count() <= MAX_TITLE_CHARS {
        return line.to_string();
    }
    let head: String = line.chars().take(MAX_TITLE_CHARS - 1).collect();
    // Cut between words, if there are any.
    let end = head.rfind(char::is_whitespace).filter(|at| *at > head.len() / 2).unwrap_or(head.len());
    head[..end].trim_end().to_string() + "…"
}

/// The row flags of an entry.
pub fn row_flags(copied: bool, sidechain: bool) -> u8 {
    (if copied { COPIED } else { 0 }) | (if sidechain { SIDECHAIN } else { 0 })
}
