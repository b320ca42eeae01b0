//! A transcript small enough to be held whole: what the sources that keep one JSON file or some database rows
//! per conversation read into. The survey and the fetch of such a source are the same for all of them.
//!
//! Does not know any agent's format. Places are ordinals, not bytes.

use crate::survey::Said;
use crate::{Error, Survey, Transcript};
use record::{Call, Coverage, Kind, Message, ProblemKind, Role, Row, Session, Stamp, Tokens};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// One conversation in order.
pub struct Conversation {
    pub session: Session,
    pub parts: Vec<Part>,
    /// Lines are entries here; `adds_up` holds.
    pub coverage: Coverage,
    pub problems: Vec<(ProblemKind, String)>,
}

pub enum Part {
    Said { role: Role, kind: Kind, message: Message, tokens: Tokens },
    Called { call: Call, at: Stamp, until: Stamp },
}

/// Tells a conversation to a survey.
pub fn survey(conversation: &Conversation, survey: &mut Survey<'_>) {
    let session = survey.add_session(conversation.session.clone());
    survey.version(conversation.session.version.as_bytes());
    survey.coverage().add(&conversation.coverage);
    for (kind, note) in &conversation.problems {
        survey.problem(*kind, 0, note);
    }
    survey.moment(session, conversation.session.started_at);
    for (ordinal, part) in conversation.parts.iter().enumerate() {
        let place = ordinal as u64;
        match part {
            Part::Said { role, kind, message, tokens } => survey.said(Said {
                session,
                role: *role,
                kind: *kind,
                id: message.id.as_bytes(),
                at: message.at.unwrap_or_default(),
                place,
                text: message.text.as_bytes(),
                model: message.model.as_deref().unwrap_or("").as_bytes(),
                tokens: *tokens,
                flags: crate::survey::flags(false, conversation.session.parent_session_id.is_some()),
            }),
            Part::Called { call, at, until } => {
                let flags = crate::survey::flags(false, conversation.session.parent_session_id.is_some());
                survey.call(session, call.id.as_bytes(), call.tool.as_bytes(), *at, place, flags);
                if call.output.is_some() || call.error.is_some() {
                    survey.result(call.id.as_bytes(), call.status, *until, place);
                }
            }
        }
    }
}

type Load = fn(&Transcript) -> Result<Conversation, Error>;
type Kept = Vec<(PathBuf, Option<String>, Rc<Conversation>)>;

thread_local! {
    /// Records come in order, so the same few conversations are asked for again and again.
    static LOADED: RefCell<Kept> = const { RefCell::new(Vec::new()) };
}

const KEPT: usize = 4;

fn loaded(transcript: &Transcript, load: Load) -> Result<Rc<Conversation>, Error> {
    LOADED.with_borrow_mut(|kept| {
        if let Some((.., conversation)) =
            kept.iter().find(|(path, part, _)| *path == transcript.path && *part == transcript.part)
        {
            return Ok(conversation.clone());
        }
        let conversation = Rc::new(load(transcript)?);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((transcript.path.clone(), transcript.part.clone(), conversation.clone()));
        Ok(conversation)
    })
}

pub fn call(transcript: &Transcript, row: &Row, load: Load) -> Result<Call, Error> {
    let conversation = loaded(transcript, load)?;
    match conversation.parts.get(row.place as usize) {
        Some(Part::Called { call, .. }) if Row::id_head(call.id.as_bytes()) == row.id => Ok(call.clone()),
        _ => Err(moved(transcript, "tool call", row)),
    }
}

pub fn message(transcript: &Transcript, row: &Row, load: Load) -> Result<Message, Error> {
    let conversation = loaded(transcript, load)?;
    match conversation.parts.get(row.place as usize) {
        Some(Part::Said { message, .. }) if Row::id_head(message.id.as_bytes()) == row.id => {
            Ok(message.clone())
        }
        _ => Err(moved(transcript, "message", row)),
    }
}

fn moved(transcript: &Transcript, what: &'static str, row: &Row) -> Error {
    Error::Moved { path: transcript.path.clone(), what, place: row.place }
}
