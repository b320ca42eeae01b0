//! The operations of `api`, each handed on to the room that answers it.
//!
//! Does not answer anything itself.

use crate::{Service, ops};
use api::chats::{GatherChats, Gathered};
use api::code::{
    BuildPack, CodeContext, CodeGraph, CodeStatus, CodeStatusAsk, Dismiss, Drawn, FindUsages,
    GetMemberOutline, GetOutline, GetPromptWindow, GetSemantic, InFocus, IndexCode, IndexedCode, Investigate,
    Investigation, ListPacks, Marked, Meant, NotesWritten, Outlined, PackBuilt, Packs, Pin, PromptWindow,
    ResolveSymbol, SearchSymbols, Semantic, StreamOp, Unpin, Used, WriteNotes,
};
use api::mailbox::{
    AddAgent, AgentLine, Agents, Dispatch, ListAgents, ListMessages, MessageLine, Messages, RemoveAgent,
    Removed,
};
use api::memory::{
    AcceptMemory, Consolidate, Consolidated, EditMemory, ExportMemory, ForgetMemory, ImportMemory,
    ListMemory, Memories, MemoryChanged, MemoryDocument, MemoryForgotten, MemoryImported, MemoryShown,
    PinMemory, RetireMemory, ShowMemory,
};
use api::recommend::{Recommend, Recommended};
use api::refs::{CleanedUp, Cleanup, ReadRef, RefRead};
use api::resolve::{ResolveIds, Resolved};
use api::search::{SearchConversations, SearchFound};
use api::sessions::{ListSessions, Sessions};
use api::setup::{SetupAsk, SetupDone};
use api::spending::{Costs, Jobs, MemoryCosts, MemoryJobs};
use api::status::{Status, StatusAsk};
use api::upkeep::{
    ArchiveAsk, Archived, Checkup, DoctorAsk, ForgetAsk, Forgotten, Index, Indexed, Secrets, SecretsAsk,
};
use api::{Caller, Control, Error, Look};

impl Caller for Service {
    fn search_conversations(&self, ask: &SearchConversations) -> Result<SearchFound, Error> {
        ops::search_conversations::search_conversations(self, ask)
    }

    fn gather_chats(&self, ask: &GatherChats) -> Result<Gathered, Error> {
        ops::gather_chats::gather_chats(self, ask)
    }

    fn resolve_ids(&self, ask: &ResolveIds) -> Result<Resolved, Error> {
        ops::resolve_ids::resolve_ids(self, ask)
    }

    fn sessions(&self, ask: &ListSessions) -> Result<Sessions, Error> {
        ops::sessions::sessions(self, ask)
    }

    fn index(&self, ask: &Index) -> Result<Indexed, Error> {
        ops::index::index(self, ask)
    }

    fn archive(&self, ask: &ArchiveAsk) -> Result<Archived, Error> {
        ops::archive::archive(self, ask)
    }

    fn doctor(&self, ask: &DoctorAsk) -> Result<Checkup, Error> {
        ops::doctor::doctor(self, ask)
    }

    fn secrets(&self, ask: &SecretsAsk) -> Result<Secrets, Error> {
        ops::secrets::secrets(self, ask)
    }

    fn forget(&self, ask: &ForgetAsk) -> Result<Forgotten, Error> {
        ops::forget::forget(self, ask)
    }

    fn read_ref(&self, ask: &ReadRef) -> Result<RefRead, Error> {
        self.refs().read(ask, self.limits(&Control::default())?)
    }

    fn cleanup(&self, ask: &Cleanup) -> Result<CleanedUp, Error> {
        self.refs().clean(ask)
    }

    fn setup(&self, ask: &SetupAsk) -> Result<SetupDone, Error> {
        ops::setup::setup(self, ask)
    }

    fn status(&self, ask: &StatusAsk) -> Result<Status, Error> {
        ops::status::status(self, ask)
    }

    fn get_outline(&self, ask: &GetOutline) -> Result<Outlined, Error> {
        ops::code::get_outline(self, ask)
    }

    fn resolve_symbol(&self, ask: &ResolveSymbol) -> Result<Meant, Error> {
        ops::code::resolve_symbol(self, ask)
    }

    fn search_symbols(&self, ask: &SearchSymbols) -> Result<Meant, Error> {
        ops::code::search_symbols(self, ask)
    }

    fn find_usages(&self, ask: &FindUsages) -> Result<Used, Error> {
        ops::code::find_usages(self, ask)
    }

    fn code_graph(&self, ask: &CodeGraph) -> Result<Drawn, Error> {
        ops::code::code_graph(self, ask)
    }

    fn get_member_outline(&self, ask: &GetMemberOutline) -> Result<Outlined, Error> {
        ops::code::get_member_outline(self, ask)
    }

