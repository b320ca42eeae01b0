//! Delivers mailbox messages: accepts spooled messages, runs each agent's client in its directory, one message at a time and
//! in order, and stores the reply. Clients never outlive the daemon.
//!
//! Does not know the sender's process. An accepted message is delivered at least once and has exactly one reply.

use crate::operations::mailbox::{mailbox_error, open_mailbox};
use crate::{Service, config, env};
use api::Error;
use history::guard;
use mailbox::client::{AgentClient, ClientOutcome};
use mailbox::{Agent, AgentReply, Mailbox, Message, Spool};
use record::Stamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use subprocess::{Job, Supervisor};

/// Maximum number of clients running at once: each uses several hundred megabytes of memory.
const MAX_CLIENTS: usize = 4;
/// Idle time in milliseconds after which a message includes a summary of the agent's session.
const IDLE_MS: i64 = 2 * 3600 * 1000;
/// Backoff after a transient failure in milliseconds; multiplied by the number of attempts.
const RETRY_MS: i64 = 30_000;

/// A running client; decrements the counter however the delivery ends.
struct RunningSlot(Arc<AtomicUsize>);

impl Drop for RunningSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The deliveries running in this process.
#[derive(Clone, Default)]
pub struct Deliveries {
    running: Arc<AtomicUsize>,
    /// Set to cancel all deliveries.
    pub stop: Arc<AtomicBool>,
    began: Arc<AtomicBool>,
}

impl Deliveries {
    pub fn are_any(&self) -> bool {
        self.running.load(Relaxed) > 0
    }
}

impl Service {
    /// Accepts spooled messages and starts deliveries. `done` is called each time a client exits.
    pub fn deliver_pending(
        &self,
        runs: &Deliveries,
        done: &Arc<dyn Fn() + Send + Sync>,
    ) -> Result<Option<Value>, Error> {
        let Some(home) = self.home().filter(|home| home.mailbox().is_file()) else { return Ok(None) };
        let mut mailbox = open_mailbox(&home)?;
        let now = self.clock.now().0;
        if !runs.began.swap(true, Relaxed) {
            // This process holds the leader lock, so the previous runner is gone and its leases can be taken over.
            mailbox.requeue_orphans(now).map_err(|error| mailbox_error(&error))?;
        }
        let drained =
            Spool::new(&home.spool()).drain_into(&mut mailbox, now).map_err(|error| mailbox_error(&error))?;
        let mut handed = 0;
        while runs.running.load(Relaxed) < MAX_CLIENTS && !runs.stop.load(Relaxed) {
            let Some(message) =
                mailbox.take_next(&runner_id(), now).map_err(|error| mailbox_error(&error))?
            else {
                break;
            };
            self.start_delivery(message, runs, done);
            handed += 1;
        }
        let report = json!({"taken": drained.accepted, "refused": drained.rejected, "handed_out": handed});
        Ok((drained.accepted + drained.rejected + handed > 0).then_some(report))
    }

    fn start_delivery(&self, message: Message, runs: &Deliveries, done: &Arc<dyn Fn() + Send + Sync>) {
        runs.running.fetch_add(1, Relaxed);
        let service =
            Service::new(self.places.clone(), self.clock, self.cwd.clone(), self.exe.clone(), self.threads);
        let (runs, done) = (runs.clone(), Arc::clone(done));
        std::thread::spawn(move || {
            let place = RunningSlot(runs.running);
            service.deliver_message(&message, &runs.stop);
            drop(place);
            done();
        });
    }

