//! Imports a file of conversations: validates it, masks its secrets, and writes one file per session to the folder that
//! the source `import` reads.
//!
//! Does not know the records' content beyond what the source says about them.

use crate::History;
use crate::home::{self, Home};
use crate::masker::LazyMasker;
use crate::tombstones::Tombstones;
use api::import::{HistoryImported, ImportChange, ImportedSession};
use api::{Code, Error};
use os::files::OpenOptionsExt;
use record::Session;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::{Value, json};
use sources::conversation::{Conversation, Part};
use sources::event_log::{Class, Item};
use sources::{document, export, import, line_reader};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The name of the source that reads the folder.
const SOURCE: &str = "import";

/// Imports a file, or says what that would do.
pub fn import_file(
    history: &History<'_>,
    home: &Home,
    path: &Path,
    dry_run: bool,
) -> Result<HistoryImported, Error> {
    let mut import = Import::new(history, home, path, dry_run)?;
    let read = match first_byte(path)? {
        Some(b'[') => import.read_list(path),
        Some(b'{') => import.read_lines(path),
        Some(b'P') if is_zip(path) => return Err(zip_error(path)),
        Some(_) => Err(refusal(path, "neither JSON lines nor a list of conversations")),
        None => Err(refusal(path, "the file is empty")),
    };
    let finished = read.and_then(|()| import.finish(path));
    if finished.is_err() {
        import.discard();
    }
    finished
}

/// Whether a session with this ID was imported.
pub fn is_imported(home: &Home, id: &str) -> bool {
    home.imports().join(file_name(id)).symlink_metadata().is_ok()
}

/// Deletes the imported copies of sessions.
pub fn forget_imported<'s>(home: &Home, sessions: impl Iterator<Item = (&'s str, &'s str)>) {
    for (_, id) in sessions.filter(|(source, _)| *source == SOURCE) {
        let path = home.imports().join(file_name(id));
        // A link belongs to the user, like the file behind it.
        if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
            let _ = std::fs::remove_file(path);
        }
    }
}

// ---- what is refused

fn refusal(path: &Path, why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("{}: {why}", path.display()))
        .hint(r#"each line is a record, for example {"type":"message","role":"user","text":"Build it."}"#)
        .hint("`loci import --help` lists the forms; agents that `loci sources` lists need no import")
}

fn zip_error(path: &Path) -> Error {
    let file = api::operation::shell_quote(&path.to_string_lossy());
    Error::new(Code::InvalidArgument, format!("{}: a zip archive", path.display()))
        .hint(format!("unzip {file} conversations.json && loci import conversations.json"))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::ReadError, format!("{}: {error}", path.display()))
        .hint("loci import conversations.json --dry-run")
}

fn open(path: &Path) -> Result<BufReader<File>, Error> {
    line_reader::open_regular(path).map(BufReader::new).map_err(|error| match error {
        sources::Error::Io { error, .. } => unreadable(path, &error),
        other => Error::new(Code::ReadError, other.to_string()),
    })
}

/// The first byte that is neither space nor part of a byte order mark.
fn first_byte(path: &Path) -> Result<Option<u8>, Error> {
    let mut reader = open(path)?;
    let is_skipped = |byte: &u8| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte);
    loop {
        let bytes = reader.fill_buf().map_err(|error| unreadable(path, &error))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if let Some(byte) = bytes.iter().find(|byte| !is_skipped(byte)) {
            return Ok(Some(*byte));
        }
        let length = bytes.len();
        reader.consume(length);
    }
}

fn is_zip(path: &Path) -> bool {
    let mut start = [0; 4];
    open(path).is_ok_and(|mut reader| reader.read_exact(&mut start).is_ok() && start == *b"PK\x03\x04")
}

// ---- one import

/// The sessions of one file, written beside their final place until all of it was read.
struct Import {
    folder: PathBuf,
    /// The ID of a session that has none: the name of the file.
    default_id: String,
    dry_run: bool,
    masker: LazyMasker,
    gone: Tombstones,
    /// The session that records without an ID belong to.
    current: Option<String>,
    /// Messages of the Agent Client Protocol that precede the ID of their session.
    waiting: Vec<Value>,
    sessions: BTreeMap<String, Pending>,
    writer: Option<(String, BufWriter<File>)>,
    forms: Vec<&'static str>,
    done: HistoryImported,
}