    fn get_semantic(&self, ask: &GetSemantic) -> Result<Semantic, Error> {
        ops::code::get_semantic(self, ask)
    }

    fn write_notes(&self, ask: &WriteNotes) -> Result<NotesWritten, Error> {
        ops::code::write_notes(self, ask)
    }

    fn investigate(&self, ask: &Investigate) -> Result<Investigation, Error> {
        ops::code::investigate(self, ask)
    }

    fn stream_op(&self, ask: &StreamOp) -> Result<Investigation, Error> {
        ops::code::stream_op(self, ask)
    }

    fn build_pack(&self, ask: &BuildPack) -> Result<PackBuilt, Error> {
        ops::code::build_pack(self, ask)
    }

    fn list_packs(&self, ask: &ListPacks) -> Result<Packs, Error> {
        ops::code::list_packs(self, ask)
    }

    fn get_prompt_window(&self, ask: &GetPromptWindow) -> Result<PromptWindow, Error> {
        ops::code::get_prompt_window(self, ask)
    }

    fn pin(&self, ask: &Pin) -> Result<Marked, Error> {
        ops::code::pin(self, ask)
    }

    fn unpin(&self, ask: &Unpin) -> Result<Marked, Error> {
        ops::code::unpin(self, ask)
    }

    fn dismiss(&self, ask: &Dismiss) -> Result<Marked, Error> {
        ops::code::dismiss(self, ask)
    }

    fn code_context(&self, ask: &CodeContext) -> Result<InFocus, Error> {
        ops::code::code_context(self, ask)
    }

    fn index_code(&self, ask: &IndexCode) -> Result<IndexedCode, Error> {
        ops::code::index_code(self, ask)
    }

    fn code_status(&self, ask: &CodeStatusAsk) -> Result<CodeStatus, Error> {
        ops::code::code_status(self, ask)
    }

    fn dispatch(&self, ask: &Dispatch) -> Result<MessageLine, Error> {
        ops::mailbox::dispatch(self, ask)
    }

    fn list_messages(&self, ask: &ListMessages) -> Result<Messages, Error> {
        ops::mailbox::list_messages(self, ask)
    }

    fn add_agent(&self, ask: &AddAgent) -> Result<AgentLine, Error> {
        ops::mailbox::add_agent(self, ask)
    }

    fn list_agents(&self, ask: &ListAgents) -> Result<Agents, Error> {
        ops::mailbox::list_agents(self, ask)
    }

    fn remove_agent(&self, ask: &RemoveAgent) -> Result<Removed, Error> {
        ops::mailbox::remove_agent(self, ask)
    }

    fn recommend(&self, ask: &Recommend) -> Result<Recommended, Error> {
        ops::recommend::recommend(self, ask)
    }

    fn consolidate(&self, ask: &Consolidate) -> Result<Consolidated, Error> {
        ops::memory::consolidate(self, ask)
    }

    fn list_memory(&self, ask: &ListMemory) -> Result<Memories, Error> {
        ops::memory::list_memory(self, ask)
    }

    fn show_memory(&self, ask: &ShowMemory) -> Result<MemoryShown, Error> {
        ops::memory::show_memory(self, ask)
    }

    fn edit_memory(&self, ask: &EditMemory) -> Result<MemoryChanged, Error> {
        ops::memory::edit_memory(self, ask)
    }

    fn pin_memory(&self, ask: &PinMemory) -> Result<MemoryChanged, Error> {
        ops::memory::pin_memory(self, ask)
    }

    fn retire_memory(&self, ask: &RetireMemory) -> Result<MemoryChanged, Error> {
        ops::memory::retire_memory(self, ask)
    }

    fn accept_memory(&self, ask: &AcceptMemory) -> Result<MemoryChanged, Error> {
        ops::memory::accept_memory(self, ask)
    }

    fn forget_memory(&self, ask: &ForgetMemory) -> Result<MemoryForgotten, Error> {
        ops::memory::forget_memory(self, ask)
    }

    fn export_memory(&self, ask: &ExportMemory) -> Result<MemoryDocument, Error> {
        ops::memory::export_memory(self, ask)
    }

    fn import_memory(&self, ask: &ImportMemory) -> Result<MemoryImported, Error> {
        ops::memory::import_memory(self, ask)
    }

    fn memory_jobs(&self, ask: &MemoryJobs) -> Result<Jobs, Error> {
        ops::spending::memory_jobs(self, ask)
    }

    fn memory_costs(&self, ask: &MemoryCosts) -> Result<Costs, Error> {
        ops::spending::memory_costs(self, ask)
    }
}

impl Service {
    /// How answers are put into text where nobody looks at a terminal.
    pub fn plain_look(&self) -> Look {
        Look::plain(self.clock, &self.places.home.to_string_lossy())
    }
}
