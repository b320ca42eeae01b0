//! Every operation, once: what it is called at each door, what it takes, an example that can be typed. The command
//! line, the reference pages, the tools of an agent and the tests are made from this table.
//!
//! Does not know who answers: that is whoever implements `Caller`.

use crate::params::dashed;
use crate::plain::put;
use crate::{
    Code, Error, Param, chats, code, control, mailbox, memory, recommend, refs, resolve, search, sessions,
    setup, spending, status, upkeep,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub struct Operation {
    /// As an agent calls it.
    pub name: &'static str,
    /// As a person types it.
    pub command: &'static str,
    pub about: &'static str,
    /// What the answer holds and in what order.
    pub answer: &'static str,
    pub example: &'static str,
    /// What may stand on a command line without a flag.
    pub words: Option<Words>,
    pub params: &'static [Param],
    /// What cannot be left out.
    pub required: &'static [&'static str],
    /// The shapes of its parameters, from the type of its request.
    pub shapes: fn() -> Map<String, Value>,
    /// Shorter flags for a person.
    pub handy: &'static [Handy],
    /// It removes and rewrites nothing; bringing an index up to date on the way does not count.
    pub read_only: bool,
    /// Under which names its answer holds records, the first that is there; none where it holds no list.
    pub rows: &'static [&'static str],
    /// By which fields its records are counted where only their number is wanted.
    pub stats: &'static [&'static str],
}

/// Words without a flag.
pub struct Words {
    pub value: &'static str,
    pub about: &'static str,
    /// The parameters they fill, each with all of them unless they are taken in turn.
    pub into: &'static [&'static str],
    pub number: Number,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    One,
    /// A list, one to a word.
    Several,
    /// One text, however many words it has.
    Sentence,
    /// The first fills the first parameter, the second the second.
    InTurn,
}

/// A flag that says in short what a parameter says in full.
pub struct Handy {
    pub flag: &'static str,
    /// What stands for its value in help; nothing where it takes none.
    pub value: &'static str,
    pub means: Means,
    pub about: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Means {
    /// This parameter, with this word for its value.
    Is(&'static str, &'static str),
    /// Another name of this parameter.
    Names(&'static str),
    /// The beginning or the end of the span of time that this parameter is.
    Start(&'static str),
    End(&'static str),
}

impl Means {
    pub fn param(self) -> &'static str {
        match self {
            Means::Is(name, _) | Means::Names(name) | Means::Start(name) | Means::End(name) => name,
        }
    }
}

pub const OPERATIONS: &[Operation] = &[
    search::OPERATION,
    chats::OPERATION,
    resolve::OPERATION,
    sessions::OPERATION,
    upkeep::INDEX,
    upkeep::ARCHIVE,
    upkeep::DOCTOR,
    upkeep::SECRETS,
    upkeep::FORGET,
    refs::READ,
    refs::CLEANUP,
    setup::OPERATION,
    status::OPERATION,
    code::OUTLINE,
    code::MEMBER,
    code::RESOLVE,
    code::SEARCH,
    code::USAGES,
    code::GRAPH,
    code::SEMANTIC,
    code::NOTES,
    code::INVESTIGATE,
    code::STREAM,
    code::BUILD,
    code::LIST,
    code::WINDOW,
    code::PIN,
    code::UNPIN,
    code::DISMISS,
    code::CONTEXT,
    code::INDEX,
    code::STATUS,
    mailbox::DISPATCH,
    mailbox::MESSAGES,
    mailbox::ADD,
    mailbox::LIST,
    mailbox::REMOVE,
    recommend::OPERATION,
    memory::CONSOLIDATE,
    memory::LIST,
    memory::SHOW,
    memory::EDIT,
    memory::PIN,
    memory::RETIRE,
    memory::ACCEPT,
    memory::FORGET,
    memory::EXPORT,
    memory::IMPORT,
    spending::JOBS,
    spending::COSTS,
];

/// The operation of that name, at any door.
pub fn operation(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|op| op.name == name || op.command == name)
}

/// What an operation is asked: a type whose fields are the operation's parameters.
pub trait Request: Serialize + DeserializeOwned + Default {
    const OPERATION: &'static Operation;

    /// What the types alone do not say: words that must be of a list, contradictions, what cannot be left out.
    fn check(&self) -> Result<(), Error>;

    /// Reads a request, and refuses what it does not take by naming what it does.
    fn read(params: Map<String, Value>) -> Result<Self, Error> {
        let operation = Self::OPERATION;
        if let Some(name) = params.keys().find(|name| !operation.takes(name)) {
            return Err(operation.refuses(&format!("{} takes no `{name}`", operation.name)));
        }
        let request: Self = serde_json::from_value(Value::Object(params))
            .map_err(|e| operation.refuses(&format!("{}: {e}", operation.name)))?;
        request.check()?;
        Ok(request)
    }

    /// The parameters that say more than leaving them out would.
    fn args(&self) -> Map<String, Value> {
        let object = |request: &Self| match serde_json::to_value(request) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let usual = object(&Self::default());
        object(self).into_iter().filter(|(name, value)| usual.get(name) != Some(value)).collect()
    }
}

impl Operation {
    pub fn takes(&self, name: &str) -> bool {
        self.params.iter().any(|param| param.name == name)
    }

    /// Whether what shapes an answer's records can be said of it.
    pub fn takes_control(&self, name: &str) -> bool {
        name == control::INLINE_THRESHOLD.name
            || (!self.rows.is_empty() && control::CONTROL.iter().any(|c| c.name == name))
    }

    fn refuses(&self, why: &str) -> Error {
        let known = self.params.iter().map(|param| param.name).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "no parameters".to_string() } else { known };
        Error::new(Code::InvalidArgument, why).hint(format!("it takes: {known}"))
    }

    /// The flag that says the same in short.
    fn in_short(&self, name: &str, value: &Value) -> Option<&'static str> {
        let says =
            |handy: &&Handy| matches!(handy.means, Means::Is(of, word) if of == name && plain(value) == word);
        self.handy.iter().find(says).map(|handy| handy.flag)
    }

