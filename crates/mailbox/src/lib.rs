//! Stored messages from one agent to another, kept until they are answered: the registered agents, the queue, the replies. An
//! accepted message is on disk; accepting it twice under the same key yields one message.
//!
//! Does not run agents, and does not know the time.

pub mod client;
mod spool;

pub use db::durable::find_damage;
pub use spool::{Drained, Spool};

use db::sealed::{self, SealedConnection};
use db::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Open(#[from] db::durable::OpenError),
    #[error("cannot read or write the messages: {0}")]
    Database(#[from] db::Error),
    #[error("no agent called `{0}`")]
    UnknownAgent(String),
    #[error("key `{0}` belongs to another message")]
    KeyConflict(String),
    #[error("agent `{0}` has unanswered messages")]
    AgentBusy(String),
}

impl Error {
    /// Whether the mailbox was created by a newer Loci.
    pub fn is_newer(&self) -> bool {
        matches!(self, Error::Open(db::durable::OpenError::Newer { .. }))
    }
}

const MIGRATIONS: &[&str] = &["
    create table agents (
        name text primary key, directory text not null, client text not null, since integer not null,
        session text, spoke integer
    );
    create table messages (
        id integer primary key autoincrement, key text not null unique,
        agent text not null, sender text not null, text text not null, hops integer not null,
        state text not null, accepted integer not null, not_before integer not null, ended integer,
        attempts integer not null default 0, failures integer not null default 0, runner text,
        reply text, error text, session text
    );
    create index waiting on messages (state, agent, id);
"];

/// An agent: a name for a working directory, which provides its context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    pub name: String,
    pub directory: String,
    /// The program that runs it.
    pub client: String,
    pub since: i64,
    /// The session that continues from message to message, and the time of its last reply.
    pub session: Option<String>,
    pub last_reply: Option<i64>,
}

/// A message as submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMessage {
    /// Idempotency key: submitting again under the same key refers to the same message.
    pub key: String,
    pub agent: String,
    #[serde(default)]
    pub sender: String,
    pub text: String,
    /// The number of agents it has passed through.
    #[serde(default)]
    pub hops: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Waiting,
    Running,
    Answered,
    Failed,
}

impl State {
    pub const ALL: [State; 4] = [State::Waiting, State::Running, State::Answered, State::Failed];

    pub fn word(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Running => "running",
            State::Answered => "answered",
            State::Failed => "failed",
        }
    }

    fn from_word(word: &str) -> State {
        State::ALL.into_iter().find(|state| state.word() == word).unwrap_or(State::Failed)
    }
}

/// A stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: i64,
    pub content: NewMessage,
    pub state: State,
    pub accepted: i64,
    pub ended: Option<i64>,
    /// How often it was delivered to the agent.
    pub attempts: u32,
    pub reply: Option<String>,
    pub error: Option<String>,
    pub session: Option<String>,
}

/// A message fails after this many failed deliveries.
pub const MAX_FAILURES: u32 = 3;
/// The same for deliveries interrupted by a crash of the daemon, which is rarely the message's fault.
pub const MAX_CRASHES: u32 = 10;

pub struct Mailbox {
    db: SealedConnection,
}

/// Selects messages.
#[derive(Clone, Debug, Default)]
pub struct MessageFilter<'a> {
    pub ids: &'a [i64],
    pub agent: Option<&'a str>,
    pub state: Option<State>,
    pub limit: u64,
}

impl Mailbox {
    pub fn open(path: &Path) -> Result<Mailbox, Error> {
        Ok(Mailbox { db: sealed::open_writer(path, MIGRATIONS)? })
    }

