//! Looks up sessions and messages by ID prefix, and single rows by number or key.
//!
//! Does not decide between several matches.

use crate::{Error, EventFilter, ID_HEAD_LEN, Reader};
use record::{Row, Stamp};
use std::collections::BTreeSet;

/// A session or message whose ID starts with the prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The id as far as the catalogue has it: a message's is truncated to `HEAD` bytes.
    pub id: String,
    pub chat: u32,
    /// The ID of a message or call; None for a session.
    pub event: Option<u64>,
}

/// An upper bound of all texts that start with `prefix`.
fn prefix_upper_bound(prefix: &str) -> String {
    format!("{prefix}\u{10ffff}")
}

impl Reader {
    /// Conversations whose session ID starts with the prefix, ordered by ID.
    pub fn sessions_with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<Candidate>, Error> {
        let sql = "select session_id, id from chats where session_id >= ?1 and session_id < ?2 \
            order by session_id, source limit ?3";
        let one = |row: &db::Row<'_>| Ok(Candidate { id: row.get(0)?, chat: row.get(1)?, event: None });
        self.query_all(sql, db::params![prefix, prefix_upper_bound(prefix), limit], one)
    }

    /// The number of a conversation.
    pub fn find_chat(&self, source: &str, session_id: &str) -> Result<Option<u32>, Error> {
        let sql = "select id from chats where session_id = ?1 and source = ?2";
        Ok(self.query_all(sql, [session_id, source], |row| row.get(0))?.pop())
    }

    /// How many messages and calls a conversation has.
    pub fn count_events(&self, chat: u32) -> Result<u64, Error> {
        let sql = "select count(*) from sessions s join events e \
            on e.id >= s.file << 24 and e.id < (s.file + 1) << 24 and e.session = s.ordinal where s.chat = ?1";
        let counts = self.query_all(sql, [chat], |row| row.get::<_, i64>(0))?;
        Ok(counts.first().copied().unwrap_or(0) as u64)
    }

    /// The transcripts that contain these sessions, and those that contain copies of their events.
    pub fn files_containing(&self, is_wanted: &dyn Fn(&str, &str) -> bool) -> Result<Vec<u32>, Error> {
        let sql = "select s.file, c.source, c.session_id from sessions s join chats c on c.id = s.chat";
        let all: Vec<(u32, String, String)> =
            self.query_all(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut files: BTreeSet<u32> =
            all.iter().filter(|(_, source, id)| is_wanted(source, id)).map(|(file, ..)| *file).collect();
        let mut keys = Vec::new();
        for file in &files {
            self.for_each_row(&[*file], EventFilter::All, |row| {
                keys.push(row.key);
                Ok(())
            })?;
        }
        files.extend(self.files_with_keys(keys.into_iter())?);
        Ok(files.into_iter().collect())
    }

    /// One more than the greatest number of a conversation.
    pub fn next_chat_id(&self) -> Result<u32, Error> {
        let all = self.query_all("select coalesce(max(id), 0) + 1 from chats", [], |row| row.get(0))?;
        Ok(all.first().copied().unwrap_or(1))
    }

    /// When a transcript was started.
    pub fn file_birth(&self, file: u32) -> Result<Option<Stamp>, Error> {
        let found = self
            .query_all("select birth from files where id = ?1", [file], |row| row.get::<_, Option<i64>>(0))?;
        Ok(found.into_iter().flatten().next().map(Stamp))
    }

    /// The event with this key, if the catalogue has it.
    pub fn event_by_key(&self, key: u64) -> Result<Option<Row>, Error> {
        let sql = "select id from events where key = ?1 and what & 3 != 2 order by told desc limit 1";
        let ids = self.query_all(sql, [key as i64], |row| row.get::<_, i64>(0))?;
        let found = self.events_by_id(&ids.iter().map(|id| *id as u64).collect::<Vec<_>>())?;
        Ok(found.into_iter().next().map(|(_, row)| row))
    }

    /// The title of a session, by the session's own ID in the catalogue.
    pub fn session_title(&self, number: u32) -> Result<Option<String>, Error> {
        let sql = "select title from sessions where id = ?1";
        Ok(self.query_all(sql, [number], |row| row.get::<_, Option<String>>(0))?.into_iter().flatten().next())
    }

    /// Messages and calls whose ID starts with the prefix, each event once.
    pub fn messages_with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<Candidate>, Error> {
        let head = &prefix.as_bytes()[..prefix.len().min(ID_HEAD_LEN)];
        let behind = prefix_upper_bound(&String::from_utf8_lossy(head));
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
        self.query_all(sql, db::params![head, behind.as_bytes(), limit], one)
    }
}