/// A session that is being written.
struct Pending {
    /// Its position in the file.
    order: usize,
    session: ImportedSession,
    content: DefaultHasher,
    bytes: u64,
}

impl Import {
    fn new(history: &History<'_>, home: &Home, path: &Path, dry_run: bool) -> Result<Import, Error> {
        let folder = home.imports();
        if !dry_run {
            home::create_private_dir(&folder).map_err(|error| home::unwritable(&folder, &error))?;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Import {
            dry_run,
            default_id: name,
            masker: LazyMasker::new(history.home()),
            gone: Tombstones::read(Some(home))?,
            current: None,
            waiting: Vec::new(),
            sessions: BTreeMap::new(),
            writer: None,
            forms: Vec::new(),
            done: HistoryImported {
                folder: folder.to_string_lossy().into_owned(),
                dry_run,
                ..HistoryImported::default()
            },
            folder,
        })
    }

    /// A list of exported conversations, of which one is in memory at a time.
    fn read_list(&mut self, path: &Path) -> Result<(), Error> {
        let mut failed = None;
        let mut number = 0;
        let mut each = |conversation: Value| {
            number += 1;
            match export::read_conversation(&conversation) {
                Some(exported) => failed = failed.take().or(self.add_exported(exported).err()),
                None => self.done.problems.push(format!("item {number} is not a conversation")),
            }
        };
        let mut reader = serde_json::Deserializer::from_reader(open(path)?);
        let read = reader.deserialize_seq(EachItem(&mut each)).and_then(|()| reader.end());
        if let Err(error) = read {
            self.done.problems.push(format!("the rest cannot be read: {error}"));
        }
        failed.map_or(Ok(()), Err)
    }

    fn read_lines(&mut self, path: &Path) -> Result<(), Error> {
        let mut failed = None;
        let mut counted = Conversation::new(Session::new(SOURCE, ""));
        let read = document::read_records(path, &mut counted, &mut |line, _| {
            if failed.is_none() {
                failed = self.add_line(line).err();
            }
        });
        read.map_err(|error| Error::new(Code::ReadError, error.to_string()))?;
        self.done.problems.extend(counted.problems.into_iter().map(|(_, note)| note));
        failed.map_or(Ok(()), Err)
    }

    fn add_line(&mut self, line: Value) -> Result<(), Error> {
        if let Some(exported) = export::read_conversation(&line) {
            return self.add_exported(exported);
        }
        if import::is_acp(&line) { self.add_acp(line) } else { self.add_record(&line) }
    }

    fn add_exported(&mut self, exported: export::Exported) -> Result<(), Error> {
        self.note_form(exported.origin);
        let id = if exported.session_id.is_empty() { self.unnamed_id() } else { exported.session_id };
        exported.records.iter().try_for_each(|record| self.write(&id, record))
    }

    /// A record of Loci's own form; one that describes a session begins it.
    fn add_record(&mut self, line: &Value) -> Result<(), Error> {
        self.note_form("records");
        let begins = line["type"] == "session";
        let named = line["id"].as_str().filter(|id| begins && !id.is_empty()).map(str::to_string);
        let id = match (named, &self.current) {
            (Some(id), _) => id,
            (None, Some(current)) if !begins => current.clone(),
            (None, _) => self.unnamed_id(),
        };
        if self.current.as_ref() != Some(&id) && line["id"].as_str() != Some(&id) {
            self.write(&id, &json!({"type": "session", "id": id}))?;
        }
        self.current = Some(id.clone());
        self.write(&id, line)
    }

    fn add_acp(&mut self, line: Value) -> Result<(), Error> {
        self.note_form("ACP");
        let Some(id) = import::acp_session(&line) else {
            self.waiting.push(line);
            return Ok(());
        };
        for before in std::mem::take(&mut self.waiting) {
            self.write(&id, &before)?;
        }
        self.current = Some(id.clone());
        self.write(&id, &line)
    }

    fn note_form(&mut self, form: &'static str) {
        if !self.forms.contains(&form) {
            self.forms.push(form);
        }
    }

