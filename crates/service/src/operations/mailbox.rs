//! Messages between agents: accepted by the daemon, spooled by any other process until a daemon runs.
//!
//! Does not deliver them: that is `delivery`.

use crate::{Service, env};
use api::mailbox::{
    AddAgent, AgentLine, Agents, Dispatch, ListAgents, ListMessages, MessageLine, Messages, RemoveAgent,
    Removed,
};
use api::{Code, Error, Handle, Request};
use history::error::homeless;
use history::home::{self, Home};
use mailbox::{Agent, Letter, Message, Post, Spool, State, Wanted};
use std::time::{Duration, Instant};

/// A message that has passed through this many agents is considered a loop.
const HOPS: u32 = 4;
/// Polling interval while waiting for a reply.
const LOOK: Duration = Duration::from_millis(25);

fn own(service: &Service) -> Result<Home, Error> {
    service.home().ok_or_else(homeless)
}

pub(crate) fn open(home: &Home) -> Result<Post, Error> {
    home.make()?;
    Post::open(&home.post()).map_err(|error| failed(&error))
}

pub(crate) fn failed(error: &mailbox::Error) -> Error {
    let code = match error {
        mailbox::Error::Unknown(_) => Code::NotFound,
        mailbox::Error::Busy(_) => Code::WriterBusy,
        mailbox::Error::Taken(_) => Code::InvalidArgument,
        _ => Code::ReadError,
    };
    let mapped = Error::new(code, error.to_string());
    match error {
        mailbox::Error::Unknown(name) => {
            mapped.hint("loci agent list").hint(format!("loci agent add {name} <directory>"))
        }
        mailbox::Error::Taken(_) => mapped.hint("a key identifies one message; omit it to generate one"),
        mailbox::Error::Busy(name) => mapped.hint(format!("loci agent messages --agent {name}")),
        _ => mapped.hint("loci doctor"),
    }
}

impl Handle<Dispatch> for Service {
    fn handle(&self, request: &Dispatch) -> Result<MessageLine, Error> {
        dispatch(self, request)
    }
}

fn dispatch(service: &Service, request: &Dispatch) -> Result<MessageLine, Error> {
    request.check()?;
    let home = own(service)?;
    let outgoing = letter(service, request)?;
    let Some(wake_daemon) = &service.stays else { return leave(&home, &outgoing) };
    let mut store = open(&home)?;
    let (id, _) = store.accept(&outgoing, service.clock.now().0).map_err(|error| failed(&error))?;
    wake_daemon();
    let until = Instant::now() + Duration::from_secs(request.wait_seconds);
    loop {
        let message = one(&store, id)?;
        let over = matches!(message.state, State::Answered | State::Failed);
        if over || Instant::now() >= until || service.progress.stopped() {
            return Ok(MessageLine { text: String::new(), ..line(message) });
        }
        std::thread::sleep(LOOK);
    }
}

impl Service {
    /// Sets the sender from the working directory. Some clients do not pass their identity to the MCP servers they start. A
    /// request from the directory of an agent that is processing a message counts as sent by that agent. Otherwise it would count
    /// as sent by the user, and two agents could message each other forever.
    pub fn speak_for_agent(&mut self) {
        if env::text(&self.places, "LOCI_AGENT").is_some() {
            return;
        }
        let Some((agent, hops)) = self.at_work_here() else { return };
        self.places.vars.insert("LOCI_AGENT", agent.into());
        self.places.vars.insert("LOCI_HOPS", (hops + 1).to_string().into());
    }

    fn at_work_here(&self) -> Option<(String, u32)> {
        let store = Post::look(&self.home()?.post())?;
        let here = self.cwd.canonicalize().ok()?;
        let wanted = Wanted { state: Some(State::Running), limit: 100, ..Wanted::default() };
        let running = store.messages(&wanted).ok()?;
        let own = |agent: &Agent| here.starts_with(&agent.directory);
        let agents = store.agents().ok()?;
        // With several candidates, take the highest hop count.
        let found = running
            .iter()
            .filter(|message| agents.iter().any(|it| it.name == message.letter.agent && own(it)));
        found.map(|message| (message.letter.agent.clone(), message.letter.hops)).max_by_key(|(_, hops)| *hops)
    }
}

/// Builds the message to store. Its text is masked like all stored text: the receiving agent can find a secret where the
/// sender found it.
fn letter(service: &Service, request: &Dispatch) -> Result<Letter, Error> {
    let hops = env::text(&service.places, "LOCI_HOPS").and_then(|n| n.parse().ok()).unwrap_or(0);
    if hops >= HOPS {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("message already passed through {hops} agents"),
        )
        .hint("answer it instead of forwarding it"));
    }
    let key = match &request.key {
        Some(key) => key.clone(),
        None => home::token().map_err(history::error::read_error)?,
    };
    let from = request.from.clone().or_else(|| env::text(&service.places, "LOCI_AGENT")).unwrap_or_default();
    Ok(Letter {
        key,
        agent: request.agent.clone(),
        sender: from,
        text: service.history().veiled(&request.message),
        hops,
    })
}

