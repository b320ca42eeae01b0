//! Whoever answers the operations, and the one way from a name and parameters to an answer that every door takes.
//!
//! Does not know the doors: the command line, a socket and a protocol all end here.

use crate::chats::{GatherChats, Gathered};
use crate::code::{
    BuildPack, CodeContext, CodeGraph, CodeStatus, CodeStatusAsk, Dismiss, Drawn, FindUsages,
    GetMemberOutline, GetOutline, GetPromptWindow, GetSemantic, InFocus, IndexCode, IndexedCode, Investigate,
    Investigation, ListPacks, Marked, Meant, NotesWritten, Outlined, PackBuilt, Packs, Pin, PromptWindow,
    ResolveSymbol, SearchSymbols, Semantic, StreamOp, Unpin, Used, WriteNotes,
};
use crate::mailbox::{
    AddAgent, AgentLine, Agents, Dispatch, ListAgents, ListMessages, MessageLine, Messages, RemoveAgent,
    Removed,
};
use crate::memory::{
    AcceptMemory, Consolidate, Consolidated, EditMemory, ExportMemory, ForgetMemory, ImportMemory,
    ListMemory, Memories, MemoryChanged, MemoryDocument, MemoryForgotten, MemoryImported, MemoryShown,
    PinMemory, RetireMemory, ShowMemory,
};
use crate::recommend::{Recommend, Recommended};
use crate::refs::{CleanedUp, Cleanup, ReadRef, RefRead};
use crate::resolve::{ResolveIds, Resolved};
use crate::search::{SearchConversations, SearchFound};
use crate::sessions::{ListSessions, Sessions};
use crate::setup::{SetupAsk, SetupDone};
use crate::spending::{Costs, Jobs, MemoryCosts, MemoryJobs, ModelRun};
use crate::status::{Status, StatusAsk};
use crate::upkeep::{
    ArchiveAsk, Archived, Checkup, DoctorAsk, ForgetAsk, Forgotten, Index, Indexed, Secrets, SecretsAsk,
    Severity,
};
use crate::{Code, Error, Exit, Operation, Request};
use serde::Serialize;
use serde_json::{Map, Value};