    /// The name of the file, with a number from the second session on.
    fn unnamed_id(&self) -> String {
        let taken = |id: &String| self.sessions.contains_key(id);
        let numbered = (2..).map(|n| format!("{}-{n}", self.default_id));
        std::iter::once(self.default_id.clone()).chain(numbered).find(|id| !taken(id)).unwrap_or_default()
    }

    fn write(&mut self, id: &str, record: &Value) -> Result<(), Error> {
        let entry = import::inspect_record(record);
        match &entry.class {
            Class::Understood => {}
            Class::Ignored => self.done.ignored += 1,
            Class::Unknown(_) => self.done.unknown += 1,
        }
        let text = record.to_string();
        let text = self.masker.mask_json(&text).into_owned();
        if !self.sessions.contains_key(id) {
            // Of a run that was killed, with the same process ID.
            let _ = std::fs::remove_file(self.staged(id));
        }
        let order = self.sessions.len();
        let pending = self.sessions.entry(id.to_string()).or_insert_with(|| Pending::new(id, order));
        pending.add(&entry, &self.masker);
        pending.content.write(text.as_bytes());
        pending.content.write(b"\n");
        pending.bytes += text.len() as u64 + 1;
        if self.dry_run || self.gone.contains(SOURCE, id) {
            return Ok(());
        }
        let folder = self.folder.clone();
        let written = self.writer_for(id).and_then(|writer| {
            writer.write_all(text.as_bytes())?;
            writer.write_all(b"\n")
        });
        written.map_err(|error| home::unwritable(&folder, &error))
    }

    /// Only one file is open at a time: a stream may have thousands of sessions.
    fn writer_for(&mut self, id: &str) -> std::io::Result<&mut BufWriter<File>> {
        if self.writer.as_ref().is_none_or(|(open, _)| open != id) {
            self.flush()?;
            let path = self.staged(id);
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
            self.writer = Some((id.to_string(), BufWriter::new(file)));
        }
        self.writer.as_mut().map(|(_, writer)| writer).ok_or_else(|| std::io::Error::other("no file"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self.writer.take() {
            Some((_, mut writer)) => writer.flush(),
            None => Ok(()),
        }
    }

    /// Not a name that the source reads.
    fn staged(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{}.{}.partial", file_name(id), std::process::id()))
    }

    /// Puts the sessions in place, if there is anything to read in them.
    fn finish(&mut self, path: &Path) -> Result<HistoryImported, Error> {
        let found = self.sessions.values().any(|one| one.session.messages + one.session.calls > 0);
        if !found {
            let first = self.done.problems.first().map(|why| format!("; {why}")).unwrap_or_default();
            return Err(refusal(path, &format!("no message and no call found{first}")));
        }
        let publish = self.flush().and_then(|()| self.publish());
        publish.map_err(|error| home::unwritable(&self.folder, &error))?;
        let mut sessions: Vec<Pending> = std::mem::take(&mut self.sessions).into_values().collect();
        sessions.sort_by_key(|one| one.order);
        let gone = |one: &Pending| self.gone.contains(SOURCE, &one.session.chat_id);
        self.done.forgotten = sessions.iter().filter(|one| gone(one)).count() as u64;
        sessions.retain(|one| !gone(one));
        self.done.sessions = sessions.into_iter().map(|one| one.session).collect();
        self.done.form = self.forms.join(", ");
        Ok(std::mem::take(&mut self.done))
    }

    fn publish(&mut self) -> std::io::Result<()> {
        let folder = self.folder.clone();
        let staged: Vec<(String, PathBuf)> =
            self.sessions.keys().map(|id| (id.clone(), self.staged(id))).collect();
        for (id, staged) in staged {
            let Some(one) = self.sessions.get_mut(&id) else { continue };
            let there = folder.join(file_name(&id));
            one.session.change = one.compare(&there)?;
            if !staged.exists() {
                continue;
            }
            if one.session.change == ImportChange::Unchanged {
                std::fs::remove_file(&staged)?;
            } else {
                File::open(&staged)?.sync_all()?;
                std::fs::rename(&staged, &there)?;
            }
        }
        Ok(())
    }

    /// Removes what was written beside the final place.
    fn discard(&mut self) {
        self.writer = None;
        for id in self.sessions.keys() {
            let _ = std::fs::remove_file(self.staged(id));
        }
    }
}

impl Pending {
    fn new(id: &str, order: usize) -> Pending {
        let session = ImportedSession { chat_id: id.to_string(), ..ImportedSession::default() };
        Pending { order, session, content: DefaultHasher::new(), bytes: 0 }
    }

    fn add(&mut self, entry: &sources::event_log::Entry, masker: &LazyMasker) {
        for item in &entry.items {
            match item {
                Item::Part(Part::Message { .. }) => self.session.messages += 1,
                Item::Part(Part::Call { .. }) => self.session.calls += 1,
                Item::Result { .. } | Item::Usage { .. } => {}
            }
        }
        if let Some((title, _)) = &entry.session.title {
            self.session.title = masker.mask_text(&api::terminal_text::one_line(title)).into_owned();
        }
    }

    /// Compares it with what was imported before.
    fn compare(&self, there: &Path) -> std::io::Result<ImportChange> {
        let mut file = match File::open(there) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(ImportChange::New),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() != self.bytes {
            return Ok(ImportChange::Changed);
        }
        let (mut hasher, mut buffer) = (DefaultHasher::new(), vec![0; 64 << 10]);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                length => hasher.write(&buffer[..length]),
            }
        }
        let same = hasher.finish() == self.content.finish();
        Ok(if same { ImportChange::Unchanged } else { ImportChange::Changed })
    }
}