    /// The command line that asks for the same.
    pub fn typed(&self, params: &Map<String, Value>) -> String {
        let mut line = format!("loci {}", self.command);
        let one = |words: &&Words| words.into.len() == 1 || words.number == Number::InTurn;
        let words = self.words.as_ref().filter(one);
        let mut flags = String::new();
        for param in self.params {
            let Some(value) = params.get(param.name) else { continue };
            match words.filter(|words| words.into.contains(&param.name)) {
                Some(words) => push_words(words, &dashed(param.name), value, &mut line),
                None => match self.in_short(param.name, value) {
                    Some(flag) => put(&mut flags, format_args!(" --{flag}")),
                    None => push_flag(&dashed(param.name), value, &mut flags),
                },
            }
        }
        line + &flags
    }
}

fn push_words(words: &Words, flag: &str, value: &Value, line: &mut String) {
    let like_a_flag = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('-'));
    match value {
        Value::Array(items) if words.number == Number::Sentence || items.iter().any(like_a_flag) => {
            push_flag(flag, value, line);
        }
        Value::Array(items) => items.iter().for_each(|item| push_word(item, line)),
        one if like_a_flag(one) => push_flag(flag, one, line),
        one => push_word(one, line),
    }
}

fn push_word(value: &Value, line: &mut String) {
    line.push(' ');
    line.push_str(&quoted(&plain(value)));
}

