//! The table of operations. The command line, the reference pages, the tools of an agent, dispatch by name and the tests are
//! generated from it.
//!
//! Does not know how an operation is implemented: see [`Handle`].

use crate::operation::{Handle, Operation, Request, Response};
use crate::{
    Code, Error, Exit, about, code, costs, digest, edits, gather_chats, import, mailbox, maintenance, memory,
    project, recommend, report, resolve_ids, saved_results, search, sessions, setup, status, sync, why,
};
use serde::Serialize;
use serde_json::{Map, Value};

/// Declares the operations by their request types, in the order of help. The first token is a dollar sign, for the macro that
/// this macro declares.
macro_rules! operations {
    ($d:tt $($module:ident::$request:ident,)*) => {
        pub const OPERATIONS: &[Operation] = &[$(*<$module::$request as Request>::OPERATION,)*];

        /// Implements every operation.
        pub trait Operations: $(Handle<$module::$request> +)* {}

        impl<T> Operations for T where T: $(Handle<$module::$request> +)* {}

        /// The response of any operation. Each variant has the name of its request type.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum AnyResponse {
            $($request(<$module::$request as Request>::Response),)*
        }

        /// Runs an operation with parameters that are not checked yet.
        pub fn call(
            operations: &dyn Operations,
            operation: &Operation,
            params: Map<String, Value>,
        ) -> Result<AnyResponse, Error> {
            $(if operation.name == <$module::$request as Request>::OPERATION.name {
                let request = <$module::$request as Request>::read(params)?;
                return Handle::<$module::$request>::handle(operations, &request).map(AnyResponse::$request);
            })*
            Err(missing_operation(operation))
        }

        /// Parses a response that was received as JSON.
        pub fn read_response(operation: &Operation, sent: Value) -> Result<AnyResponse, Error> {
            let invalid =
                |error| Error::new(Code::InternalError, format!("{}: {error}", operation.name));
            $(if operation.name == <$module::$request as Request>::OPERATION.name {
                return serde_json::from_value(sent).map(AnyResponse::$request).map_err(invalid);
            })*
            Err(missing_operation(operation))
        }

        /// Evaluates an expression with the response inside an [`AnyResponse`], whichever type it has.
        #[macro_export]
        macro_rules! with_response {
            ($d response:expr, $d inner:ident => $d body:expr) => {
                match $d response {
                    $($d crate::AnyResponse::$request($d inner) => $d body,)*
                }
            };
        }
    };
}

operations! { $
    search::SearchConversations,
    gather_chats::GatherChats,
    resolve_ids::ResolveIds,
    sessions::ListSessions,
    project::ListProjects,
    project::AliasProject,
    digest::DigestRequest,
    report::ReportRequest,
    why::Why,
    about::About,
    about::Handoff,
    maintenance::Index,
    import::ImportRequest,
    sync::SyncInit,
    sync::SyncJoin,
    sync::SyncAdmit,
    sync::SyncNow,
    sync::SyncPreview,
    sync::SyncStatusRequest,
    sync::SyncDevicesRequest,
    sync::SyncExclude,
    sync::SyncShare,
    sync::SyncUnshare,
    sync::SyncTake,
    sync::SyncRemove,
    sync::SyncRekey,
    sync::SyncCheck,
    sync::SyncLeave,
    maintenance::ArchiveRequest,
    maintenance::DoctorRequest,
    maintenance::SecretsRequest,
    maintenance::ForgetRequest,
    saved_results::ReadRef,
    saved_results::Cleanup,
    setup::SetupRequest,
    status::StatusRequest,
    code::GetOutline,
    code::GetMemberOutline,
    code::GetSource,
    code::FindSymbols,
    code::ResolveSymbol,
    code::SearchSymbols,
    code::FindUsages,
    code::CodeMap,
    code::CodeGraph,
    code::GetSemantic,
    code::WriteNotes,
    code::Investigate,
    code::StreamOp,
    code::BuildPack,
    code::ListPacks,
    code::GetPromptWindow,
    code::Pin,
    code::Unpin,
    code::Dismiss,
    code::CodeContext,
    code::IndexCode,
    code::CodeChanges,
    code::CodeStatusRequest,
    edits::RenameSymbol,
    edits::ReplaceSymbol,
    edits::InsertCode,
    edits::DeleteSymbol,
    edits::ChangeSignature,
    edits::MoveSymbol,
    edits::ExtractInterface,
    edits::BatchEdit,
    edits::ApplyEdit,
    edits::UndoEdit,
    edits::ShowEdit,
    edits::ListEdits,
    edits::TrustChecks,
    mailbox::Dispatch,
    mailbox::ListMessages,
    mailbox::AddAgent,
    mailbox::ListAgents,
    mailbox::RemoveAgent,
    recommend::Recommend,
    memory::Consolidate,
    memory::ListMemory,
    memory::ShowMemory,
    memory::AddMemory,
    memory::EditMemory,
    memory::PinMemory,
    memory::RetireMemory,
    memory::AcceptMemory,
    memory::ForgetMemory,
    memory::ExportMemory,
    memory::ImportMemory,
    costs::MemoryJobs,
    costs::MemoryCosts,
}