    /// Opens an existing mailbox. `None` if there is none yet; an error if it was created by a newer Loci or is damaged: it must
    /// not be taken for an empty one.
    pub fn open_existing(path: &Path) -> Result<Option<Mailbox>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        match db::durable::try_open_reader(path, MIGRATIONS)? {
            Some(db) => Ok(Some(Mailbox { db: SealedConnection::unsealed(db) })),
            // An older one is migrated.
            None => Mailbox::open(path).map(Some),
        }
    }

    // ---- agents

    /// Registers an agent. An existing one starts a new session if its directory or client changes.
    pub fn add_agent(&mut self, agent: &Agent) -> Result<(), Error> {
        self.db.execute(
            "insert into agents (name, directory, client, since) values (?1, ?2, ?3, ?4)
             on conflict (name) do update set directory = ?2, client = ?3,
               session = case when directory = ?2 and client = ?3 then session end,
               spoke = case when directory = ?2 and client = ?3 then spoke end",
            params![agent.name, agent.directory, agent.client, agent.since],
        )?;
        Ok(())
    }

    /// Removes an agent and its messages, unless some are unanswered. Returns the number of removed messages.
    pub fn remove_agent(&mut self, name: &str) -> Result<u64, Error> {
        self.find_agent(name)?.ok_or_else(|| Error::UnknownAgent(name.to_string()))?;
        let step = self.db.transaction()?;
        let open = "select count(*) from messages where agent = ?1 and state in ('waiting', 'running')";
        if step.query_row(open, [name], |row| row.get::<_, i64>(0))? > 0 {
            return Err(Error::AgentBusy(name.to_string()));
        }
        let gone = step.execute("delete from messages where agent = ?1", [name])?;
        step.execute("delete from agents where name = ?1", [name])?;
        step.commit()?;
        Ok(gone as u64)
    }

    pub fn list_agents(&self) -> Result<Vec<Agent>, Error> {
        let mut all = self.db.prepare_cached("select * from agents order by name")?;
        let found = all.query_map([], agent_from_row)?.collect::<Result<_, _>>()?;
        Ok(found)
    }

    pub fn find_agent(&self, name: &str) -> Result<Option<Agent>, Error> {
        let mut one = self.db.prepare_cached("select * from agents where name = ?1")?;
        Ok(one.query_row([name], agent_from_row).optional()?)
    }

    // ---- messages

    /// Accepts a message. Returns its ID, and whether it is new.
    pub fn accept_message(&mut self, letter: &NewMessage, now: i64) -> Result<(i64, bool), Error> {
        self.find_agent(&letter.agent)?.ok_or_else(|| Error::UnknownAgent(letter.agent.clone()))?;
        let new = self.db.execute(
            "insert into messages (key, agent, sender, text, hops, state, accepted, not_before)
             values (?1, ?2, ?3, ?4, ?5, 'waiting', ?6, ?6) on conflict (key) do nothing",
            params![letter.key, letter.agent, letter.sender, letter.text, letter.hops, now],
        )?;
        let known = "select id, agent = ?2 and text = ?3 from messages where key = ?1";
        let values = params![letter.key, letter.agent, letter.text];
        let (id, same) = self.db.query_row(known, values, |row| Ok((row.get(0)?, row.get::<_, bool>(1)?)))?;
        if same { Ok((id, new > 0)) } else { Err(Error::KeyConflict(letter.key.clone())) }
    }

    /// Takes the oldest waiting message of an agent without a running one, and marks it as running. `runner` identifies the
    /// process that delivers it.
    pub fn take_next(&mut self, runner: &str, now: i64) -> Result<Option<Message>, Error> {
        let step = self.db.transaction()?;
        let id: Option<i64> = step
            .query_row(
                "select id from messages m where state = 'waiting' and not_before <= ?1
                   and not exists (select 1 from messages o where o.agent = m.agent
                     and (o.state = 'running' or (o.state = 'waiting' and o.id < m.id)))
                 order by id limit 1",
                [now],
                |row| row.get(0),
            )
            .optional()?;
        let Some(id) = id else { return Ok(None) };
        step.execute(
            "update messages set state = 'running', runner = ?2, attempts = attempts + 1 where id = ?1",
            params![id, runner],
        )?;
        let found = step.query_row("select * from messages where id = ?1", [id], message_from_row)?;
        step.commit()?;
        Ok(Some(found))
    }

    /// Requeues messages whose runner is gone, or fails them after too many crashes. Returns the number requeued.
    pub fn requeue_orphans(&mut self, now: i64) -> Result<u64, Error> {
        let given_up = "the daemon exited ten times before the agent replied";
        self.db.execute(
            "update messages set state = 'failed', ended = ?1, error = ?2, runner = null
             where state = 'running' and attempts >= ?3",
            params![now, given_up, MAX_CRASHES],
        )?;
        let again = self
            .db
            .execute("update messages set state = 'waiting', runner = null where state = 'running'", [])?;
        Ok(again as u64)
    }

    /// Stores the reply, once, from the current runner. Returns false if another runner has the message by now.
    pub fn record_reply(
        &mut self,
        id: i64,
        runner: &str,
        reply: &AgentReply<'_>,
        now: i64,
    ) -> Result<bool, Error> {
        let step = self.db.transaction()?;
        let done = step.execute(
            "update messages set state = 'answered', reply = ?3, session = ?4, error = null, ended = ?5, runner = null
             where id = ?1 and runner = ?2 and state = 'running'",
            params![id, runner, reply.text, reply.session, now],
        )?;
        if done > 0 {
            step.execute(
                "update agents set session = coalesce(?2, session), spoke = ?3
                 where name = (select agent from messages where id = ?1)",
                params![id, reply.session, now],
            )?;
        }
        step.commit()?;
        Ok(done > 0)
    }

    /// Records a failed delivery. With a time, it is retried then unless it has failed too often.
    pub fn record_failure(
        &mut self,
        id: i64,
        runner: &str,
        error: &str,
        again: Option<i64>,
        now: i64,
    ) -> Result<(), Error> {
        self.db.execute(
            "update messages set
               state = case when ?4 is null or failures + 1 >= ?5 then 'failed' else 'waiting' end,
               ended = case when ?4 is null or failures + 1 >= ?5 then ?6 end, failures = failures + 1,
               not_before = coalesce(?4, not_before), error = ?3, runner = null
             where id = ?1 and runner = ?2 and state = 'running'",
            params![id, runner, error, again, MAX_FAILURES, now],
        )?;
        Ok(())
    }

    /// Drops the agent's session, which cannot be resumed: the next message starts another.
    pub fn drop_session(&mut self, agent: &str) -> Result<(), Error> {
        self.db.execute("update agents set session = null, spoke = null where name = ?1", [agent])?;
        Ok(())
    }

    /// The selected messages, newest first.
    pub fn list_messages(&self, wanted: &MessageFilter<'_>) -> Result<Vec<Message>, Error> {
        let ids = serde_json::to_string(wanted.ids).unwrap_or_default();
        let mut all = self.db.prepare_cached(
            "select * from messages where (?1 = '[]' or id in (select value from json_each(?1)))
             and (?2 is null or agent = ?2) and (?3 is null or state = ?3) order by id desc limit ?4",
        )?;
        let limit = i64::try_from(wanted.limit).unwrap_or(i64::MAX);
        let state = wanted.state.map(State::word);
        let found = all.query_map(params![ids, wanted.agent, state, limit], message_from_row)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The number of messages per state.
    pub fn count_by_state(&self) -> Result<[(State, u64); 4], Error> {
        let mut counts = State::ALL.map(|state| (state, 0));
        let mut all = self.db.prepare_cached("select state, count(*) from messages group by state")?;
        let found = all.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
        for row in found {
            let (state, count) = row?;
            let slot = counts.iter_mut().find(|(known, _)| known.word() == state);
            if let Some((_, known)) = slot {
                *known = count as u64;
            }
        }
        Ok(counts)
    }
}

