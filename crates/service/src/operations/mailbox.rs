//! Messages between agents: accepted by the daemon, spooled by any other process until a daemon runs.
//!
//! Does not deliver them: that is `delivery`.

use crate::{Service, env};
use api::mailbox::{
    AddAgent, AgentLine, Agents, Dispatch, ListAgents, ListMessages, MessageLine, Messages, RemoveAgent,
    Removed,
};
use api::{Code, Error, Handle, Request};
use history::error::{newer_store, no_home};
use history::home::{self, Home};
use mailbox::{Agent, Mailbox, Message, MessageFilter, NewMessage, Spool, State};
use std::time::{Duration, Instant};

/// A message that has passed through this many agents is considered a loop.
const MAX_HOPS: u32 = 4;
/// Polling interval while waiting for a reply.
const REPLY_POLL_INTERVAL: Duration = Duration::from_millis(25);

fn require_home(service: &Service) -> Result<Home, Error> {
    service.home().ok_or_else(no_home)
}

pub(crate) fn open_mailbox(home: &Home) -> Result<Mailbox, Error> {
    home.create_dirs()?;
    Mailbox::open(&home.mailbox()).map_err(|error| mailbox_error(&error))
}

pub(crate) fn mailbox_error(error: &mailbox::Error) -> Error {
    if error.is_newer() {
        return newer_store(error);
    }
    let code = match error {
        mailbox::Error::UnknownAgent(_) => Code::NotFound,
        mailbox::Error::AgentBusy(_) => Code::WriterBusy,
        mailbox::Error::KeyConflict(_) => Code::InvalidArgument,
        _ => Code::ReadError,
    };
    let mapped = Error::new(code, error.to_string());
    match error {
        mailbox::Error::UnknownAgent(name) => {
            mapped.hint("loci agent list").hint(format!("loci agent add {name} <directory>"))
        }
        mailbox::Error::KeyConflict(_) => {
            mapped.hint("a key identifies one message; omit it to generate one")
        }
        mailbox::Error::AgentBusy(name) => mapped.hint(format!("loci agent messages --agent {name}")),
        _ => mapped.hint("loci doctor"),
    }
}

impl Handle<Dispatch> for Service {
    fn handle(&self, request: &Dispatch) -> Result<MessageLine, Error> {
        request.check_params()?;
        let home = require_home(self)?;
        let outgoing = build_message(self, request)?;
        let Some(wake_daemon) = &self.wake_delivery else { return spool_message(&home, &outgoing) };
        let mut store = open_mailbox(&home)?;
        let (id, _) =
            store.accept_message(&outgoing, self.clock.now().0).map_err(|error| mailbox_error(&error))?;
        wake_daemon();
        let until = Instant::now() + Duration::from_secs(request.wait_seconds);
        loop {
            let message = find_message(&store, id)?;
            let over = matches!(message.state, State::Answered | State::Failed);
            if over || Instant::now() >= until || self.progress.is_cancelled() {
                return Ok(MessageLine { text: String::new(), ..message_line(message) });
            }
            std::thread::sleep(REPLY_POLL_INTERVAL);
        }
    }
}

impl Service {
    /// Sets the sender from the working directory. Some clients do not pass their identity to the MCP servers they start. A
    /// request from the directory of an agent that is processing a message counts as sent by that agent. Otherwise it would count
    /// as sent by the user, and two agents could message each other forever.
    pub fn detect_sending_agent(&mut self) {
        if env::text_var(&self.places, "LOCI_AGENT").is_some() {
            return;
        }
        let Some((agent, hops)) = self.running_agent_here() else { return };
        self.places.vars.insert("LOCI_AGENT", agent.into());
        self.places.vars.insert("LOCI_HOPS", (hops + 1).to_string().into());
    }

    fn running_agent_here(&self) -> Option<(String, u32)> {
        let store = Mailbox::open_existing(&self.home()?.mailbox()).ok()??;
        let here = self.cwd.canonicalize().ok()?;
        let wanted = MessageFilter { state: Some(State::Running), limit: 100, ..MessageFilter::default() };
        let running = store.list_messages(&wanted).ok()?;
        let own = |agent: &Agent| here.starts_with(&agent.directory);
        let agents = store.list_agents().ok()?;
        // With several candidates, take the highest hop count.
        let found = running
            .iter()
            .filter(|message| agents.iter().any(|it| it.name == message.content.agent && own(it)));
        found
            .map(|message| (message.content.agent.clone(), message.content.hops))
            .max_by_key(|(_, hops)| *hops)
    }
}

/// Builds the message to store. Its text is masked like all stored text: the receiving agent can find a secret where the
/// sender found it.
fn build_message(service: &Service, request: &Dispatch) -> Result<NewMessage, Error> {
    let hops = env::text_var(&service.places, "LOCI_HOPS").and_then(|n| n.parse().ok()).unwrap_or(0);
    if hops >= MAX_HOPS {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("message already passed through {hops} agents"),
        )
        .hint("answer it instead of forwarding it"));
    }
    let key = match &request.key {
        Some(key) => key.clone(),
        None => home::random_token().map_err(history::error::read_error)?,
    };
    let from =
        request.from.clone().or_else(|| env::text_var(&service.places, "LOCI_AGENT")).unwrap_or_default();
    Ok(NewMessage {
        key,
        agent: request.agent.clone(),
        sender: from,
        text: service.history().mask_text(&request.message),
        hops,
    })
}

