//! Messages between agents: taken in by a process that stays, left for it by any other.
//!
//! Does not hand them out: that is `deliver`.

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

/// A message that has passed through so many agents goes round in a circle.
const HOPS: u32 = 4;
/// How often it is looked whether a reply has come.
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
    let told = Error::new(code, error.to_string());
    match error {
        mailbox::Error::Unknown(name) => {
            told.hint("loci agent list").hint(format!("loci agent add {name} <directory>"))
        }
        mailbox::Error::Taken(_) => told.hint("a key names one message; leave it out to have one made"),
        mailbox::Error::Busy(name) => told.hint(format!("loci agent messages --agent {name}")),
        _ => told.hint("loci doctor"),
    }
}

impl Handle<Dispatch> for Service {
    fn handle(&self, ask: &Dispatch) -> Result<MessageLine, Error> {
        dispatch(self, ask)
    }
}

fn dispatch(service: &Service, ask: &Dispatch) -> Result<MessageLine, Error> {
    ask.check()?;
    let home = own(service)?;
    let letter = letter(service, ask)?;
    let Some(stays) = &service.stays else { return leave(&home, &letter) };
    let mut post = open(&home)?;
    let (id, _) = post.accept(&letter, service.clock.now().0).map_err(|error| failed(&error))?;
    stays();
    let until = Instant::now() + Duration::from_secs(ask.wait_seconds);
    loop {
        let message = one(&post, id)?;
        let over = matches!(message.state, State::Answered | State::Failed);
        if over || Instant::now() >= until || service.progress.stopped() {
            return Ok(MessageLine { text: String::new(), ..line(message) });
        }
        std::thread::sleep(LOOK);
    }
}

impl Service {
    /// There are clients that tell the servers they start nothing of whom they work for: who asks in the directory of an agent that
    /// is at work on a message speaks for that agent. Else it would pass for its user, and two of them could go on for ever.
    pub fn speak_for_agent(&mut self) {
        if env::text(&self.places, "LOCI_AGENT").is_some() {
            return;
        }
        let Some((agent, hops)) = self.at_work_here() else { return };
        self.places.vars.insert("LOCI_AGENT", agent.into());
        self.places.vars.insert("LOCI_HOPS", (hops + 1).to_string().into());
    }

    fn at_work_here(&self) -> Option<(String, u32)> {
        let post = Post::look(&self.home()?.post())?;
        let here = self.cwd.canonicalize().ok()?;
        let wanted = Wanted { state: Some(State::Running), limit: 100, ..Wanted::default() };
        let running = post.messages(&wanted).ok()?;
        let own = |agent: &Agent| here.starts_with(&agent.directory);
        let agents = post.agents().ok()?;
        // Of several, whoever would go furthest.
        let found = running
            .iter()
            .filter(|message| agents.iter().any(|it| it.name == message.letter.agent && own(it)));
        found.map(|message| (message.letter.agent.clone(), message.letter.hops)).max_by_key(|(_, hops)| *hops)
    }
}

/// What is kept of a message is masked like everything else: another agent finds a secret where the first one did.
fn letter(service: &Service, ask: &Dispatch) -> Result<Letter, Error> {
    let hops = env::text(&service.places, "LOCI_HOPS").and_then(|n| n.parse().ok()).unwrap_or(0);
    if hops >= HOPS {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("this message has passed through {hops} agents already"),
        )
        .hint("answer it instead of handing it on"));
    }
    let key = match &ask.key {
        Some(key) => key.clone(),
        None => home::token().map_err(history::error::read_error)?,
    };
    let from = ask.from.clone().or_else(|| env::text(&service.places, "LOCI_AGENT")).unwrap_or_default();
    Ok(Letter {
        key,
        agent: ask.agent.clone(),
        sender: from,
        text: service.history().veiled(&ask.message),
        hops,
    })
}