/// An agent's reply.
#[derive(Clone, Copy, Debug)]
pub struct AgentReply<'a> {
    pub text: &'a str,
    pub session: Option<&'a str>,
}

fn agent_from_row(row: &Row<'_>) -> Result<Agent, db::Error> {
    Ok(Agent {
        name: row.get("name")?,
        directory: row.get("directory")?,
        client: row.get("client")?,
        since: row.get("since")?,
        session: row.get("session")?,
        last_reply: row.get("spoke")?,
    })
}

fn message_from_row(row: &Row<'_>) -> Result<Message, db::Error> {
    Ok(Message {
        id: row.get("id")?,
        content: NewMessage {
            key: row.get("key")?,
            agent: row.get("agent")?,
            sender: row.get("sender")?,
            text: row.get("text")?,
            hops: row.get("hops")?,
        },
        state: State::from_word(&row.get::<_, String>("state")?),
        accepted: row.get("accepted")?,
        ended: row.get("ended")?,
        attempts: row.get("attempts")?,
        reply: row.get("reply")?,
        error: row.get("error")?,
        session: row.get("session")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_mailbox(dir: &Path) -> Mailbox {
        let mut mailbox = Mailbox::open(&dir.join("post.db")).unwrap();
        for name in ["ann", "bob"] {
            let agent = Agent {
                name: name.into(),
                directory: format!("/srv/{name}"),
                client: "claude".into(),
                ..Agent::default()
            };
            mailbox.add_agent(&agent).unwrap();
        }
        mailbox
    }

    fn test_message(agent: &str, key: &str) -> NewMessage {
        NewMessage {
            key: key.into(),
            agent: agent.into(),
            text: format!("text of {key}"),
            ..NewMessage::default()
        }
    }

    #[test]
    fn a_message_is_accepted_once_and_each_agent_handles_one_at_a_time_in_order() {
        let tmp = tempfile::tempdir().unwrap();
        let mut mailbox = test_mailbox(tmp.path());
        let (first, new) = mailbox.accept_message(&test_message("ann", "a"), 1).unwrap();
        assert!(new);
        assert_eq!(mailbox.accept_message(&test_message("ann", "a"), 2).unwrap(), (first, false));
        mailbox.accept_message(&test_message("ann", "b"), 3).unwrap();
        mailbox.accept_message(&test_message("bob", "c"), 4).unwrap();
        let other = NewMessage { text: "another".into(), ..test_message("ann", "a") };
        assert!(matches!(mailbox.accept_message(&other, 5), Err(Error::KeyConflict(key)) if key == "a"));
        assert!(
            matches!(mailbox.accept_message(&test_message("eve", "d"), 5), Err(Error::UnknownAgent(name)) if name == "eve")
        );
        let keys = |mailbox: &mut Mailbox| mailbox.take_next("r", 10).unwrap().map(|m| m.content.key);
        assert_eq!(
            [keys(&mut mailbox), keys(&mut mailbox), keys(&mut mailbox)],
            [Some("a".into()), Some("c".into()), None]
        );
        let reply = AgentReply { text: "done", session: Some("s1") };
        assert!(mailbox.record_reply(first, "r", &reply, 11).unwrap());
        assert!(!mailbox.record_reply(first, "r", &reply, 12).unwrap(), "answered twice");
        assert_eq!(mailbox.find_agent("ann").unwrap().unwrap().session.as_deref(), Some("s1"));
        assert_eq!(keys(&mut mailbox), Some("b".into()));
        assert!(matches!(mailbox.remove_agent("ann"), Err(Error::AgentBusy(_))));
    }

    #[test]
    fn an_agent_with_another_directory_or_client_starts_a_new_session() {
        let tmp = tempfile::tempdir().unwrap();
        let mut mailbox = test_mailbox(tmp.path());
        let ann = mailbox.find_agent("ann").unwrap().unwrap();
        for (changed, stays) in [
            (ann.clone(), true),
            (Agent { directory: "/srv/other".into(), ..ann.clone() }, false),
            (Agent { client: "codex".into(), ..ann.clone() }, false),
        ] {
            mailbox.add_agent(&ann).unwrap();
            let (id, _) = mailbox.accept_message(&test_message("ann", &format!("{changed:?}")), 1).unwrap();
            mailbox.take_next("r", 2).unwrap().unwrap();
            mailbox.record_reply(id, "r", &AgentReply { text: "done", session: Some("s1") }, 3).unwrap();
            mailbox.add_agent(&changed).unwrap();
            let now = mailbox.find_agent("ann").unwrap().unwrap();
            assert_eq!((now.session.is_some(), now.last_reply.is_some()), (stays, stays), "{now:?}");
        }
    }

    #[test]
    fn messages_of_a_dead_runner_are_redelivered_and_finally_fail() {
        let tmp = tempfile::tempdir().unwrap();
        let mut mailbox = test_mailbox(tmp.path());
        let (id, _) = mailbox.accept_message(&test_message("ann", "a"), 1).unwrap();
        for attempt in 1..=MAX_CRASHES {
            let runner = format!("r{attempt}");
            assert_eq!(mailbox.take_next(&runner, 2).unwrap().unwrap().attempts, attempt);
            assert_eq!(mailbox.requeue_orphans(3).unwrap(), u64::from(attempt < MAX_CRASHES));
            // The runner that was presumed dead replies too late.
            assert!(
                !mailbox.record_reply(id, &runner, &AgentReply { text: "late", session: None }, 4).unwrap()
            );
        }
        assert!(mailbox.take_next("r", 5).unwrap().is_none());
        let given_up = &mailbox
            .list_messages(&MessageFilter { ids: &[id], limit: 9, ..MessageFilter::default() })
            .unwrap()[0];
        assert!(given_up.state == State::Failed && given_up.error.as_ref().unwrap().contains("ten times"));
    }

    #[test]
    fn a_failed_delivery_is_retried_when_due() {
        let tmp = tempfile::tempdir().unwrap();
        let mut mailbox = test_mailbox(tmp.path());
        let (id, _) = mailbox.accept_message(&test_message("ann", "a"), 1).unwrap();
        mailbox.take_next("r", 2).unwrap().unwrap();
        mailbox.record_failure(id, "r", "busy", Some(50), 3).unwrap();
        assert!(mailbox.take_next("r", 49).unwrap().is_none());
        assert_eq!(mailbox.take_next("r", 50).unwrap().unwrap().attempts, 2);
        mailbox.record_failure(id, "r", "no", None, 51).unwrap();
        assert_eq!(mailbox.count_by_state().unwrap().map(|(_, n)| n), [0, 0, 0, 1]);
        assert_eq!(mailbox.remove_agent("ann").unwrap(), 1);
    }
}