/// Spools a message because no daemon runs in this process.
fn leave(home: &Home, outgoing: &Letter) -> Result<MessageLine, Error> {
    let known = Post::look(&home.post()).and_then(|store| store.agent(&outgoing.agent).ok()?);
    if known.is_none() {
        return Err(failed(&mailbox::Error::Unknown(outgoing.agent.clone())));
    }
    Spool::at(&home.spool()).leave(outgoing).map_err(|error| home::unwritable(&home.spool(), &error))?;
    Ok(MessageLine {
        key: outgoing.key.clone(),
        agent: outgoing.agent.clone(),
        from: outgoing.sender.clone(),
        state: "spooled".to_string(),
        next: Some("it is handed over when a daemon runs: `loci daemon start`".to_string()),
        ..MessageLine::default()
    })
}

fn one(store: &Post, id: i64) -> Result<Message, Error> {
    let found = store.messages(&Wanted { ids: &[id], limit: 1, ..Wanted::default() });
    let found = found.map_err(|error| failed(&error))?.pop();
    found.ok_or_else(|| Error::new(Code::NotFound, format!("message {id} no longer exists")))
}

fn line(message: Message) -> MessageLine {
    let open = matches!(message.state, State::Waiting | State::Running);
    MessageLine {
        id: Some(message.id),
        key: message.letter.key,
        agent: message.letter.agent,
        from: message.letter.sender,
        state: message.state.word().to_string(),
        text: message.letter.text,
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
        list_messages(self, request)
    }
}

fn list_messages(service: &Service, request: &ListMessages) -> Result<Messages, Error> {
    request.check()?;
    let home = own(service)?;
    let spooled = Spool::at(&home.spool()).waiting();
    let Some(store) = Post::look(&home.post()) else {
        return Ok(Messages { spooled, ..Messages::default() });
    };
    let state = State::ALL.into_iter().find(|state| request.state.as_deref() == Some(state.word()));
    let ids = request.numbers()?;
    let wanted = Wanted { ids: &ids, agent: request.agent.as_deref(), state, limit: request.limit };
    let found = store.messages(&wanted).map_err(|error| failed(&error))?;
    Ok(Messages { messages: found.into_iter().map(line).collect(), spooled })
}

impl Handle<AddAgent> for Service {
    fn handle(&self, request: &AddAgent) -> Result<AgentLine, Error> {
        add_agent(self, request)
    }
}

fn add_agent(service: &Service, request: &AddAgent) -> Result<AgentLine, Error> {
    request.check()?;
    let directory = service.cwd.join(request.directory.as_deref().unwrap_or("."));
    let directory = directory.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
        Error::new(Code::NotFound, format!("{} is not a directory", directory.display()))
            .hint(api::mailbox::ADD.example)
    })?;
    let agent = Agent {
        name: request.name.clone(),
        directory: directory.to_string_lossy().into_owned(),
        client: request.client.clone().unwrap_or_else(|| api::mailbox::CLIENTS[0].to_string()),
        since: service.clock.now().0,
        ..Agent::default()
    };
    let mut store = open(&own(service)?)?;
    store.add_agent(&agent).map_err(|error| failed(&error))?;
    let missing = env::programs(&service.places, &agent.client).is_empty();
    let note = missing.then(|| format!("there is no program `{}` on your PATH yet", agent.client));
    Ok(AgentLine { note, ..agent_line(agent) })
}

fn agent_line(agent: Agent) -> AgentLine {
    AgentLine {
        name: agent.name,
        directory: agent.directory,
        client: agent.client,
        session: agent.session,
        spoke: agent.spoke,
        note: None,
    }
}

impl Handle<ListAgents> for Service {
    fn handle(&self, request: &ListAgents) -> Result<Agents, Error> {
        list_agents(self, request)
    }
}

fn list_agents(service: &Service, request: &ListAgents) -> Result<Agents, Error> {
    request.check()?;
    let Some(store) = Post::look(&own(service)?.post()) else { return Ok(Agents::default()) };
    let agents = store.agents().map_err(|error| failed(&error))?;
    Ok(Agents { agents: agents.into_iter().map(agent_line).collect() })
}

impl Handle<RemoveAgent> for Service {
    fn handle(&self, request: &RemoveAgent) -> Result<Removed, Error> {
        remove_agent(self, request)
    }
}

fn remove_agent(service: &Service, request: &RemoveAgent) -> Result<Removed, Error> {
    request.check()?;
    let home = own(service)?;
    let mut store = open(&home)?;
    // Spooled messages count as messages of the agent.
    Spool::at(&home.spool()).drain(&mut store, service.clock.now().0).map_err(|error| failed(&error))?;
    let messages = store.remove_agent(&request.name).map_err(|error| failed(&error))?;
    Ok(Removed { name: request.name.clone(), messages })
}