pub trait Caller {
    fn search_conversations(&self, ask: &SearchConversations) -> Result<SearchFound, Error>;
    fn gather_chats(&self, ask: &GatherChats) -> Result<Gathered, Error>;
    fn resolve_ids(&self, ask: &ResolveIds) -> Result<Resolved, Error>;
    fn sessions(&self, ask: &ListSessions) -> Result<Sessions, Error>;
    fn index(&self, ask: &Index) -> Result<Indexed, Error>;
    fn archive(&self, ask: &ArchiveAsk) -> Result<Archived, Error>;
    fn doctor(&self, ask: &DoctorAsk) -> Result<Checkup, Error>;
    fn secrets(&self, ask: &SecretsAsk) -> Result<Secrets, Error>;
    fn forget(&self, ask: &ForgetAsk) -> Result<Forgotten, Error>;
    fn read_ref(&self, ask: &ReadRef) -> Result<RefRead, Error>;
    fn cleanup(&self, ask: &Cleanup) -> Result<CleanedUp, Error>;
    fn setup(&self, ask: &SetupAsk) -> Result<SetupDone, Error>;
    fn status(&self, ask: &StatusAsk) -> Result<Status, Error>;
    fn get_outline(&self, ask: &GetOutline) -> Result<Outlined, Error>;
    fn resolve_symbol(&self, ask: &ResolveSymbol) -> Result<Meant, Error>;
    fn search_symbols(&self, ask: &SearchSymbols) -> Result<Meant, Error>;
    fn find_usages(&self, ask: &FindUsages) -> Result<Used, Error>;
    fn code_graph(&self, ask: &CodeGraph) -> Result<Drawn, Error>;
    fn get_member_outline(&self, ask: &GetMemberOutline) -> Result<Outlined, Error>;
    fn get_semantic(&self, ask: &GetSemantic) -> Result<Semantic, Error>;
    fn write_notes(&self, ask: &WriteNotes) -> Result<NotesWritten, Error>;
    fn investigate(&self, ask: &Investigate) -> Result<Investigation, Error>;
    fn stream_op(&self, ask: &StreamOp) -> Result<Investigation, Error>;
    fn build_pack(&self, ask: &BuildPack) -> Result<PackBuilt, Error>;
    fn list_packs(&self, ask: &ListPacks) -> Result<Packs, Error>;
    fn get_prompt_window(&self, ask: &GetPromptWindow) -> Result<PromptWindow, Error>;
    fn pin(&self, ask: &Pin) -> Result<Marked, Error>;
    fn unpin(&self, ask: &Unpin) -> Result<Marked, Error>;
    fn dismiss(&self, ask: &Dismiss) -> Result<Marked, Error>;
    fn code_context(&self, ask: &CodeContext) -> Result<InFocus, Error>;
    fn index_code(&self, ask: &IndexCode) -> Result<IndexedCode, Error>;
    fn code_status(&self, ask: &CodeStatusAsk) -> Result<CodeStatus, Error>;
    fn dispatch(&self, ask: &Dispatch) -> Result<MessageLine, Error>;
    fn list_messages(&self, ask: &ListMessages) -> Result<Messages, Error>;
    fn add_agent(&self, ask: &AddAgent) -> Result<AgentLine, Error>;
    fn list_agents(&self, ask: &ListAgents) -> Result<Agents, Error>;
    fn remove_agent(&self, ask: &RemoveAgent) -> Result<Removed, Error>;
    fn recommend(&self, ask: &Recommend) -> Result<Recommended, Error>;
    fn consolidate(&self, ask: &Consolidate) -> Result<Consolidated, Error>;
    fn list_memory(&self, ask: &ListMemory) -> Result<Memories, Error>;
    fn show_memory(&self, ask: &ShowMemory) -> Result<MemoryShown, Error>;
    fn edit_memory(&self, ask: &EditMemory) -> Result<MemoryChanged, Error>;
    fn pin_memory(&self, ask: &PinMemory) -> Result<MemoryChanged, Error>;
    fn retire_memory(&self, ask: &RetireMemory) -> Result<MemoryChanged, Error>;
    fn accept_memory(&self, ask: &AcceptMemory) -> Result<MemoryChanged, Error>;
    fn forget_memory(&self, ask: &ForgetMemory) -> Result<MemoryForgotten, Error>;
    fn export_memory(&self, ask: &ExportMemory) -> Result<MemoryDocument, Error>;
    fn import_memory(&self, ask: &ImportMemory) -> Result<MemoryImported, Error>;
    fn memory_jobs(&self, ask: &MemoryJobs) -> Result<Jobs, Error>;
    fn memory_costs(&self, ask: &MemoryCosts) -> Result<Costs, Error>;
}

/// What came back, of whichever operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Search(SearchFound),
    Gathered(Gathered),
    Resolved(Resolved),
    Sessions(Sessions),
    Indexed(Indexed),
    Archived(Archived),
    Checkup(Checkup),
    Secrets(Secrets),
    Forgotten(Forgotten),
    RefRead(RefRead),
    CleanedUp(CleanedUp),
    Setup(SetupDone),
    Status(Status),
    Outlined(Outlined),
    Meant(Meant),
    Used(Used),
    Drawn(Drawn),
    Semantic(Semantic),
    NotesWritten(NotesWritten),
    Investigation(Investigation),
    PackBuilt(PackBuilt),
    Packs(Packs),
    Window(PromptWindow),
    Marked(Marked),
    InFocus(InFocus),
    IndexedCode(IndexedCode),
    CodeStatus(CodeStatus),
    Message(MessageLine),
    Messages(Messages),
    Agent(AgentLine),
    Agents(Agents),
    Removed(Removed),
    Recommended(Recommended),
    Consolidated(Consolidated),
    Memories(Memories),
    MemoryShown(MemoryShown),
    MemoryChanged(MemoryChanged),
    MemoryForgotten(MemoryForgotten),
    MemoryDocument(MemoryDocument),
    MemoryImported(MemoryImported),
    Jobs(Jobs),
    Costs(Costs),
}

