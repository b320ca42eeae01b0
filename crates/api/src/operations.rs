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
                let request = <$module::$request as Request>::read(&params)?;
                return Handle::<$module::$request>::handle(operations, &request).map(AnyResponse::$request);
            })*
            Err(missing_operation(operation))
        }

        #[cfg(test)]
        fn round_trip_all() {
            $(tests::round_trip::<$module::$request>();)*
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
    use crate::code::{BuildPack, CodeContext, FindUsages, GetPromptWindow};
    use crate::gather_chats::GatherChats;
    use crate::import::ImportRequest;
    use crate::maintenance::{ArchiveRequest, ForgetRequest};
    use crate::memory::{Consolidate, EditMemory, ForgetMemory, ImportMemory, ListMemory, ShowMemory};
    use crate::resolve_ids::ResolveIds;
    use crate::search::SearchConversations;
    use crate::sessions::ListSessions;
    use crate::setup::SetupRequest;
    use crate::{Param, Shape, fields, params};
    use serde_json::json;
    use std::fmt::Debug;

    fn object_of(value: impl Into<Value>) -> Map<String, Value> {
        match value.into() {
            Value::Object(map) => map,
            other => panic!("{other} is not an object"),
        }
    }

    /// A value that a parameter takes, other than its default.
    fn sample(param: &Param, usual: &Value) -> Value {
        let words: &[&str] = match param.shape {
            Shape::Choice(words) => words,
            _ => &["7d", "14d", "2G", "user", "chat", "codex"],
        };
        let fits = |word: &&&str| {
            usual.as_str() != Some(**word) && param.check.is_none_or(|check| check(param.name, word).is_ok())
        };
        let word = words.iter().find(fits).unwrap_or_else(|| panic!("no sample for `{}`", param.name));
        match param.shape {
            Shape::Flag | Shape::Switch => Value::from(!usual.as_bool().unwrap()),
            Shape::Count => Value::from(usual.as_u64().map_or(1, |number| number + 1)),
            Shape::Number => Value::from(0.5),
            Shape::Texts if param.name == "step" => json!([{"operation": "delete", "path": "A.b"}]),
            Shape::List | Shape::Texts => json!([word, word]),
            Shape::Text | Shape::Choice(_) => Value::from(*word),
        }
    }

    /// Every parameter alone reaches its field and comes back; what is not known is refused with what is.
    pub(super) fn round_trip<R: Request + PartialEq + Debug>() {
        let (operation, usual) = (R::OPERATION, R::default());
        assert!(usual.non_default_params().is_empty(), "{}", operation.name);
        for (position, param) in operation.params.iter().enumerate() {
            let given = Map::from_iter([(
                param.name.to_owned(),
                sample(param, &fields::Fields::field(&usual, position).write()),
            )]);
            let mut request = R::default();
            params::read(&mut request, operation.params, &given).unwrap();
            assert_ne!(request, usual, "{} {}", operation.name, param.name);
            let written = request.non_default_params();
            assert_eq!(written.keys().collect::<Vec<_>>(), [param.name], "{}", operation.name);
            let mut again = R::default();
            params::read(&mut again, operation.params, &written).unwrap();
            assert_eq!(again, request, "{} {}", operation.name, param.name);
        }
        let error = R::read(&object_of(json!({"nope": 1}))).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(error.message.contains("`nope`") && error.hints[0].starts_with("parameters: "), "{error:?}");
    }

    #[test]
    fn every_parameter_of_every_operation_reaches_its_field_and_comes_back() {
        round_trip_all();
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
            SearchConversations::read(&object_of(request.clone()))
                .unwrap_or_else(|e| panic!("{request}: {e}"));
        }
    }

    #[test]
    fn invalid_requests_are_rejected_with_a_hint() {
        fn assert_rejected<R: Request>(request: impl Into<Value>) {
            let request = request.into();
            let error = R::read(&object_of(request.clone()))
                .err()
                .unwrap_or_else(|| panic!("{request} was accepted"));
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
