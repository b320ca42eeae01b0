//! Pins, unpins, dismisses and temporarily focuses types.
//!
//! Does not know how that affects the prompt window.

use super::access::{self, Access, PATIENTLY, Seen};
use super::code_query::{at_desk, folder_error, root_of};
use crate::Service;
use api::code::{CodeContext, Dismiss, InFocus, Marked, Pin, TypeRef, Unpin, UntilThen};
use api::{Error, Handle, Request};
use code::folder::Folder;
use record::Stamp;
use std::path::Path;

impl Handle<Pin> for Service {
    fn handle(&self, request: &Pin) -> Result<Marked, Error> {
        pin(self, request)
    }
}

fn pin(service: &Service, request: &Pin) -> Result<Marked, Error> {
    request.check()?;
    let (root, now) = (root_of(service, request.root.as_ref())?, service.clock.now().0);
    let of = in_tree(service, &request.path, request.root.as_ref())?;
    Folder::make(&root).map_err(|error| folder_error(&error))?;
    mark(&root, of, now, |access, of| access.pin(of, now))
}

impl Handle<Unpin> for Service {
    fn handle(&self, request: &Unpin) -> Result<Marked, Error> {
        unpin(self, request)
    }
}

fn unpin(service: &Service, request: &Unpin) -> Result<Marked, Error> {
    request.check()?;
    let (root, now) = (root_of(service, request.root.as_ref())?, service.clock.now().0);
    let known = access::read(&root).0.pinned;
    let of = noted_or_in_tree(service, &known, &request.path, request.root.as_ref())?;
    mark(&root, of, now, Access::unpin)
}

impl Handle<Dismiss> for Service {
    fn handle(&self, request: &Dismiss) -> Result<Marked, Error> {
        dismiss(self, request)
    }
}

fn dismiss(service: &Service, request: &Dismiss) -> Result<Marked, Error> {
    request.check()?;
    let (root, now) = (root_of(service, request.root.as_ref())?, service.clock.now().0);
    let known = access::read(&root).0.recent;
    let of = noted_or_in_tree(service, &known, &request.path, request.root.as_ref())?;
    let mut marked = mark(&root, of, now, |access, of| access.dismiss(of, now))?;
    // A pin outranks a dismissal: it is explicit and permanent.
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
    at_desk(service, root, |query| Ok(query.type_ref(query.one_type(path)?)))
}

/// Resolves a path among the recorded types first: a recorded type may be gone from the tree, and a suffix that many types
/// share may match only one recorded type.
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

/// Updates the record of a type. A tree without a `.loci` folder has no records, and this does not create one.
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
    fn handle(&self, request: &CodeContext) -> Result<InFocus, Error> {
        code_context(self, request)
    }
}

fn code_context(service: &Service, request: &CodeContext) -> Result<InFocus, Error> {
    request.check()?;
    let (root, now) = (root_of(service, request.root.as_ref())?, service.clock.now().0);
    let added = if request.action == "add" {
        let of = in_tree(service, &request.path, request.root.as_ref())?;
        Folder::make(&root).map_err(|error| folder_error(&error))?;
        Some(of)
    } else {
        None
    };
    let Some(folder) = Folder::at(&root).map_err(|error| folder_error(&error))? else {
        return Ok(InFocus::default());
    };
    let until = now + request.minutes as i64 * 60_000;
    if request.action == "list" {
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
    let to_entry = |seen: &Seen| UntilThen {
        path: seen.name.clone(),
        type_id: seen.id.clone(),
        until: Stamp(seen.at).to_string(),
    };
    let mut all: Vec<UntilThen> = access.in_context(now).map(to_entry).collect();
    all.sort_by(|one, other| (&one.path, &one.type_id).cmp(&(&other.path, &other.type_id)));
    all
}
