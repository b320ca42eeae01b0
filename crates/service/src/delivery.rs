//! Hands messages to agents: takes in what was left for a process that stays, runs each agent's client in its directory, one
//! message at a time and in order, and keeps the reply. Nothing of a client outlives us.
//!
//! Does not know who asks; what was accepted is delivered, at least once, and answered once.

use crate::ops::mailbox::{failed, open};
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

/// Clients that run at once: each is a program of several hundred megabytes.
const AT_ONCE: usize = 4;
/// A conversation that rested longer is reminded of what it was about.
const RESTED: i64 = 2 * 3600 * 1000;
/// How long after a failure that may pass it is tried again; twice that after the second.
const AGAIN: i64 = 30_000;

/// One of the places; it is free again however the work ends.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// What runs in this process, seen from the one that hands out.
#[derive(Clone, Default)]
pub struct Runs {
    running: Arc<AtomicUsize>,
    /// Set, it calls off everything.
    pub stop: Arc<AtomicBool>,
    began: Arc<AtomicBool>,
}

impl Runs {
    pub fn are_any(&self) -> bool {
        self.running.load(Relaxed) > 0
    }
}

impl Service {
    /// Takes in what was left, and hands out what waits. `done` is called whenever a client has ended.
    pub fn errands(&self, runs: &Runs, done: &Arc<dyn Fn() + Send + Sync>) -> Result<Option<Value>, Error> {
        let Some(home) = self.home().filter(|home| home.post().is_file()) else { return Ok(None) };
        let mut post = open(&home)?;
        let now = self.clock.now().0;
        if !runs.began.swap(true, Relaxed) {
            // Whoever ran before us is gone: we hold the seat.
            post.take_over(now).map_err(|error| failed(&error))?;
        }
        let drained = Spool::at(&home.spool()).drain(&mut post, now).map_err(|error| failed(&error))?;
        let mut handed = 0;
        while runs.running.load(Relaxed) < AT_ONCE && !runs.stop.load(Relaxed) {
            let Some(message) = post.next(&runner(), now).map_err(|error| failed(&error))? else { break };
            self.hand(message, runs, done);
            handed += 1;
        }
        let told = json!({"taken": drained.taken, "refused": drained.refused, "handed_out": handed});
        Ok((drained.taken + drained.refused + handed > 0).then_some(told))
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
        let told = || {
            let home = self.home()?;
            open(&home).ok()?.agent(&message.letter.agent).ok()?
        };
        let Some(agent) = told() else { return };
        let heard = self.run(&agent, message, stop);
        // A reply that cannot be kept now (the disk is full, the database held) is kept as soon as it can be.
        while !stop.load(Relaxed) && self.kept(&agent, message, &heard).is_none() {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn kept(&self, agent: &Agent, message: &Message, heard: &Heard) -> Option<()> {
        let mut post = open(&self.home()?).ok()?;
        self.note(&mut post, agent, message, heard).ok()
    }

    /// What became of it, on the disk.
    fn note(
        &self,
        post: &mut Post,
        agent: &Agent,
        message: &Message,
        heard: &Heard,
    ) -> Result<(), mailbox::Error> {
        let (now, runner) = (self.clock.now().0, runner());
        match heard {
            Heard::Reply { text, session } => {
                let reply = self.history().veiled(text);
                let said = Said { reply: &reply, session: session.as_deref() };
                post.answered(message.id, &runner, &said, now).map(drop)
            }
            Heard::Forgotten => {
                post.lost_session(&agent.name)?;
                post.failed(
                    message.id,
                    &runner,
                    "its conversation is gone: it begins another",
                    Some(now),
                    now,
                )
            }
            Heard::Later(why) => {
                let again = now + AGAIN * i64::from(message.attempts);
                post.failed(message.id, &runner, &self.history().veiled(why), Some(again), now)
            }
            Heard::Never(why) => post.failed(message.id, &runner, &self.history().veiled(why), None, now),
            // The next one that serves delivers it again.
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

    /// The message as the agent reads it.
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

    /// What a conversation was about, labelled as what it is.
    fn history_of(&self, session: &str) -> Option<String> {
        let (summary, at) = self.remembered_summary(session)?;
        Some(format!(
            "\n[Summary of this conversation up to {}: history, not a task]\n{}\n[End of the summary]\n",
            Stamp::day(at),
            guard::harmless(summary.trim())
        ))
    }
}

/// Who hands out: this process, and no other that had its number before.
fn runner() -> String {
    format!("{}", std::process::id())
}

/// The client's environment is ours, without what told of the session that happened to start us.
fn surroundings(agent: &Agent, hops: u32) -> BTreeMap<OsString, OsString> {
    let mut vars = env::inherited();
    vars.insert("LOCI_AGENT".into(), OsString::from(&agent.name));
    vars.insert("LOCI_HOPS".into(), (hops + 1).to_string().into());
    vars
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_client_that_can_be_chosen_is_known() {
        let known = mailbox::client::CLIENTS.iter().map(|client| client.name);
        assert!(known.eq(api::mailbox::CLIENTS.iter().copied()));
    }
}
