//! `ChatWise`: the conversations of the desktop app, read out of its `app.db`, with their tool calls.
//!
//! Reads only the tables `chat` and `message`: the others contain keys. Token counts are not recorded. The
//! schema is known through other readers of it, not through a database of the app itself.

mod parse;

use crate::conversation::{self, Conversation};
use crate::walk::TranscriptList;
use crate::{Environment, Error, Evidence, FileStamp, Source, Survey, Transcript};
use db::{Connection, column_text, open_foreign, select_list, table_columns};
use record::{Call, Message, Row, Session};
use std::path::{Path, PathBuf};

pub struct ChatWise;

/// All queries; `{}` is replaced by those of the columns below that exist.
const CHATS: &str = "select id from chat";
const CHAT: &str = "select {} from chat where id = ?1";
const MESSAGES: &str = "select {} from message where chatId = ?1";

const CHAT_COLUMNS: [&str; 6] = ["id", "title", "model", "createdAt", "lastReplyAt", "agentOptions"];
const MESSAGE_COLUMNS: [&str; 7] = ["id", "role", "content", "model", "files", "meta", "createdAt"];

/// Where the app stores its database on the systems it runs on.
const FOLDERS: [&str; 2] = ["Library/Application Support/app.chatwise", ".local/share/app.chatwise"];

impl Source for ChatWise {
    fn name(&self) -> &'static str {
        "chatwise"
    }

    fn env_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[("CHATWISE_DB_PATH", "ChatWise's database file [default: app.db in the app's data folder]")]
    }

    fn evidence(&self) -> Evidence {
        Evidence::PublicSchema
    }

    fn default_roots(&self, places: &Environment) -> Vec<PathBuf> {
        if let Some(file) = places.vars.get("CHATWISE_DB_PATH").filter(|v| !v.is_empty()) {
            return vec![PathBuf::from(file)];
        }
        let mut roots: Vec<_> = FOLDERS.iter().map(|folder| places.home.join(folder)).collect();
        roots.insert(1, places.xdg_dir("XDG_CONFIG_HOME", ".config").join("app.chatwise"));
        roots
    }

    fn list_transcripts(&self, root: &Path, found: &mut TranscriptList) {
        let path = if root.is_dir() { root.join("app.db") } else { root.to_path_buf() };
        if !path.is_file() {
            return;
        }
        if let Err(error) = list_chats(&path, found) {
            found.add_problem(&path, &error);
        }
    }

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        conversation::survey_conversation(&load_chat(transcript)?, survey);
        Ok(())
    }

    fn fetch_call(&self, transcript: &Transcript, _result: &Transcript, row: &Row) -> Result<Call, Error> {
        conversation::fetch_call(transcript, row, load_chat)
    }

    fn fetch_message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        conversation::fetch_message(transcript, row, load_chat)
    }
}

/// One transcript per chat. The exact share of the file is expensive to compute, so each gets an equal one.
fn list_chats(path: &Path, found: &mut TranscriptList) -> Result<(), db::Error> {
    let connection = open_foreign(path)?;
    let mut statement = connection.prepare(CHATS)?;
    let ids = statement.query_map([], |row| Ok(column_text(row, 0)))?.collect::<Result<Vec<_>, _>>()?;
    let size = path.metadata().map_or(0, |meta| meta.len()) / ids.len().max(1) as u64;
    let age = FileStamp::from_database(path);
    for id in ids.into_iter().flatten() {
        found.transcripts.push(Transcript {
            source: found.source,
            path: path.to_path_buf(),
            part: Some(id.clone()),
            size,
            file_stamp: age,
            hint: id.into(),
            group: path.into(),
        });
    }
    Ok(())
}

/// A row as text, in the order of the requested columns.
type Cells = Vec<Option<String>>;

fn load_chat(transcript: &Transcript) -> Result<Conversation, Error> {
    let path = &transcript.path;
    let fail = |error| Error::Database { path: path.clone(), error };
    let id = transcript.part.as_deref().unwrap_or(&transcript.hint);
    let connection = open_foreign(path).map_err(fail)?;
    // One snapshot of both tables: the app may be writing.
    let snapshot = connection.unchecked_transaction().map_err(fail)?;
    let chat = query_cells(&snapshot, "chat", CHAT, &CHAT_COLUMNS, id).map_err(fail)?;
    let chat = chat.first().ok_or(Error::Moved { path: path.clone(), what: "chat", place: 0 })?;
    let messages = query_cells(&snapshot, "message", MESSAGES, &MESSAGE_COLUMNS, id).map_err(fail)?;
    let mut conversation = Conversation::new(Session::new("chatwise", id));
    parse::parse_chat(chat, &messages, &mut conversation);
    Ok(conversation)
}

fn query_cells(
    snapshot: &Connection,
    table: &str,
    query: &str,
    wanted: &[&str],
    id: &str,
) -> Result<Vec<Cells>, db::Error> {
    let query = query.replace("{}", &select_list(&table_columns(snapshot, table)?, wanted));
    let mut statement = snapshot.prepare(&query)?;
    let rows =
        statement.query_map([id], |row| Ok((0..wanted.len()).map(|n| column_text(row, n)).collect()))?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `provider` and `tool` contain keys. No query can name them, because the table names are part of the
    /// query constants.
    #[test]
    fn only_two_tables_are_named() {
        for query in [CHATS, CHAT, MESSAGES] {
            let words: Vec<&str> = query.split_whitespace().collect();
            let named: Vec<&str> = words.windows(2).filter(|w| w[0] == "from").map(|w| w[1]).collect();
            assert!(named == ["chat"] || named == ["message"], "{query}");
            assert!(!["join", "*", ","].iter().any(|word| words.contains(word)), "{query}");
        }
        let source = include_str!("chatwise.rs").split("#[cfg(test)]").next().unwrap();
        assert_eq!(source.matches("from chat").count() + source.matches("from message").count(), 3);
        assert_eq!(source.to_lowercase().matches("select ").count(), 3);
    }
}
