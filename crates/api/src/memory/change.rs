//! Changes to memory by a person: add, edit, pin, retire, accept and forget.
//!
//! Does not know the caller: every change here counts as made by a person.

use super::{ID, MemoryLine};
use crate::operation::{Operation, Request, Response};
use crate::params::check_not_blank;
use crate::{Code, Error, Param};
use serde::{Deserialize, Serialize};

/// Add a fact in your own words
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "add_memory",
    command = "memory add",
    answer = "the added fact",
    example = "loci memory add 'Deploy only from main' --project . --pin",
    returns = MemoryChanged,
)]
pub struct AddMemory {
    /// The fact, in one or a few sentences
    #[param(value = "TEXT", required = "text", word, check = check_text)]
    pub text: String,
    /// Project directory it applies to [default: the current directory]
    #[param(value = "PATH")]
    pub project: Option<String>,
    /// Pin it to the top of the list
    pub pin: bool,
}

/// Rejects empty and overlong texts.
fn check_text(name: &str, text: &str) -> Result<(), Error> {
    check_not_blank(name, text)?;
    if text.chars().count() > LONGEST {
        return Err(Error::new(Code::InvalidArgument, format!("`{name}` is longer than 2,000 characters")));
    }
    Ok(())
}

/// Edit the name, summary, tags or text of a memory (`loci memory consolidate` keeps your edits)
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "edit_memory",
    command = "memory edit",
    answer = "the changed memory",
    example = "loci memory edit 975e66ab --name 'Pager rewrite' --add-tag pager",
    returns = MemoryChanged,
    check,
)]
pub struct EditMemory {
    #[param(like = ID, required = "ID", word)]
    pub id: String,
    /// New name of the session
    #[param(value = "TEXT", check = check_text)]
    pub name: Option<String>,
    /// New summary of the session
    #[param(value = "TEXT", check = check_text)]
    pub summary: Option<String>,
    /// New text of the fact
    #[param(value = "TEXT", check = check_text)]
    pub text: Option<String>,
    /// Tags to add to the session
    #[param(value = "TAGS", check = check_text)]
    pub add_tag: Vec<String>,
    /// Tags to remove from the session permanently
    #[param(value = "TAGS", check = check_text)]
    pub remove_tag: Vec<String>,
}

impl EditMemory {
    fn check(&self) -> Result<(), Error> {
        let texts = [&self.name, &self.summary, &self.text];
        if texts.iter().all(|text| text.is_none()) && self.add_tag.is_empty() && self.remove_tag.is_empty() {
            let message = "nothing to change: pass a name, a summary, a text or tags";
            return Err(Error::new(Code::InvalidArgument, message).hint(Self::OPERATION.example));
        }
        Ok(())
    }
}

/// The maximum length of a text; a memory is a few lines, not a document.
const LONGEST: usize = 2_000;

const FACT_ID: Param = Param::text("id", "ID", "Fact, by ID or ID prefix: f-3b21");

/// Pin a session or fact to the top of the list, or unpin it
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "pin_memory",
    command = "memory pin",
    answer = "the changed memory",
    example = "loci memory pin f-3b21 --off",
    returns = MemoryChanged,
)]
pub struct PinMemory {
    #[param(like = ID, required = "ID", word)]
    pub id: String,
    /// Unpin instead of pinning
    pub off: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryChanged {
    pub memory: MemoryLine,
    /// Whether the memory changed.
    pub changed: bool,
}

impl Response for MemoryChanged {}

// ---- forgetting

/// Permanently delete facts, or the memory of sessions (the sessions are kept)
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "forget_memory",
    command = "memory forget",
    answer = "the memories that were forgotten, or would be with --dry-run",
    example = "loci memory forget f-3b21 --dry-run",
    returns = MemoryForgotten,
    confirm("forgetting is permanent", "Forget this?"),
    words(Several, "ID", "Session or fact, by ID or ID prefix: 975e66ab, f-3b21", into("ids")),
)]
pub struct ForgetMemory {
    /// Session or fact, by ID or ID prefix: 975e66ab, f-3b21
    #[param(value = "IDS", required = "ID", check = check_not_blank)]
    pub ids: Vec<String>,
    /// Show what would be forgotten
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryForgotten {
    pub memories: Vec<MemoryLine>,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

impl Response for MemoryForgotten {
    fn is_empty(&self) -> bool {
        self.memories.is_empty()
    }
}

/// Retire a fact (it stays stored, but is hidden by default)
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "retire_memory",
    command = "memory retire",
    answer = "the changed fact",
    example = "loci memory retire f-3b21",
    returns = MemoryChanged,
)]
pub struct RetireMemory {
    #[param(like = FACT_ID, required = "ID", word)]
    pub id: String,
}

/// Accept a pending, retired or stale fact
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "accept_memory",
    command = "memory accept",
    answer = "the changed fact",
    example = "loci memory accept f-3b21",
    returns = MemoryChanged,
)]
pub struct AcceptMemory {
    #[param(like = FACT_ID, required = "ID", word)]
    pub id: String,
}
