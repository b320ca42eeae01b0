//! Which session or message an id means of which only the beginning is given.

use crate::{Error, HEAD, Pick, Reader};
use record::{Row, Stamp};
use std::collections::BTreeSet;

/// Something whose id begins so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The id as far as the catalogue has it: a message's is cut at `HEAD` bytes.
    pub id: String,
    pub chat: u32,
    /// A message's or call's own number; none for a session.
    pub event: Option<u64>,
}

/// The text that follows every text beginning with `prefix`.
fn behind(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}

impl Reader {
    /// Conversations whose id begins so, or one of whose subagents' does, in the order of their ids.
    pub fn chats_called(&self, prefix: &str, limit: u32) -> Result<Vec<Candidate>, Error> {
        let sql = "select session_id, id from chats where session_id >= ?1 and session_id < ?2 \
            order by session_id, source limit ?3";
        let one = |row: &db::Row<'_>| Ok(Candidate { id: row.get(0)?, chat: row.get(1)?, event: None });
        self.all(sql, db::params![prefix, behind(prefix), limit], one)
    }

    /// The number of a conversation.
    pub fn chat_number(&self, source: &str, session_id: &str) -> Result<Option<u32>, Error> {
        let sql = "select id from chats where session_id = ?1 and source = ?2";
        Ok(self.all(sql, [session_id, source], |row| row.get(0))?.pop())
    }

    /// How many messages and calls a conversation has.
    pub fn events_of(&self, chat: u32) -> Result<u64, Error> {
        let sql = "select count(*) from sessions s join events e \
            on e.id >= s.file << 24 and e.id < (s.file + 1) << 24 and e.session = s.ordinal where s.chat = ?1";
        let counted = self.all(sql, [chat], |row| row.get::<_, i64>(0))?;
        Ok(counted.first().copied().unwrap_or(0) as u64)
    }

    /// The transcripts that hold these sessions, and those that hold copies of what was said in them.
    pub fn files_holding(&self, doomed: &dyn Fn(&str, &str) -> bool) -> Result<Vec<u32>, Error> {
        let sql = "select s.file, c.source, c.session_id from sessions s join chats c on c.id = s.chat";
        let all: Vec<(u32, String, String)> =
            self.all(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut files: BTreeSet<u32> =
            all.iter().filter(|(_, source, id)| doomed(source, id)).map(|(file, ..)| *file).collect();
        let mut keys = Vec::new();
        for file in &files {
            self.rows(&[*file], Pick::All, |row| {
                keys.push(row.key);
                Ok(())
            })?;
        }
        files.extend(self.files_with(keys.into_iter())?);
        Ok(files.into_iter().collect())
    }

    /// A number that no conversation has, nor any greater.
    pub fn next_chat(&self) -> Result<u32, Error> {
        let all = self.all("select coalesce(max(id), 0) + 1 from chats", [], |row| row.get(0))?;
        Ok(all.first().copied().unwrap_or(1))
    }

    /// When a transcript was begun.
    pub fn birth(&self, file: u32) -> Result<Option<Stamp>, Error> {
        let found =
            self.all("select birth from files where id = ?1", [file], |row| row.get::<_, Option<i64>>(0))?;
        Ok(found.into_iter().flatten().next().map(Stamp))
    }

    /// The event of that key, if one is known.
    pub fn event_with(&self, key: u64) -> Result<Option<Row>, Error> {
        let sql = "select id from events where key = ?1 and what & 3 != 2 limit 1";
        let ids = self.all(sql, [key as i64], |row| row.get::<_, i64>(0))?;
        let found = self.events(&ids.iter().map(|id| *id as u64).collect::<Vec<_>>())?;
        Ok(found.into_iter().next().map(|(_, row)| row))
    }

    /// The title of a session, by the session's own number.
    pub fn title(&self, number: u32) -> Result<Option<String>, Error> {
        let sql = "select title from sessions where id = ?1";
        Ok(self.all(sql, [number], |row| row.get::<_, Option<String>>(0))?.into_iter().flatten().next())
    }

    /// Messages and calls whose id begins so, each event once.
    pub fn messages_called(&self, prefix: &str, limit: u32) -> Result<Vec<Candidate>, Error> {
        let head = &prefix.as_bytes()[..prefix.len().min(HEAD)];
        let behind = behind(&String::from_utf8_lossy(head));
        let sql = "select e.head, s.chat, min(e.id) from events e \
            join sessions s on s.file = e.id >> 24 and s.ordinal = e.session \
            where e.head >= ?1 and e.head < ?2 and e.what & 3 != 2 group by e.key order by e.head, e.id limit ?3";
        let one = |row: &db::Row<'_>| {
            let head = row.get_ref(0)?.as_blob().unwrap_or_default();
            let event = row.get::<_, i64>(2)? as u64;
            Ok(Candidate {
                id: String::from_utf8_lossy(head).into_owned(),
                chat: row.get(1)?,
                event: Some(event),
            })
        };
        self.all(sql, db::params![head, behind.as_bytes(), limit], one)
    }
}