/// Spools a message because no daemon runs in this process.
fn spool_message(home: &Home, outgoing: &NewMessage) -> Result<MessageLine, Error> {
    let store = Mailbox::open_existing(&home.mailbox()).map_err(|error| mailbox_error(&error))?;
    if store.and_then(|store| store.find_agent(&outgoing.agent).ok()?).is_none() {
        return Err(mailbox_error(&mailbox::Error::UnknownAgent(outgoing.agent.clone())));
    }
    Spool::new(&home.spool())
        .append_message(outgoing)
        .map_err(|error| home::unwritable(&home.spool(), &error))?;
    Ok(MessageLine {
        key: outgoing.key.clone(),
        agent: outgoing.agent.clone(),
        from: outgoing.sender.clone(),
        state: "spooled".to_string(),
        next: Some("delivered when the daemon runs: `loci daemon start`".to_string()),
        ..MessageLine::default()
    })
}

fn find_message(store: &Mailbox, id: i64) -> Result<Message, Error> {
    let found = store.list_messages(&MessageFilter { ids: &[id], limit: 1, ..MessageFilter::default() });
    let found = found.map_err(|error| mailbox_error(&error))?.pop();
    found.ok_or_else(|| Error::new(Code::NotFound, format!("message {id} no longer exists")))
}

fn message_line(message: Message) -> MessageLine {
    let open = matches!(message.state, State::Waiting | State::Running);
    MessageLine {
        id: Some(message.id),
        key: message.content.key,
        agent: message.content.agent,
        from: message.content.sender,
        state: message.state.word().to_string(),
        text: message.content.text,
        accepted: Some(message.accepted),
        ended: message.ended,
        attempts: message.attempts,
        reply: message.reply,
        error: message.error,
        session: message.session,
        next: open.then(|| format!("loci agent messages {}", message.id)),
    }
}

impl Handle<ListMessages> for Service {
    fn handle(&self, request: &ListMessages) -> Result<Messages, Error> {
        request.check_params()?;
        let home = require_home(self)?;
        let spooled = Spool::new(&home.spool()).count_waiting();
        let opened = Mailbox::open_existing(&home.mailbox()).map_err(|error| mailbox_error(&error))?;
        let Some(store) = opened else {
            return Ok(Messages { spooled, ..Messages::default() });
        };
        let state = State::ALL.into_iter().find(|state| request.state.as_deref() == Some(state.word()));
        let ids = request.message_ids()?;
        let wanted =
            MessageFilter { ids: &ids, agent: request.agent.as_deref(), state, limit: request.limit };
        let found = store.list_messages(&wanted).map_err(|error| mailbox_error(&error))?;
        Ok(Messages { messages: found.into_iter().map(message_line).collect(), spooled })
    }
}

impl Handle<AddAgent> for Service {
    fn handle(&self, request: &AddAgent) -> Result<AgentLine, Error> {
        request.check_params()?;
        let directory = self.cwd.join(request.directory.as_deref().unwrap_or("."));
        let directory = directory.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
            Error::new(Code::NotFound, format!("{} is not a directory", directory.display()))
                .hint(AddAgent::OPERATION.example)
        })?;
        let agent = Agent {
            name: request.name.clone(),
            directory: directory.to_string_lossy().into_owned(),
            client: request.client.clone().unwrap_or_else(|| api::mailbox::CLIENTS[0].to_string()),
            since: self.clock.now().0,
            ..Agent::default()
        };
        let mut store = open_mailbox(&require_home(self)?)?;
        store.add_agent(&agent).map_err(|error| mailbox_error(&error))?;
        let missing = env::find_programs(&self.places, &agent.client).is_empty();
        let note = missing.then(|| format!("program `{}` is not on PATH", agent.client));
        Ok(AgentLine { note, ..agent_line(agent) })
    }
}

fn agent_line(agent: Agent) -> AgentLine {
    AgentLine {
        name: agent.name,
        directory: agent.directory,
        client: agent.client,
        session: agent.session,
        spoke: agent.last_reply,
        note: None,
    }
}

impl Handle<ListAgents> for Service {
    fn handle(&self, request: &ListAgents) -> Result<Agents, Error> {
        request.check_params()?;
        let opened = Mailbox::open_existing(&require_home(self)?.mailbox());
        let Some(store) = opened.map_err(|error| mailbox_error(&error))? else {
            return Ok(Agents::default());
        };
        let agents = store.list_agents().map_err(|error| mailbox_error(&error))?;
        Ok(Agents { agents: agents.into_iter().map(agent_line).collect() })
    }
}

impl Handle<RemoveAgent> for Service {
    fn handle(&self, request: &RemoveAgent) -> Result<Removed, Error> {
        request.check_params()?;
        let home = require_home(self)?;
        let mut store = open_mailbox(&home)?;
        // Spooled messages count as messages of the agent.
        Spool::new(&home.spool())
            .drain_into(&mut store, self.clock.now().0)
            .map_err(|error| mailbox_error(&error))?;
        let messages = store.remove_agent(&request.name).map_err(|error| mailbox_error(&error))?;
        Ok(Removed { name: request.name.clone(), messages })
    }
}
