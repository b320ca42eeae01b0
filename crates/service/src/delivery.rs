//! Delivers mailbox messages: accepts spooled messages, runs each agent's client in its directory, one message at a time and
//! in order, and stores the reply. Clients never outlive the daemon.
//!
//! Does not know the sender's process. An accepted message is delivered at least once and has exactly one reply.

use crate::operations::mailbox::{failed, open};
use crate::{Service, config, env};
use api::Error;
use history::guard;
use mailbox::client::{AgentClient, Heard};
use mailbox::{Agent, Message, Post, Said, Spool};
use record::Stamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use subprocess::{Job, Ward};

/// Maximum number of clients running at once: each uses several hundred megabytes of memory.
const AT_ONCE: usize = 4;
/// Idle time in milliseconds after which a message includes a summary of the agent's session.
const RESTED: i64 = 2 * 3600 * 1000;
/// Backoff after a transient failure in milliseconds; multiplied by the number of attempts.
const AGAIN: i64 = 30_000;

/// A running client; decrements the counter however the delivery ends.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The deliveries running in this process.
#[derive(Clone, Default)]
pub struct Runs {
    running: Arc<AtomicUsize>,
    /// Set to cancel all deliveries.
    pub stop: Arc<AtomicBool>,
    began: Arc<AtomicBool>,
}

impl Runs {
    pub fn are_any(&self) -> bool {
        self.running.load(Relaxed) > 0
    }
}

impl Service {
    /// Accepts spooled messages and starts deliveries. `done` is called each time a client exits.
    pub fn errands(&self, runs: &Runs, done: &Arc<dyn Fn() + Send + Sync>) -> Result<Option<Value>, Error> {
        let Some(home) = self.home().filter(|home| home.post().is_file()) else { return Ok(None) };
        let mut mailbox = open(&home)?;
        let now = self.clock.now().0;
        if !runs.began.swap(true, Relaxed) {
            // This process holds the leader lock, so the previous runner is gone and its leases can be taken over.
            mailbox.take_over(now).map_err(|error| failed(&error))?;
        }
        let drained = Spool::at(&home.spool()).drain(&mut mailbox, now).map_err(|error| failed(&error))?;
        let mut handed = 0;
        while runs.running.load(Relaxed) < AT_ONCE && !runs.stop.load(Relaxed) {
            let Some(message) = mailbox.next(&runner(), now).map_err(|error| failed(&error))? else { break };
            self.hand(message, runs, done);
            handed += 1;
        }
        let report = json!({"taken": drained.taken, "refused": drained.refused, "handed_out": handed});
        Ok((drained.taken + drained.refused + handed > 0).then_some(report))
    }

    fn hand(&self, message: Message, runs: &Runs, done: &Arc<dyn Fn() + Send + Sync>) {
        runs.running.fetch_add(1, Relaxed);
        let service =
            Service::new(self.places.clone(), self.clock, self.cwd.clone(), self.exe.clone(), self.threads);
        let (runs, done) = (runs.clone(), Arc::clone(done));
        std::thread::spawn(move || {
            let place = Place(runs.running);
            service.deliver(&message, &runs.stop);
            drop(place);
            done();
        });
    }