fn missing_operation(operation: &Operation) -> Error {
    Error::new(Code::InternalError, format!("{} is not in the table of operations", operation.name))
}

impl AnyResponse {
    pub fn exit(&self) -> Exit {
        with_response!(self, response => response.exit())
    }

    pub fn is_pending(&self) -> bool {
        with_response!(self, response => response.is_pending())
    }

    pub fn to_agent(&self) -> Value {
        with_response!(self, response => response.to_agent())
    }
}

/// The operation with this name or command.
pub fn operation_named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name || operation.command == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Param;
    use crate::about::{About, Handoff};
    use crate::code::{
        BuildPack, CodeChanges, CodeContext, CodeGraph, CodeStatusRequest, Dismiss, FindUsages,
        GetMemberOutline, GetOutline, GetPromptWindow, GetSemantic, GetSource, IndexCode, Investigate,
        ListPacks, Pin, ResolveSymbol, SearchSymbols, StreamOp, Unpin, WriteNotes,
    };
    use crate::costs::{MemoryCosts, MemoryJobs};
    use crate::digest::DigestRequest;
    use crate::edits::{
        ApplyEdit, BatchEdit, ChangeSignature, DeleteSymbol, ExtractInterface, InsertCode, ListEdits,
        MoveSymbol, RenameSymbol, ReplaceSymbol, ShowEdit, TrustChecks, UndoEdit,
    };
    use crate::gather_chats::GatherChats;
    use crate::import::ImportRequest;
    use crate::maintenance::{ArchiveRequest, DoctorRequest, ForgetRequest, Index, SecretsRequest};
    use crate::memory::{
        AcceptMemory, AddMemory, Consolidate, EditMemory, ExportMemory, ForgetMemory, ImportMemory,
        ListMemory, PinMemory, RetireMemory, ShowMemory,
    };
    use crate::project::{AliasProject, ListProjects};
    use crate::recommend::Recommend;
    use crate::report::ReportRequest;
    use crate::resolve_ids::ResolveIds;
    use crate::saved_results::{Cleanup, ReadRef};
    use crate::search::SearchConversations;
    use crate::sessions::ListSessions;
    use crate::setup::SetupRequest;
    use crate::why::Why;
    use serde_json::json;
    use std::fmt::Debug;

    fn object_of(value: impl Into<Value>) -> Map<String, Value> {
        match value.into() {
            Value::Object(map) => map,
            other => panic!("{other} is not an object"),
        }
    }

    /// Reads and writes a request that sets every parameter.
    fn round_trip<R: Request + PartialEq + Debug>(full: Value) {
        let operation = R::OPERATION;
        let given = object_of(full);
        let read = R::read(given.clone()).unwrap_or_else(|e| panic!("{}: {e}", operation.name));
        assert_eq!(object_of(serde_json::to_value(&read).unwrap()), given, "{}", operation.name);
        assert_eq!(R::read(read.non_default_params()).unwrap(), read);
        let mut known: Vec<&str> = given.keys().map(String::as_str).collect();
        let mut listed: Vec<&str> = operation.params.iter().map(|param| param.name).collect();
        known.sort_unstable();
        listed.sort_unstable();
        assert_eq!(known, listed, "{}: parameters of the table and of the type", operation.name);
        let error = R::read(object_of(json!({"nope": 1}))).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(error.message.contains("`nope`") && error.hints[0].starts_with("parameters: "), "{error:?}");
        assert!(serde_json::from_value::<R>(json!({"nope": 1})).is_err());
    }

    #[test]
    fn requests_round_trip_and_match_their_parameters() {
        round_trip::<SearchConversations>(json!({
            "intent_query": ["idea", "想法"], "time_window": {"start": 1, "end": 2}, "precision_mode": "fuzzy",
            "expand": "auto", "include_tools_in_search": false, "scope": "title", "role_filter": ["user"],
            "exclude_terms": ["x"], "match": "all", "limit_chats": 3, "limit_snippets_per_chat": 1,
            "snippet_window": 9, "response_mode": "text", "include_guidance": false, "source": ["codex"],
            "project": "/p", "device": "work", "mine": false, "include_own": true, "iteration": 4,
        }));
        round_trip::<GatherChats>(json!({"chatIds": ["a", "b"], "includeTools": false, "all": true}));
        round_trip::<ResolveIds>(json!({"chatIdPrefix": "a", "messageIdPrefix": "b"}));
        round_trip::<ListSessions>(
            json!({"source": ["codex"], "project": "/p", "since": "7d", "until": "today", "device": null, "mine": true, "limit": 3, "offset": 1, "reverse": true}),
        );
        round_trip::<DigestRequest>(json!({"since": "30d", "until": "today", "project": "/p"}));
        round_trip::<ReportRequest>(
            json!({"since": "90d", "until": "today", "project": "/p", "source": ["codex"]}),
        );
        round_trip::<About>(json!({"target": "a.rs", "budget": 900, "root": "/p"}));
        round_trip::<Handoff>(json!({"session": "7f", "to": "codex"}));
        round_trip::<Why>(json!({"target": "a.rs:3", "budget": 900, "format": "agent-trace", "root": "/p"}));
        round_trip::<ListProjects>(json!({"limit": 3, "offset": 1, "reverse": true}));
        round_trip::<AliasProject>(json!({"name": "shop", "folders": ["/srv/shop"], "remove": false}));
        round_trip::<Index>(json!({"rebuild": true}));
        round_trip::<ImportRequest>(json!({"file": "m.jsonl", "dry_run": true}));
        round_trip::<ArchiveRequest>(json!({"prune_to": "2G", "older_than": "365d", "dry_run": true}));
        assert_eq!(DoctorRequest::read(Map::new()).unwrap(), DoctorRequest::default());
        assert!(
            crate::status::StatusRequest::read(object_of(json!({"x": 1}))).unwrap_err().hints[0]
                .ends_with(": none")
        );
        round_trip::<SecretsRequest>(
            json!({"project": "/p", "source": ["codex"], "kind": ["aws"], "limit": 3}),
        );
        let forget = json!({"chat_ids": ["a"], "project": null, "matching": null, "dry_run": true});
        round_trip::<ForgetRequest>(forget);
        round_trip::<SetupRequest>(
            json!({"agents": ["codex"], "remove": true, "dry_run": true, "toolsets": []}),
        );
        round_trip::<SetupRequest>(
            json!({"agents": [], "remove": false, "dry_run": true, "toolsets": ["code"]}),
        );
        round_trip::<ReadRef>(json!({"ref": "a.jsonl", "offset": 1, "limit": 2, "from_byte": 3}));
        round_trip::<Recommend>(json!({"prompt": "a", "session": "b", "project": "/p", "threshold": 0.9}));
        round_trip::<Cleanup>(json!({"max_age_days": 1, "dry_run": true}));
    }

    #[test]
    fn code_requests_round_trip_and_match_their_parameters() {
        let named = json!({"path": "Store.Get", "root": "src"});
        round_trip::<GetOutline>(named.clone());
        round_trip::<GetMemberOutline>(named.clone());
        round_trip::<GetSource>(json!({"path": "Store.Get", "max_lines": 9, "root": "src"}));
        round_trip::<ResolveSymbol>(named.clone());
        round_trip::<GetSemantic>(named.clone());
        round_trip::<Pin>(named.clone());
        round_trip::<Unpin>(named.clone());
        round_trip::<Dismiss>(named);
        round_trip::<SearchSymbols>(json!({"query": "store", "limit": 3, "root": "src"}));
        round_trip::<FindUsages>(
            json!({"path": "Store", "max_results": 3, "certainty": "likely", "relation": "callers", "depth": 2,
                "under": "src/a", "without_tests": true, "by_file": true, "root": "src"}),
        );
        round_trip::<CodeGraph>(json!({"filter": "type:A", "form": "svg", "root": "src"}));
        round_trip::<BuildPack>(json!({"name": "core", "filter": "type:A", "budget": 9, "root": "src"}));
        round_trip::<WriteNotes>(
            json!({"path": "A", "filter": null, "limit": 2, "dry_run": true, "payload": true, "root": "src"}),
        );
        round_trip::<Investigate>(json!({"question": "how?", "scope": ["A"], "root": "src"}));
        round_trip::<StreamOp>(json!({"op": "O_a", "from": 1, "wait": 2, "root": "src"}));
        round_trip::<ListPacks>(json!({"root": "src"}));
        round_trip::<GetPromptWindow>(json!({"budget": 9, "pack": "core", "root": "src"}));
        round_trip::<CodeContext>(
            json!({"action": "add", "path": "A", "minutes": 9, "budget": 8000, "pack": null, "root": "src"}),
        );
        round_trip::<CodeContext>(
            json!({"action": "show", "path": "", "minutes": 30, "budget": 900, "pack": "core", "root": "src"}),
        );
        round_trip::<RenameSymbol>(json!({
            "path": "A.b", "new_name": "c", "in_comments": true, "include_likely": true, "check": true, "apply": true,
            "root": "/x",
        }));
        round_trip::<ReplaceSymbol>(
            json!({"path": "A.b", "text": "x", "whole": true, "check": true, "apply": true, "root": "/x"}),
        );
        round_trip::<InsertCode>(
            json!({"path": "A.b", "text": "x", "position": "before", "check": true, "apply": true, "root": "/x"}),
        );
        round_trip::<DeleteSymbol>(
            json!({"path": "A.b", "force": true, "check": true, "apply": true, "root": "/x"}),
        );
        round_trip::<ChangeSignature>(json!({
            "path": "A.b", "add": ["int c", "int d"], "value": ["1"], "remove": ["x"], "rename": ["y=z"],
            "order": ["z", "c", "d"], "include_likely": true, "check": true, "apply": true, "root": "/x",
        }));
        round_trip::<MoveSymbol>(
            json!({"path": "A", "to": "b.py", "check": true, "apply": true, "root": "/x"}),
        );
        round_trip::<ExtractInterface>(json!({
            "path": "A", "new_name": "B", "members": ["c"], "check": true, "apply": true, "root": "/x",
        }));
        let step = json!({
            "operation": "insert", "path": "A.b", "new_name": "", "text": "x", "position": "before", "whole": false,
            "force": false, "in_comments": false, "include_likely": false, "add": [], "value": [], "remove": [],
            "rename": [], "order": [], "to": "", "members": [],
        });
        round_trip::<BatchEdit>(
            json!({"step": [step], "file": null, "check": true, "apply": true, "root": "/x"}),
        );
        round_trip::<ApplyEdit>(
            json!({"id": "e1", "confirm": ["a.rs:1"], "leave": ["a.rs:2"], "root": "/x"}),
        );
        round_trip::<UndoEdit>(json!({"id": "e1", "root": "/x"}));
        round_trip::<ShowEdit>(json!({"id": "e1", "root": "/x"}));
        round_trip::<ListEdits>(json!({"root": "/x"}));
        round_trip::<TrustChecks>(json!({"revoke": true, "root": "/x"}));
        round_trip::<CodeStatusRequest>(json!({"root": "src"}));
        round_trip::<IndexCode>(json!({"scip": true, "root": "src"}));
        round_trip::<CodeChanges>(json!({"since": "v1", "under": "src/a", "root": "src"}));
    }

    #[test]
    fn memory_requests_round_trip_and_match_their_parameters() {
        round_trip::<Consolidate>(
            json!({"chat_ids": ["a"], "project": "/p", "since": "7d", "limit": 3, "no_model": true, "dry_run": true, "payload": true}),
        );
        round_trip::<MemoryJobs>(json!({"chat_ids": ["a"], "retry": true}));
        round_trip::<MemoryCosts>(json!({"since": "7d", "by": "model"}));
        round_trip::<ListMemory>(json!({
            "query": "pager", "kind": "sessions", "state": null, "tag": ["x"], "project": "/p", "since": "7d",
            "limit": 3, "offset": 1,
        }));
        round_trip::<ShowMemory>(json!({"id": "a"}));
        round_trip::<EditMemory>(json!({
            "id": "a", "name": "n", "summary": "s", "text": "t", "add_tag": ["x"], "remove_tag": ["y"],
        }));
        round_trip::<AddMemory>(json!({"text": "t", "project": "/p", "pin": true}));
        round_trip::<PinMemory>(json!({"id": "a", "off": true}));
        round_trip::<RetireMemory>(json!({"id": "a"}));
        round_trip::<AcceptMemory>(json!({"id": "a"}));
        round_trip::<ForgetMemory>(json!({"ids": ["a"], "dry_run": true}));
        round_trip::<ImportMemory>(json!({"file": "m.json"}));
        assert_eq!(ExportMemory::read(Map::new()).unwrap(), ExportMemory {});
    }

    #[test]
    fn documented_search_requests_are_accepted() {
        for request in [
            json!({"intent_query": "rust", "time_window": "60d", "precision_mode": "basic", "scope": "both"}),
            json!({"intent_query": "生活 / 日常 / life", "time_window": "30d", "precision_mode": "basic"}),
            json!({"intent_query": "虚拟列表滚动很卡", "precision_mode": "basic", "include_guidance": true}),
            json!({"intent_query": "x", "time_window": {"start": 1.7e12, "end": 1_800_000_000_000_i64}}),
            json!({"intent_query": "x", "time_window": "36h"}),
        ] {
            SearchConversations::read(object_of(request.clone()))
                .unwrap_or_else(|e| panic!("{request}: {e}"));
        }
    }

    #[test]
    fn invalid_requests_are_rejected_with_a_hint() {
        fn assert_rejected<R: Request>(request: impl Into<Value>) {
            let request = request.into();
            let error =
                R::read(object_of(request.clone())).err().unwrap_or_else(|| panic!("{request} was accepted"));
            assert_eq!(error.code, Code::InvalidArgument, "{request}");
            assert!(!error.hints.is_empty(), "{request}");
        }
        for request in [
            json!({}),
            json!({"intent_query": "  "}),
            json!({"intent_query": []}),
            json!({"intent_query": 3}),
            json!({"intent_query": "x", "time_window": "soon"}),
            json!({"intent_query": "x", "time_window": {"from": 1}}),
            json!({"intent_query": "x", "time_window": {}}),
            json!({"intent_query": "x", "time_window": {"start": 2, "end": 1}}),
            json!({"intent_query": "x", "precision_mode": "exact"}),
            json!({"intent_query": "x", "role_filter": ["robot"]}),
            json!({"intent_query": "x", "limit_chats": 0}),
            json!({"intent_query": "x", "limit_chats": -1}),
        ] {
            assert_rejected::<SearchConversations>(request);
        }
        assert_rejected::<GatherChats>(json!({}));
        assert_rejected::<GatherChats>(json!({"chatIds": [""]}));
        assert_rejected::<ResolveIds>(json!({}));
        assert_rejected::<ResolveIds>(json!({"chatIdPrefix": ""}));
        assert_rejected::<ListSessions>(json!({"since": "soon"}));
        assert_rejected::<ArchiveRequest>(json!({"prune_to": "much"}));
        assert_rejected::<ArchiveRequest>(json!({"dry_run": true}));
        assert_rejected::<SetupRequest>(json!({"agents": ["emacs"]}));
        assert_rejected::<ForgetRequest>(json!({}));
        assert_rejected::<ForgetRequest>(json!({"project": ""}));
        assert_rejected::<ForgetRequest>(json!({"chat_ids": ["a"], "matching": "b"}));
        for name in ["", "..", ".hidden", "a/b", "../x", "a b", "a\n", "é", &"x".repeat(101)] {
            assert_rejected::<BuildPack>(json!({"name": name, "filter": "type:A"}));
        }
        assert_rejected::<BuildPack>(json!({"name": "core"}));
        assert_rejected::<BuildPack>(json!({"name": "core", "filter": "type:A", "budget": 0}));
        assert_rejected::<GetPromptWindow>(json!({"budget": 0}));
        assert_rejected::<FindUsages>(json!({"path": "A", "certainty": "surely"}));
        assert_rejected::<FindUsages>(json!({"path": "A", "relation": "friends"}));
        assert_rejected::<GetPromptWindow>(json!({"pack": "../x"}));
        assert_rejected::<Consolidate>(json!({"limit": 0}));
        assert_rejected::<Consolidate>(json!({"since": "soon"}));
        assert_rejected::<ListMemory>(json!({"kind": "notes"}));
        assert_rejected::<ListMemory>(json!({"state": "old"}));
        assert_rejected::<ListMemory>(json!({"kind": "sessions", "state": "fresh"}));
        assert_rejected::<ShowMemory>(json!({}));
        assert_rejected::<EditMemory>(json!({"id": "a"}));
        assert_rejected::<EditMemory>(json!({"id": "a", "name": " "}));
        assert_rejected::<EditMemory>(json!({"id": "a", "name": "x".repeat(2001)}));
        assert_rejected::<ForgetMemory>(json!({"ids": []}));
        assert_rejected::<ForgetMemory>(json!({"ids": [""]}));
        assert_rejected::<ImportMemory>(json!({"file": ""}));
        assert_rejected::<ImportRequest>(json!({"file": " "}));
        for request in [
            json!({"action": "add", "path": "A", "budget": 900}),
            json!({"action": "pin", "path": "A", "pack": "core"}),
            json!({"action": "drop"}),
            json!({"action": "add"}),
            json!({"action": "add", "path": "A", "minutes": 0}),
            json!({"action": "add", "path": "A", "minutes": 10_081}),
            json!({"action": "clear", "path": "A"}),
            json!({"action": "list", "minutes": 5}),
        ] {
            assert_rejected::<CodeContext>(request);
        }
    }

    #[test]
    fn the_table_is_sound() {
        for operation in OPERATIONS {
            assert!(
                operation.example.starts_with(&format!("loci {}", operation.command)),
                "{}",
                operation.name
            );
            assert!(operation.params.iter().all(|param| !param.about.is_empty()));
            let filled = operation.words.iter().flat_map(|words| words.into).copied();
            let meant = operation.handy.iter().map(|handy| handy.means.param_name());
            let named = filled.chain(meant).chain(operation.required.iter().copied());
            assert!(named.clone().all(|name| operation.accepts_param(name)), "{}", operation.name);
            let shapes = (operation.shapes)();
            let known = |param: &Param| shapes.contains_key(param.name);
            assert!(operation.params.iter().all(known), "{}", operation.name);
        }
        let commands = OPERATIONS.iter().map(|operation| operation.command);
        let views =
            crate::VIEWS.iter().map(|view| if view.group.is_empty() { view.name } else { view.group });
        assert!(commands.clone().all(|command| views.clone().all(|view| view != command)));
    }

    #[test]
    fn a_request_can_be_typed() {
        for (name, params, line) in [
            ("search_conversations", json!({"intent_query": "lost socket"}), "loci search 'lost socket'"),
            (
                "search_conversations",
                json!({"intent_query": ["a", "it's"], "include_tools_in_search": false, "source": ["codex", "x"]}),
                r"loci search --intent-query=a --intent-query='it'\''s' --no-tools --source=codex --source=x",
            ),
            (
                "search_conversations",
                json!({"intent_query": "-x", "time_window": {"start": 0}}),
                "loci search --intent-query='-x' --since 1970-01-01T00:00:00.000Z",
            ),
            ("gather_chats", json!({"chatIds": ["a", "b"]}), "loci show a b"),
            (
                "code_context",
                json!({"action": "add", "path": "A.B", "minutes": 5}),
                "loci code context add A.B --minutes=5",
            ),
        ] {
            assert_eq!(operation_named(name).unwrap().command_line(&object_of(params)), line);
        }
    }
}