/// A name that is safe on every file system, and different for different sessions, also where case does not count.
fn file_name(id: &str) -> String {
    if is_portable(id) {
        return format!("{id}.jsonl");
    }
    let is_safe = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    let safe: String = id.chars().take(80).map(|c| if is_safe(&c) { c } else { '-' }).collect();
    format!("{}-{:016x}.jsonl", safe.to_ascii_lowercase(), record::event_key(b'i', &[id.as_bytes()]))
}

/// Whether an ID can be a name as it is, and is not one that another ID gets.
fn is_portable(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    let has_key = id
        .rsplit_once('-')
        .is_some_and(|(_, end)| end.len() == 16 && end.bytes().all(|byte| byte.is_ascii_hexdigit()));
    id.len() <= 80
        && id.bytes().all(is_plain)
        && !id.starts_with('.')
        && !id.ends_with('.')
        && !id.is_empty()
        && !has_key
        && !is_reserved(id)
}

/// Whether a name stands for a device on Windows, whatever its extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let is_port = |prefix| {
        let number = stem.strip_prefix(prefix).map(str::as_bytes);
        number.is_some_and(|number| number.len() == 1 && number[0].is_ascii_digit())
    };
    ["con", "prn", "aux", "nul"].contains(&stem) || is_port("com") || is_port("lpt")
}

/// Passes the items of a JSON list on, one at a time.
struct EachItem<'a>(&'a mut dyn FnMut(Value));

impl<'de> Visitor<'de> for EachItem<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a list of conversations")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            (self.0)(item);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;
    use std::collections::BTreeSet;

    #[test]
    fn the_names_of_imports_differ_on_every_file_system() {
        let ids = [
            "a", "A", "session", "Session", "SESSION", "con", "CON", "con.x", "aux", "nul.txt", "com1",
            "lpt9", "end.", "end", ".hidden", "hidden", "..", "a/b", "a-b", "a:b", "", "x y", "é", "É",
        ];
        let hashed = file_name("A").trim_end_matches(".jsonl").to_owned();
        let names: Vec<String> = ids.into_iter().chain([hashed.as_str()]).map(file_name).collect();
        let folded: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(folded.len(), names.len(), "{names:?}");
        for name in &names {
            let stem = name.split('.').next().unwrap();
            assert!(!["", "con", "aux", "nul", "com1", "lpt9"].contains(&stem), "{name}");
            assert!(!name.contains(['/', '\\', ':', ' ']) && !name.contains(".."), "{name}");
        }
        assert_eq!(
            file_name("0f8fad5b-d9cb-469f-a165-70867728950e"),
            "0f8fad5b-d9cb-469f-a165-70867728950e.jsonl"
        );
    }
}