fn push_flag(flag: &str, value: &Value, line: &mut String) {
    match value {
        Value::Bool(true) => put(line, format_args!(" --{flag}")),
        Value::Bool(false) => put(line, format_args!(" --{flag}=false")),
        Value::Array(items) => items.iter().for_each(|item| push_flag(flag, item, line)),
        // A span of time: on a command line its ends have flags of their own.
        Value::Object(span) => {
            for (end, name) in [("start", "since"), ("end", "until")] {
                if let Some(ms) = span.get(end).and_then(Value::as_i64) {
                    put(line, format_args!(" --{name} {}", record::Stamp(ms)));
                }
            }
        }
        one => put(line, format_args!(" --{flag}={}", quoted(&plain(one)))),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(safe) && !word.starts_with('-') {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chats::GatherChats;
    use crate::code::{
        BuildPack, CodeContext, CodeGraph, CodeStatusAsk, Dismiss, FindUsages, GetMemberOutline, GetOutline,
        GetPromptWindow, GetSemantic, IndexCode, Investigate, ListPacks, Pin, ResolveSymbol, SearchSymbols,
        StreamOp, Unpin, WriteNotes,
    };
    use crate::memory::{
        AcceptMemory, Consolidate, EditMemory, ExportMemory, ForgetMemory, ImportMemory, ListMemory,
        PinMemory, RetireMemory, ShowMemory,
    };
    use crate::recommend::Recommend;
    use crate::refs::{Cleanup, ReadRef};
    use crate::resolve::ResolveIds;
    use crate::search::SearchConversations;
    use crate::sessions::ListSessions;
    use crate::setup::SetupAsk;
    use crate::spending::{MemoryCosts, MemoryJobs};
    use crate::upkeep::{ArchiveAsk, DoctorAsk, ForgetAsk, Index, SecretsAsk};
    use serde_json::json;
    use std::fmt::Debug;

    fn map(value: impl Into<Value>) -> Map<String, Value> {
        match value.into() {
            Value::Object(map) => map,
            other => panic!("{other} is no object"),
        }
    }

    /// Reads and writes a request that says something for each of its parameters.
    fn round_trip<R: Request + PartialEq + Debug>(full: Value) {
        let operation = R::OPERATION;
        let given = map(full);
        let read = R::read(given.clone()).unwrap_or_else(|e| panic!("{}: {e}", operation.name));
        assert_eq!(map(serde_json::to_value(&read).unwrap()), given, "{}", operation.name);
        assert_eq!(R::read(read.args()).unwrap(), read);
        let mut known: Vec<&str> = given.keys().map(String::as_str).collect();
        let mut listed: Vec<&str> = operation.params.iter().map(|param| param.name).collect();
        known.sort_unstable();
        listed.sort_unstable();
        assert_eq!(known, listed, "{}: the table and the type", operation.name);
        let error = R::read(map(json!({"nope": 1}))).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(error.message.contains("`nope`") && error.hints[0].starts_with("it takes: "), "{error:?}");
        assert!(serde_json::from_value::<R>(json!({"nope": 1})).is_err());
    }

    #[test]
    fn every_request_survives_being_written_and_knows_its_parameters() {
        round_trip::<SearchConversations>(json!({
            "intent_query": ["idea", "想法"], "time_window": {"start": 1, "end": 2}, "precision_mode": "fuzzy",
            "expand": "auto", "include_tools_in_search": false, "scope": "title", "role_filter": ["user"],
            "exclude_terms": ["x"], "match": "all", "limit_chats": 3, "limit_snippets_per_chat": 1,
            "snippet_window": 9, "response_mode": "text", "include_guidance": false, "source": ["codex"],
            "project": "/p", "include_own": true, "iteration": 4,
        }));
        round_trip::<GatherChats>(json!({"chatIds": ["a", "b"], "includeTools": false}));
        round_trip::<ResolveIds>(json!({"chatIdPrefix": "a", "messageIdPrefix": "b"}));
        round_trip::<ListSessions>(
            json!({"source": ["codex"], "project": "/p", "since": "7d", "until": "today", "limit": 3, "offset": 1}),
        );
        round_trip::<Index>(json!({"rebuild": true}));
        round_trip::<ArchiveAsk>(json!({"prune_to": "2G", "older_than": "365d", "dry_run": true}));
        assert_eq!(DoctorAsk::read(Map::new()).unwrap(), DoctorAsk::default());
        assert!(
            crate::status::StatusAsk::read(map(json!({"x": 1}))).unwrap_err().hints[0]
                .ends_with("no parameters")
        );
        round_trip::<SecretsAsk>(json!({"project": "/p", "source": ["codex"], "kind": ["aws"], "limit": 3}));
        let forget = json!({"chat_ids": ["a"], "project": null, "matching": null, "dry_run": true});
        round_trip::<ForgetAsk>(forget);
        round_trip::<SetupAsk>(json!({"agents": ["codex"], "remove": true, "dry_run": true}));
        round_trip::<ReadRef>(json!({"ref": "a.jsonl", "offset": 1, "limit": 2, "from_byte": 3}));
        round_trip::<Recommend>(json!({"prompt": "a", "session": "b", "project": "/p", "threshold": 0.9}));
        round_trip::<Cleanup>(json!({"max_age_days": 1, "dry_run": true}));
    }

    #[test]
    fn every_request_about_the_code_base_does_so_as_well() {
        let named = json!({"path": "Store.Get", "root": "src"});
        round_trip::<GetOutline>(named.clone());
        round_trip::<GetMemberOutline>(named.clone());
        round_trip::<ResolveSymbol>(named.clone());
        round_trip::<GetSemantic>(named.clone());
        round_trip::<Pin>(named.clone());
        round_trip::<Unpin>(named.clone());
        round_trip::<Dismiss>(named);
        round_trip::<SearchSymbols>(json!({"query": "store", "limit": 3, "root": "src"}));
        round_trip::<FindUsages>(
            json!({"path": "Store", "max_results": 3, "certainty": "likely", "root": "src"}),
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
        round_trip::<CodeContext>(json!({"action": "add", "path": "A", "minutes": 9, "root": "src"}));
        round_trip::<CodeStatusAsk>(json!({"root": "src"}));
        round_trip::<IndexCode>(json!({"root": "src"}));
    }

    #[test]
    fn every_request_about_what_is_remembered_does_so_as_well() {
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
        round_trip::<PinMemory>(json!({"id": "a", "off": true}));
        round_trip::<RetireMemory>(json!({"id": "a"}));
        round_trip::<AcceptMemory>(json!({"id": "a"}));
        round_trip::<ForgetMemory>(json!({"ids": ["a"], "dry_run": true}));
        round_trip::<ImportMemory>(json!({"file": "m.json"}));
        assert_eq!(ExportMemory::read(Map::new()).unwrap(), ExportMemory {});
    }

    #[test]
    fn the_words_of_the_contract_are_understood() {
        for request in [
            json!({"intent_query": "rust", "time_window": "60d", "precision_mode": "basic", "scope": "both"}),
            json!({"intent_query": "生活 / 日常 / life", "time_window": "30d", "precision_mode": "basic"}),
            json!({"intent_query": "虚拟列表滚动很卡", "precision_mode": "basic", "include_guidance": true}),
            json!({"intent_query": "x", "time_window": {"start": 1.7e12, "end": 1_800_000_000_000_i64}}),
            json!({"intent_query": "x", "time_window": "36h"}),
        ] {
            SearchConversations::read(map(request.clone())).unwrap_or_else(|e| panic!("{request}: {e}"));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_hint() {
        fn refused<R: Request>(request: impl Into<Value>) {
            let request = request.into();
            let error = R::read(map(request.clone())).err().unwrap_or_else(|| panic!("{request} was taken"));
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
            refused::<SearchConversations>(request);
        }
        refused::<GatherChats>(json!({}));
        refused::<GatherChats>(json!({"chatIds": [""]}));
        refused::<ResolveIds>(json!({}));
        refused::<ResolveIds>(json!({"chatIdPrefix": ""}));
        refused::<ListSessions>(json!({"since": "soon"}));
        refused::<ArchiveAsk>(json!({"prune_to": "much"}));
        refused::<ArchiveAsk>(json!({"dry_run": true}));
        refused::<SetupAsk>(json!({"agents": ["emacs"]}));
        refused::<ForgetAsk>(json!({}));
        refused::<ForgetAsk>(json!({"project": ""}));
        refused::<ForgetAsk>(json!({"chat_ids": ["a"], "matching": "b"}));
        for name in ["", "..", ".hidden", "a/b", "../x", "a b", "a\n", "é", &"x".repeat(101)] {
            refused::<BuildPack>(json!({"name": name, "filter": "type:A"}));
        }
        refused::<BuildPack>(json!({"name": "core"}));
        refused::<BuildPack>(json!({"name": "core", "filter": "type:A", "budget": 0}));
        refused::<GetPromptWindow>(json!({"budget": 0}));
        refused::<FindUsages>(json!({"path": "A", "certainty": "surely"}));
        refused::<GetPromptWindow>(json!({"pack": "../x"}));
        refused::<Consolidate>(json!({"limit": 0}));
        refused::<Consolidate>(json!({"since": "soon"}));
        refused::<ListMemory>(json!({"kind": "notes"}));
        refused::<ListMemory>(json!({"state": "old"}));
        refused::<ListMemory>(json!({"kind": "sessions", "state": "fresh"}));
        refused::<ListMemory>(json!({"kind": "facts", "tag": ["x"]}));
        refused::<ShowMemory>(json!({}));
        refused::<EditMemory>(json!({"id": "a"}));
        refused::<EditMemory>(json!({"id": "a", "name": " "}));
        refused::<EditMemory>(json!({"id": "a", "name": "x".repeat(2001)}));
        refused::<ForgetMemory>(json!({"ids": []}));
        refused::<ForgetMemory>(json!({"ids": [""]}));
        refused::<ImportMemory>(json!({"file": ""}));
        for request in [
            json!({}),
            json!({"action": "drop"}),
            json!({"action": "add"}),
            json!({"action": "add", "path": "A", "minutes": 0}),
            json!({"action": "add", "path": "A", "minutes": 10_081}),
            json!({"action": "clear", "path": "A"}),
            json!({"action": "list", "minutes": 5}),
        ] {
            refused::<CodeContext>(request);
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
            let meant = operation.handy.iter().map(|handy| handy.means.param());
            let named = filled.chain(meant).chain(operation.required.iter().copied());
            assert!(named.clone().all(|name| operation.takes(name)), "{}", operation.name);
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
            assert_eq!(operation(name).unwrap().typed(&map(params)), line);
        }
    }
}
