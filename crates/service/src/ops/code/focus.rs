//! What is pinned, dismissed, and what the work is about for a while.
//!
//! Does not know what that does to a window.

use super::access::{self, Access, PATIENTLY, Seen};
use super::code_query::{at_desk, folder_error, root_of};
use crate::Service;
use api::code::{CodeContext, Dismiss, InFocus, Marked, Pin, TypeRef, Unpin, UntilThen};
use api::{Error, Handle, Request};
use code::folder::Folder;
use record::Stamp;
use std::path::Path;

impl Handle<Pin> for Service {
    fn handle(&self, ask: &Pin) -> Result<Marked, Error> {
        pin(self, ask)
    }
}

fn pin(service: &Service, ask: &Pin) -> Result<Marked, Error> {
    ask.check()?;
    let (root, now) = (root_of(service, ask.root.as_ref())?, service.clock.now().0);
    let of = in_tree(service, &ask.path, ask.root.as_ref())?;
    Folder::make(&root).map_err(|error| folder_error(&error))?;
    mark(&root, of, now, |access, of| access.pin(of, now))
}

impl Handle<Unpin> for Service {
    fn handle(&self, ask: &Unpin) -> Result<Marked, Error> {
        unpin(self, ask)
    }
}

fn unpin(service: &Service, ask: &Unpin) -> Result<Marked, Error> {
    ask.check()?;
    let (root, now) = (root_of(service, ask.root.as_ref())?, service.clock.now().0);
    let known = access::read(&root).0.pinned;
    let of = noted_or_in_tree(service, &known, &ask.path, ask.root.as_ref())?;
    mark(&root, of, now, Access::unpin)
}

impl Handle<Dismiss> for Service {
    fn handle(&self, ask: &Dismiss) -> Result<Marked, Error> {
        dismiss(self, ask)
    }
}

fn dismiss(service: &Service, ask: &Dismiss) -> Result<Marked, Error> {
    ask.check()?;
    let (root, now) = (root_of(service, ask.root.as_ref())?, service.clock.now().0);
    let known = access::read(&root).0.recent;
    let of = noted_or_in_tree(service, &known, &ask.path, ask.root.as_ref())?;
    let mut marked = mark(&root, of, now, |access, of| access.dismiss(of, now))?;
    // To pin is the stronger word: it was said by name, and for good.
    let name = &marked.resolved.path;
    if marked.pinned.iter().any(|pinned| pinned.type_id == marked.resolved.type_id) {
        let typed = api::operation::quoted(name);
        let note =
            format!("`{name}` is pinned and stays in the window; `loci code unpin {typed}` lets it go");
        marked.notes.push(note);
    }
    Ok(marked)
}

fn in_tree(service: &Service, path: &str, root: Option<&String>) -> Result<TypeRef, Error> {
    at_desk(service, root, |desk| Ok(desk.type_ref(desk.one_type(path)?)))
}

/// Of what is noted, a type may be gone from the tree; and the end of a name that many types have may fit only one that is noted.
fn noted_or_in_tree(
    service: &Service,
    noted: &[Seen],
    path: &str,
    root: Option<&String>,
) -> Result<TypeRef, Error> {
    let wanted = path.trim();
    let ends = |name: &str, wanted: &str| {
        name == wanted || name.strip_suffix(wanted).is_some_and(|head| head.ends_with(['.', '+']))
    };
    let just_so = |seen: &&Seen| seen.id == wanted || ends(&seen.name, wanted);
    let in_any_case = |seen: &&Seen| {
        seen.id.eq_ignore_ascii_case(wanted) || ends(&seen.name.to_lowercase(), &wanted.to_lowercase())
    };
    let one = |fits: &[&Seen]| if let [seen] = fits { Some(seen.type_ref()) } else { None };
    let exact: Vec<&Seen> = noted.iter().filter(just_so).collect();
    let any: Vec<&Seen> = noted.iter().filter(in_any_case).collect();
    one(&exact).or_else(|| one(&any)).map_or_else(|| in_tree(service, path, root), Ok)
}

/// Changes what is noted of a type. A tree without a folder has nothing noted, and gets none by this.
fn mark(
    root: &Path,
    of: TypeRef,
    now: i64,
    change: impl FnOnce(&mut Access, &TypeRef) -> bool,
) -> Result<Marked, Error> {
    let folder = Folder::at(root).map_err(|error| folder_error(&error))?;
    let Some(folder) = folder else { return Ok(Marked { resolved: of, ..Marked::default() }) };
    let done = access::update(&folder, PATIENTLY, now, |access| {
        let changed = change(access, &of);
        (changed, access.pinned.iter().map(Seen::type_ref).collect())
    });
    let ((changed, pinned), notes) = done.map_err(|error| folder_error(&error))?;
    Ok(Marked { resolved: of, changed, pinned, notes })
}

impl Handle<CodeContext> for Service {
    fn handle(&self, ask: &CodeContext) -> Result<InFocus, Error> {
        code_context(self, ask)
    }
}

fn code_context(service: &Service, ask: &CodeContext) -> Result<InFocus, Error> {
    ask.check()?;
    let (root, now) = (root_of(service, ask.root.as_ref())?, service.clock.now().0);
    let added = if ask.action == "add" {
        let of = in_tree(service, &ask.path, ask.root.as_ref())?;
        Folder::make(&root).map_err(|error| folder_error(&error))?;
        Some(of)
    } else {
        None
    };
    let Some(folder) = Folder::at(&root).map_err(|error| folder_error(&error))? else {
        return Ok(InFocus::default());
    };
    let until = now + ask.minutes as i64 * 60_000;
    if ask.action == "list" {
        let (access, notes) = access::read(&root);
        return Ok(InFocus { context: in_focus(&access, now), changed: false, notes });
    }
    let done = access::update(&folder, PATIENTLY, now, |access| {
        let changed = match &added {
            Some(of) => access.focus(of, until),
            None => access.clear(),
        };
        (changed, in_focus(access, now))
    });
    let ((changed, context), notes) = done.map_err(|error| folder_error(&error))?;
    Ok(InFocus { context, changed, notes })
}

fn in_focus(access: &Access, now: i64) -> Vec<UntilThen> {
    let told = |seen: &Seen| UntilThen {
        path: seen.name.clone(),
        type_id: seen.id.clone(),
        until: Stamp(seen.at).to_string(),
    };
    let mut all: Vec<UntilThen> = access.in_context(now).map(told).collect();
    all.sort_by(|one, other| (&one.path, &one.type_id).cmp(&(&other.path, &other.type_id)));
    all
}