/// Each operation once: its name, who answers it, and what its answer is.
macro_rules! answers {
    ($($name:literal => $method:ident: $answer:ident,)*) => {
        /// Asks an operation by name.
        pub fn call(caller: &dyn Caller, operation: &Operation, params: Map<String, Value>) -> Result<Answer, Error> {
            match operation.name {
                $($name => caller.$method(&Request::read(params)?).map(Answer::$answer),)*
                other => Err(Error::new(Code::InternalError, format!("{other} is listed but not answered"))),
            }
        }

        /// An answer that was sent as JSON, as it was before.
        pub fn read_answer(operation: &Operation, sent: Value) -> Result<Answer, Error> {
            let read = match operation.name {
                $($name => serde_json::from_value(sent).map(Answer::$answer),)*
                other => return Err(Error::new(Code::InternalError, format!("{other} has no answer"))),
            };
            read.map_err(|error| Error::new(Code::InternalError, format!("{}: {error}", operation.name)))
        }
    };
}

answers! {
    "search_conversations" => search_conversations: Search,
    "gather_chats" => gather_chats: Gathered,
    "resolve_ids" => resolve_ids: Resolved,
    "list_sessions" => sessions: Sessions,
    "index" => index: Indexed,
    "archive" => archive: Archived,
    "doctor" => doctor: Checkup,
    "secrets" => secrets: Secrets,
    "forget" => forget: Forgotten,
    "read_ref" => read_ref: RefRead,
    "cleanup_temp_files" => cleanup: CleanedUp,
    "setup" => setup: Setup,
    "status" => status: Status,
    "get_outline" => get_outline: Outlined,
    "resolve_symbol" => resolve_symbol: Meant,
    "search_symbols" => search_symbols: Meant,
    "find_usages" => find_usages: Used,
    "code_graph" => code_graph: Drawn,
    "get_member_outline" => get_member_outline: Outlined,
    "get_semantic" => get_semantic: Semantic,
    "write_notes" => write_notes: NotesWritten,
    "investigate" => investigate: Investigation,
    "stream_op" => stream_op: Investigation,
    "build_pack" => build_pack: PackBuilt,
    "list_packs" => list_packs: Packs,
    "get_prompt_window" => get_prompt_window: Window,
    "pin" => pin: Marked,
    "unpin" => unpin: Marked,
    "dismiss" => dismiss: Marked,
    "code_context" => code_context: InFocus,
    "index_code" => index_code: IndexedCode,
    "code_status" => code_status: CodeStatus,
    "dispatch" => dispatch: Message,
    "list_messages" => list_messages: Messages,
    "add_agent" => add_agent: Agent,
    "list_agents" => list_agents: Agents,
    "remove_agent" => remove_agent: Removed,
    "recommend" => recommend: Recommended,
    "consolidate" => consolidate: Consolidated,
    "list_memory" => list_memory: Memories,
    "show_memory" => show_memory: MemoryShown,
    "edit_memory" => edit_memory: MemoryChanged,
    "pin_memory" => pin_memory: MemoryChanged,
    "retire_memory" => retire_memory: MemoryChanged,
    "accept_memory" => accept_memory: MemoryChanged,
    "forget_memory" => forget_memory: MemoryForgotten,
    "export_memory" => export_memory: MemoryDocument,
    "import_memory" => import_memory: MemoryImported,
    "memory_jobs" => memory_jobs: Jobs,
    "memory_costs" => memory_costs: Costs,
}

impl Answer {
    /// As an agent gets it: without what only a screen needs, which is a fifth of what a search finds.
    pub fn to_agent(&self) -> Value {
        let mut answer = serde_json::to_value(self).unwrap_or_default();
        if matches!(self, Answer::Search(_)) {
            leave_out(&mut answer, &["highlights", "resume"]);
        }
        answer
    }