/// Nobody is there to take it in.
fn leave(home: &Home, letter: &Letter) -> Result<MessageLine, Error> {
    let known = Post::look(&home.post()).and_then(|post| post.agent(&letter.agent).ok()?);
    if known.is_none() {
        return Err(failed(&mailbox::Error::Unknown(letter.agent.clone())));
    }
    Spool::at(&home.spool()).leave(letter).map_err(|error| home::unwritable(&home.spool(), &error))?;
    Ok(MessageLine {
        key: letter.key.clone(),
        agent: letter.agent.clone(),
        from: letter.sender.clone(),
        state: "spooled".to_string(),
        next: Some("it is handed over when a daemon runs: `loci daemon start`".to_string()),
        ..MessageLine::default()
    })
}

fn one(post: &Post, id: i64) -> Result<Message, Error> {
    let found = post.messages(&Wanted { ids: &[id], limit: 1, ..Wanted::default() });
    let found = found.map_err(|error| failed(&error))?.pop();
    found.ok_or_else(|| Error::new(Code::NotFound, format!("message {id} is gone")))
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
    fn handle(&self, ask: &ListMessages) -> Result<Messages, Error> {
        list_messages(self, ask)
    }
}

fn list_messages(service: &Service, ask: &ListMessages) -> Result<Messages, Error> {
    ask.check()?;
    let home = own(service)?;
    let spooled = Spool::at(&home.spool()).waiting();
    let Some(post) = Post::look(&home.post()) else { return Ok(Messages { spooled, ..Messages::default() }) };
    let state = State::ALL.into_iter().find(|state| ask.state.as_deref() == Some(state.word()));
    let ids = ask.numbers()?;
    let wanted = Wanted { ids: &ids, agent: ask.agent.as_deref(), state, limit: ask.limit };
    let found = post.messages(&wanted).map_err(|error| failed(&error))?;
    Ok(Messages { messages: found.into_iter().map(line).collect(), spooled })
}

impl Handle<AddAgent> for Service {
    fn handle(&self, ask: &AddAgent) -> Result<AgentLine, Error> {
        add_agent(self, ask)
    }
}

fn add_agent(service: &Service, ask: &AddAgent) -> Result<AgentLine, Error> {
    ask.check()?;
    let directory = service.cwd.join(ask.directory.as_deref().unwrap_or("."));
    let directory = directory.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
        Error::new(Code::NotFound, format!("{} is no directory", directory.display()))
            .hint(api::mailbox::ADD.example)
    })?;
    let agent = Agent {
        name: ask.name.clone(),
        directory: directory.to_string_lossy().into_owned(),
        client: ask.client.clone().unwrap_or_else(|| api::mailbox::CLIENTS[0].to_string()),
        since: service.clock.now().0,
        ..Agent::default()
    };
    let mut post = open(&own(service)?)?;
    post.add_agent(&agent).map_err(|error| failed(&error))?;
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
    fn handle(&self, ask: &ListAgents) -> Result<Agents, Error> {
        list_agents(self, ask)
    }
}

fn list_agents(service: &Service, ask: &ListAgents) -> Result<Agents, Error> {
    ask.check()?;
    let Some(post) = Post::look(&own(service)?.post()) else { return Ok(Agents::default()) };
    let agents = post.agents().map_err(|error| failed(&error))?;
    Ok(Agents { agents: agents.into_iter().map(agent_line).collect() })
}

impl Handle<RemoveAgent> for Service {
    fn handle(&self, ask: &RemoveAgent) -> Result<Removed, Error> {
        remove_agent(self, ask)
    }
}

fn remove_agent(service: &Service, ask: &RemoveAgent) -> Result<Removed, Error> {
    ask.check()?;
    let home = own(service)?;
    let mut post = open(&home)?;
    // What was left for it counts among its messages.
    Spool::at(&home.spool()).drain(&mut post, service.clock.now().0).map_err(|error| failed(&error))?;
    let messages = post.remove_agent(&ask.name).map_err(|error| failed(&error))?;
    Ok(Removed { name: ask.name.clone(), messages })
}