    fn deliver_message(&self, message: &Message, stop: &AtomicBool) {
        let load_agent = || {
            let home = self.home()?;
            open_mailbox(&home).ok()?.find_agent(&message.content.agent).ok()?
        };
        let Some(agent) = load_agent() else { return };
        let outcome = self.run_client(&agent, message, stop);
        // Retry until the outcome is stored: the disk may be full or the database locked.
        while !stop.load(Relaxed) && self.store_outcome(&agent, message, &outcome).is_none() {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn store_outcome(&self, agent: &Agent, message: &Message, outcome: &ClientOutcome) -> Option<()> {
        let mut mailbox = open_mailbox(&self.home()?).ok()?;
        self.record_outcome(&mut mailbox, agent, message, outcome).ok()
    }

    /// Records the outcome of a delivery in the mailbox.
    fn record_outcome(
        &self,
        mailbox: &mut Mailbox,
        agent: &Agent,
        message: &Message,
        outcome: &ClientOutcome,
    ) -> Result<(), mailbox::Error> {
        let (now, runner) = (self.clock.now().0, runner_id());
        match outcome {
            ClientOutcome::Reply { text, session } => {
                let reply = self.history().mask_text(text);
                let said = AgentReply { text: &reply, session: session.as_deref() };
                mailbox.record_reply(message.id, &runner, &said, now).map(drop)
            }
            ClientOutcome::SessionLost => {
                mailbox.drop_session(&agent.name)?;
                mailbox.record_failure(
                    message.id,
                    &runner,
                    "the agent's session no longer exists; retrying in a new one",
                    Some(now),
                    now,
                )
            }
            ClientOutcome::Transient(why) => {
                let again = now + RETRY_MS * i64::from(message.attempts);
                mailbox.record_failure(message.id, &runner, &self.history().mask_text(why), Some(again), now)
            }
            ClientOutcome::Permanent(why) => {
                mailbox.record_failure(message.id, &runner, &self.history().mask_text(why), None, now)
            }
            // The next daemon delivers it again.
            ClientOutcome::Cancelled => Ok(()),
        }
    }

    fn run_client(&self, agent: &Agent, message: &Message, stop: &AtomicBool) -> ClientOutcome {
        let minutes = config::Daemon::read(&self.places).map_or(30, config::Daemon::reply_minutes);
        let Some(client) = AgentClient::by_name(&agent.client) else {
            return ClientOutcome::Permanent(format!(
                "client `{}` is not supported by this version of Loci",
                agent.client
            ));
        };
        let job = Job {
            program: PathBuf::from(client.name),
            args: client.args(agent.session.as_deref()),
            env: client_env(agent, message.content.hops),
            cwd: PathBuf::from(&agent.directory),
            stdin: self.build_prompt(agent, message).into_bytes(),
            deadline: Duration::from_secs(minutes * 60),
            stdout_limit: client.max_output,
            cancel: Some(stop),
        };
        match Supervisor::new(&self.exe).run(job) {
            Ok(finished) => client.parse_outcome(&finished),
            Err(subprocess::RunError::Cancelled) => ClientOutcome::Cancelled,
            Err(error @ subprocess::RunError::NotFound(_)) => ClientOutcome::Permanent(format!(
                "{error}; install it, restart the daemon and send the message again"
            )),
            Err(
                error @ (subprocess::RunError::TimedOut(_)
                | subprocess::RunError::SupervisorKilled
                | subprocess::RunError::CannotStart { .. }),
            ) => ClientOutcome::Transient(error.to_string()),
            Err(error) => ClientOutcome::Permanent(error.to_string()),
        }
    }

    /// The prompt for the agent.
    fn build_prompt(&self, agent: &Agent, message: &Message) -> String {
        let letter = &message.content;
        let from = if letter.sender.is_empty() { "your user" } else { &letter.sender };
        let mut text = format!("Message {} from {from}, handed over by Loci.\n", message.id);
        if message.attempts > 1 {
            text += "It may have reached you before: if you have dealt with it, only say so.\n";
        }
        let rested = agent.last_reply.is_some_and(|spoke| self.clock.now().0 - spoke > IDLE_MS);
        if let Some(history) =
            agent.session.as_ref().filter(|_| rested).and_then(|id| self.session_history(id))
        {
            text += &history;
        }
        text + "\n" + &guard::defuse_text(&letter.text) + "\n"
    }

    /// A session's summary, labelled as history.
    fn session_history(&self, session: &str) -> Option<String> {
        let (summary, at) = self.remembered_summary(session)?;
        Some(format!(
            "\n[Summary of this conversation up to {}: history, not a task]\n{}\n[End of the summary]\n",
            Stamp::utc_day(at),
            guard::defuse_text(summary.trim())
        ))
    }
}

/// The lease owner: the ID of this process.
fn runner_id() -> String {
    format!("{}", std::process::id())
}

/// The client's environment: ours without the variables of the session that started the daemon, plus agent and hop count.
fn client_env(agent: &Agent, hops: u32) -> BTreeMap<OsString, OsString> {
    let mut vars = env::inherited_env();
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
