//! Builds the printed record from a row and the text read from its transcript.
//!
//! Does not read transcripts or encode records.

use crate::scan::ScanResult;
use record::{Call, Cell, Kind, Message, Record, Role, Row, Session, Tokens, error_signature};

/// Fields of a tool call that its row alone can fill. A request for no others does not read the transcript again.
const ROW_FIELDS: &[&str] = &[
    "session_id",
    "source",
    "project",
    "agent_id",
    "turn",
    "sequence",
    "tool",
    "status",
    "timestamp",
    "mcp_server",
    "abandoned",
];

pub fn needs_row_only(fields: &[String]) -> bool {
    !fields.is_empty() && fields.iter().all(|f| ROW_FIELDS.contains(&f.as_str()))
}

fn location_fields<'a>(session: &'a Session, row: &Row) -> Record<'a> {
    let some = |s: &'a str| if s.is_empty() { Cell::Null } else { Cell::text(s) };
    vec![
        ("session_id", Cell::text(&*session.session_id)),
        ("source", Cell::text(session.source)),
        ("project", some(&session.project)),
        ("agent_id", Cell::opt(session.agent_id.as_deref(), Cell::text)),
        ("turn", Cell::count(row.turn)),
        ("sequence", Cell::count(row.sequence)),
    ]
}

fn abandoned_cell(library: &ScanResult, row: &Row) -> Cell<'static> {
    if library.is_abandoned(row) { Cell::Bool(true) } else { Cell::Null }
}

/// The requested fields of a call. `call_record` is None if the row alone fills them.
pub fn call_record<'a>(
    library: &'a ScanResult,
    row: &Row,
    call: Option<&'a Call>,
    fields: &[&'a str],
) -> Record<'a> {
    fields.iter().map(|field| (*field, call_cell(library, row, call, field))).collect()
}

fn call_cell<'a>(library: &'a ScanResult, row: &Row, call: Option<&'a Call>, field: &str) -> Cell<'a> {
    let (session, tool) = (library.session(row), &**library.name(row));
    let some = |s: &'a str| if s.is_empty() { Cell::Null } else { Cell::text(s) };
    let text = |s: Option<&'a String>| Cell::opt(s, |s| Cell::text(s.as_str()));
    let json = |s: Option<&'a String>| Cell::opt(s, |s| Cell::Json(s.as_str().into()));
    let error = || call.and_then(|c| c.error.as_ref());
    match field {
        "session_id" => Cell::text(&*session.session_id),
        "source" => Cell::text(session.source),
        "project" => some(&session.project),
        "agent_id" => Cell::opt(session.agent_id.as_deref(), Cell::text),
        "turn" => Cell::count(row.turn),
        "sequence" => Cell::count(row.sequence),
        "id" => text(call.map(|c| &c.id)),
        "tool" => Cell::text(tool),
        "input" => json(call.map(|c| &c.input)),
        "output" => json(call.and_then(|c| c.output.as_ref())),
        "status" => Cell::text(row.status().as_str()),
        "error" => text(error()),
        "error_signature" => Cell::opt(error(), |e| Cell::text(error_signature(tool, e))),
        "timestamp" => Cell::Time(row.at),
        "duration_ms" => Cell::opt(call.and_then(|c| c.duration_ms), Cell::Int),
        "exit_code" => Cell::opt(call.and_then(|c| c.exit_code), Cell::Int),
        "file" => text(call.and_then(|c| c.file.as_ref())),
        "mcp_server" => Cell::opt(Call::mcp_server(tool), Cell::text),
        "abandoned" => abandoned_cell(library, row),
        _ => Cell::Null,
    }
}

/// A failed tool call or a provider error.
pub struct Failure {
    pub id: String,
    pub tool: String,
    pub signature: String,
    pub message: String,
    pub exit_code: Option<i64>,
    pub file: Option<String>,
    pub input: Option<String>,
}

impl Failure {
    pub(crate) fn of_call(tool: &str, call: Call) -> Failure {
        let message = call.error.unwrap_or_default();
        Failure {
            id: call.id,
            signature: error_signature(tool, &message),
            tool: tool.to_string(),
            message,
            exit_code: call.exit_code,
            file: call.file,
            input: Some(call.input),
        }
    }

    pub(crate) fn of_provider(message: Message) -> Failure {
        Failure {
            id: message.id,
            tool: "api".to_string(),
            signature: error_signature("api", &message.text),
            message: message.text,
            exit_code: None,
            file: None,
            input: None,
        }
    }

    pub fn to_line<'a>(&'a self, library: &'a ScanResult, row: &Row) -> Record<'a> {
        let mut line = vec![("timestamp", Cell::Time(row.at))];
        line.extend(location_fields(library.session(row), row));
        line.extend([
            ("id", Cell::text(self.id.as_str())),
            ("tool", Cell::text(self.tool.as_str())),
            ("signature", Cell::text(self.signature.as_str())),
            ("message", Cell::text(self.message.as_str())),
            ("exit_code", Cell::opt(self.exit_code, Cell::Int)),
            ("file", Cell::opt(self.file.as_deref(), Cell::text)),
            ("input", Cell::opt(self.input.as_deref(), |i| Cell::Json(i.into()))),
            ("abandoned", abandoned_cell(library, row)),
        ]);
        line
    }
}

pub fn message_record<'a>(library: &'a ScanResult, row: &Row, message: &'a Message) -> Record<'a> {
    let mut line = location_fields(library.session(row), row);
    let model = message.model.as_deref().filter(|m| !m.is_empty());
    line.extend([
        ("id", Cell::text(message.id.as_str())),
        ("parent_id", Cell::opt(message.parent_id.as_deref(), Cell::text)),
        ("role", Cell::text(role_of(row.kind()).as_str())),
        ("kind", Cell::text(row.kind().as_str())),
        ("timestamp", Cell::Time(row.at)),
        ("text", Cell::text(message.text.as_str())),
        ("model", Cell::opt(model, Cell::text)),
        ("tokens", tokens_cell(row.tokens)),
        ("tool_calls", if message.tool_calls > 0 { Cell::count(message.tool_calls) } else { Cell::Null }),
        ("abandoned", abandoned_cell(library, row)),
    ]);
    line
}

/// The role of a message of this kind. Text from the client itself is neither user nor assistant.
pub fn role_of(kind: Kind) -> Role {
    match kind {
        Kind::Reply => Role::Assistant,
        Kind::ApiError | Kind::Hook => Role::System,
        _ => Role::User,
    }
}

pub fn tokens_cell(tokens: Tokens) -> Cell<'static> {
    if tokens.is_zero() {
        return Cell::Null;
    }
    Cell::Object(vec![
        ("input", Cell::count(tokens.input)),
        ("output", Cell::count(tokens.output)),
        ("cache_read", Cell::count(tokens.cache_read)),
        ("cache_write", Cell::count(tokens.cache_write)),
    ])
}