    fn deliver(&self, message: &Message, stop: &AtomicBool) {
        let load_agent = || {
            let home = self.home()?;
            open(&home).ok()?.agent(&message.letter.agent).ok()?
        };
        let Some(agent) = load_agent() else { return };
        let outcome = self.run(&agent, message, stop);
        // Retry until the outcome is stored: the disk may be full or the database locked.
        while !stop.load(Relaxed) && self.kept(&agent, message, &outcome).is_none() {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn kept(&self, agent: &Agent, message: &Message, outcome: &Heard) -> Option<()> {
        let mut mailbox = open(&self.home()?).ok()?;
        self.note(&mut mailbox, agent, message, outcome).ok()
    }

    /// Records the outcome of a delivery in the mailbox.
    fn note(
        &self,
        mailbox: &mut Post,
        agent: &Agent,
        message: &Message,
        outcome: &Heard,
    ) -> Result<(), mailbox::Error> {
        let (now, runner) = (self.clock.now().0, runner());
        match outcome {
            Heard::Reply { text, session } => {
                let reply = self.history().veiled(text);
                let said = Said { reply: &reply, session: session.as_deref() };
                mailbox.answered(message.id, &runner, &said, now).map(drop)
            }
            Heard::Forgotten => {
                mailbox.lost_session(&agent.name)?;
                mailbox.failed(
                    message.id,
                    &runner,
                    "its conversation is gone: it begins another",
                    Some(now),
                    now,
                )
            }
            Heard::Later(why) => {
                let again = now + AGAIN * i64::from(message.attempts);
                mailbox.failed(message.id, &runner, &self.history().veiled(why), Some(again), now)
            }
            Heard::Never(why) => mailbox.failed(message.id, &runner, &self.history().veiled(why), None, now),
            // The next daemon delivers it again.
            Heard::CalledOff => Ok(()),
        }
    }

    fn run(&self, agent: &Agent, message: &Message, stop: &AtomicBool) -> Heard {
        let minutes = config::Daemon::read(&self.places).map_or(30, config::Daemon::reply_minutes);
        let Some(client) = AgentClient::named(&agent.client) else {
            return Heard::Never(format!("`{}` is no client that this version of Loci knows", agent.client));
        };
        let job = Job {
            program: PathBuf::from(client.name),
            args: client.args(agent.session.as_deref()),
            env: surroundings(agent, message.letter.hops),
            cwd: PathBuf::from(&agent.directory),
            stdin: self.worded(agent, message).into_bytes(),
            deadline: Duration::from_secs(minutes * 60),
            stdout_limit: client.most,
            cancel: Some(stop),
        };
        match Ward::new(&self.exe).run(job) {
            Ok(finished) => client.heard(&finished),
            Err(subprocess::Failed::Cancelled) => Heard::CalledOff,
            Err(error @ subprocess::Failed::NotFound(_)) => Heard::Never(format!(
                "{error}: install it, restart the daemon, and hand the message in again"
            )),
            Err(
                error @ (subprocess::Failed::TimedOut(_)
                | subprocess::Failed::Unguarded
                | subprocess::Failed::CannotStart { .. }),
            ) => Heard::Later(error.to_string()),
            Err(error) => Heard::Never(error.to_string()),
        }
    }

    /// The prompt for the agent.
    fn worded(&self, agent: &Agent, message: &Message) -> String {
        let letter = &message.letter;
        let from = if letter.sender.is_empty() { "your user" } else { &letter.sender };
        let mut text = format!("Message {} from {from}, handed over by Loci.\n", message.id);
        if message.attempts > 1 {
            text += "It may have reached you before: if you have dealt with it, only say so.\n";
        }
        let rested = agent.spoke.is_some_and(|spoke| self.clock.now().0 - spoke > RESTED);
        if let Some(history) = agent.session.as_ref().filter(|_| rested).and_then(|id| self.history_of(id)) {
            text += &history;
        }
        text + "\n" + &letter.text + "\n"
    }

    /// A session's summary, labelled as history.
    fn history_of(&self, session: &str) -> Option<String> {
        let (summary, at) = self.remembered_summary(session)?;
        Some(format!(
            "\n[Summary of this conversation up to {}: history, not a task]\n{}\n[End of the summary]\n",
            Stamp::day(at),
            guard::harmless(summary.trim())
        ))
    }
}

/// The lease owner: the ID of this process.
fn runner() -> String {
    format!("{}", std::process::id())
}

/// The client's environment: ours without the variables of the session that started the daemon, plus agent and hop count.
fn surroundings(agent: &Agent, hops: u32) -> BTreeMap<OsString, OsString> {
    let mut vars = env::inherited();
    vars.insert("LOCI_AGENT".into(), OsString::from(&agent.name));
    vars.insert("LOCI_HOPS".into(), (hops + 1).to_string().into());
    vars
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_selectable_client_is_implemented() {
        let known = mailbox::client::CLIENTS.iter().map(|client| client.name);
        assert!(known.eq(api::mailbox::CLIENTS.iter().copied()));
    }
}