    /// Whether a dry run found anything that doing it would change.
    pub fn pending(&self) -> bool {
        match self {
            Answer::Setup(done) => done.changes() > 0,
            other => other.exit() == Exit::Found,
        }
    }

    /// How a process that asked only this ends.
    pub fn exit(&self) -> Exit {
        let (empty, partial) = match self {
            Answer::Search(found) => (found.results.is_empty(), found.partial),
            Answer::Gathered(gathered) => (gathered.is_empty(), gathered.partial()),
            Answer::Resolved(found) => (found.chats.is_empty() && found.messages.is_empty(), false),
            Answer::Sessions(found) => (found.sessions.is_empty(), false),
            Answer::Indexed(done) => (false, done.problems > 0),
            Answer::Message(message) if message.state == "failed" => return Exit::Failed,
            Answer::Archived(_)
            | Answer::Message(_)
            | Answer::CleanedUp(_)
            | Answer::Status(_)
            | Answer::Outlined(_)
            | Answer::Marked(_)
            | Answer::IndexedCode(_)
            | Answer::CodeStatus(_)
            | Answer::Agent(_)
            | Answer::Removed(_)
            | Answer::MemoryShown(_)
            | Answer::MemoryChanged(_)
            | Answer::MemoryImported(_) => (false, false),
            Answer::Messages(found) => (found.messages.is_empty() && found.spooled == 0, false),
            Answer::Agents(found) => (found.agents.is_empty(), false),
            Answer::Consolidated(done) => {
                (done.is_empty(), done.unread > 0 || done.model.as_ref().is_some_and(ModelRun::fell_short))
            }
            Answer::Memories(found) => (found.memories.is_empty(), false),
            Answer::MemoryForgotten(gone) => (gone.memories.is_empty(), false),
            Answer::MemoryDocument(all) => (all.sessions.is_empty() && all.facts.is_empty(), false),
            Answer::Semantic(note) => (note.text.is_none(), false),
            Answer::NotesWritten(done) => (done.notes.is_empty(), done.model.fell_short()),
            Answer::Investigation(it) => {
                let nothing = it.answer.as_ref().is_some_and(|found| found.evidence.is_empty());
                (nothing, matches!(it.state.as_str(), "failed" | "interrupted"))
            }
            Answer::PackBuilt(pack) => (pack.types.is_empty(), false),
            Answer::Packs(found) => (found.packs.is_empty(), false),
            Answer::Window(window) => (window.shown.is_empty(), false),
            Answer::InFocus(focus) => (focus.context.is_empty() && !focus.changed, false),
            Answer::Recommended(told) => (told.card.is_none(), false),
            Answer::Meant(meant) => (meant.candidates.is_empty(), false),
            Answer::Used(used) => (used.usages.is_empty(), false),
            Answer::Drawn(drawn) => (drawn.types == 0, false),
            Answer::Checkup(checkup) => {
                let problem = checkup.findings.iter().any(|f| f.severity == Severity::Problem);
                return if problem { Exit::Failed } else { Exit::Found };
            }
            Answer::Jobs(jobs) => {
                (jobs.jobs.is_empty() && jobs.closed.is_empty() && jobs.retried == 0, false)
            }
            Answer::Costs(costs) => (costs.total.calls == 0, false),
            Answer::Secrets(secrets) => (secrets.found.is_empty(), false),
            Answer::RefRead(read) => (read.lines.is_empty() && read.part.is_none(), false),
            Answer::Forgotten(gone) => (gone.chats.is_empty() && gone.events == 0, false),
            Answer::Setup(done) if done.failed() => return Exit::Failed,
            Answer::Setup(done) => (done.is_empty(), false),
        };
        match (partial, empty) {
            (true, _) => Exit::Incomplete,
            (_, true) => Exit::Nothing,
            _ => Exit::Found,
        }
    }
}

fn leave_out(value: &mut Value, names: &[&str]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| leave_out(item, names)),
        Value::Object(map) => {
            map.retain(|name, _| !names.contains(&name.as_str()));
            map.values_mut().for_each(|item| leave_out(item, names));
        }
        _ => {}
    }
}
