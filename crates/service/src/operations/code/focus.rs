//! Pins, unpins, dismisses and temporarily focuses types.
//!
//! Does not know how that affects the prompt window.

use super::code_query::{folder_error, resolve_root, with_tree};
use crate::Service;
use api::code::{
    CodeContext, Dismiss, FocusEntry, FocusList, GetPromptWindow, Pin, PinResult, TypeRef, Unpin,
};
use api::{Error, Handle, Request};
use folder::LociFolder;
use folder::access::{self, Access, AccessEntry, Accessed, LONG_LOCK_TIMEOUT};
use record::Stamp;
use std::path::Path;

impl Handle<Pin> for Service {
    fn handle(&self, request: &Pin) -> Result<PinResult, Error> {
        request.check_params()?;
        let (root, now) = (resolve_root(self, request.root.as_ref())?, self.clock.now().0);
        let of = resolve_in_tree(self, &request.path, request.root.as_ref())?;
        LociFolder::open_or_create(&root).map_err(|error| folder_error(&error))?;
        update_record(&root, of, now, |access, of| access.pin(of, now))
    }
}

impl Handle<Unpin> for Service {
    fn handle(&self, request: &Unpin) -> Result<PinResult, Error> {
        request.check_params()?;
        let (root, now) = (resolve_root(self, request.root.as_ref())?, self.clock.now().0);
        let known = access::read_access(&root).0.pinned;
        let of = resolve_recorded(self, &known, &request.path, request.root.as_ref())?;
        update_record(&root, of, now, Access::unpin)
    }
}

impl Handle<Dismiss> for Service {
    fn handle(&self, request: &Dismiss) -> Result<PinResult, Error> {
        request.check_params()?;
        let (root, now) = (resolve_root(self, request.root.as_ref())?, self.clock.now().0);
        let known = access::read_access(&root).0.recent;
        let of = resolve_recorded(self, &known, &request.path, request.root.as_ref())?;
        let mut marked = update_record(&root, of, now, |access, of| access.dismiss(of, now))?;
        // A pin outranks a dismissal: it is explicit and permanent.
        let name = &marked.resolved.path;
        if marked.pinned.iter().any(|pinned| pinned.type_id == marked.resolved.type_id) {
            let typed = api::operation::shell_quote(name);
            let note =
                format!("`{name}` is pinned and stays in the window; `loci code unpin {typed}` removes it");
            marked.notes.push(note);
        }
        Ok(marked)
    }
}

fn resolve_in_tree(service: &Service, path: &str, root: Option<&String>) -> Result<TypeRef, Error> {
    with_tree(service, root, |query| Ok(query.type_ref(query.resolve_type(path)?)))
}

/// Resolves a path among the recorded types first: a recorded type may be gone from the tree, and a suffix that many types
/// share may match only one recorded type.
fn resolve_recorded(
    service: &Service,
    noted: &[AccessEntry],
    path: &str,
    root: Option<&String>,
) -> Result<TypeRef, Error> {
    let wanted = path.trim();
    let ends = |name: &str, wanted: &str| {
        name == wanted || name.strip_suffix(wanted).is_some_and(|head| head.ends_with(['.', '+']))
    };
    let just_so = |seen: &&AccessEntry| seen.id == wanted || ends(&seen.name, wanted);
    let in_any_case = |seen: &&AccessEntry| {
        seen.id.eq_ignore_ascii_case(wanted) || ends(&seen.name.to_lowercase(), &wanted.to_lowercase())
    };
    let one = |fits: &[&AccessEntry]| if let [seen] = fits { Some(type_ref(seen)) } else { None };
    let exact: Vec<&AccessEntry> = noted.iter().filter(just_so).collect();
    let any: Vec<&AccessEntry> = noted.iter().filter(in_any_case).collect();
    one(&exact).or_else(|| one(&any)).map_or_else(|| resolve_in_tree(service, path, root), Ok)
}

/// Updates the record of a type. A tree without a `.loci` folder has no records, and this does not create one.
fn update_record(
    root: &Path,
    of: TypeRef,
    now: i64,
    change: impl FnOnce(&mut Access, Accessed<'_>) -> bool,
) -> Result<PinResult, Error> {
    let folder = LociFolder::open(root).map_err(|error| folder_error(&error))?;
    let Some(folder) = folder else { return Ok(PinResult { resolved: of, ..PinResult::default() }) };
    let done = access::update_access(&folder, LONG_LOCK_TIMEOUT, now, |access| {
        let changed = change(access, accessed(&of));
        (changed, access.pinned.iter().map(type_ref).collect())
    });
    let ((changed, pinned), notes) = done.map_err(|error| folder_error(&error))?;
    Ok(PinResult { resolved: of, changed, pinned, notes })
}

impl Handle<CodeContext> for Service {
    fn handle(&self, request: &CodeContext) -> Result<FocusList, Error> {
        request.check_params()?;
        let CodeContext { path, root, budget, pack, .. } = request.clone();
        let pinned = match request.action.as_str() {
            "show" => {
                let window = self.handle(&GetPromptWindow { budget, pack, root })?;
                return Ok(FocusList { window: Some(window), ..FocusList::default() });
            }
            "pin" => self.handle(&Pin { path, root }),
            "unpin" => self.handle(&Unpin { path, root }),
            "dismiss" => self.handle(&Dismiss { path, root }),
            _ => return self.change_focus(request),
        };
        let PinResult { changed, pinned, notes, .. } = pinned?;
        Ok(FocusList { changed, pinned, notes, ..FocusList::default() })
    }
}

impl Service {
    fn change_focus(&self, request: &CodeContext) -> Result<FocusList, Error> {
        let (root, now) = (resolve_root(self, request.root.as_ref())?, self.clock.now().0);
        let added = if request.action == "add" {
            let of = resolve_in_tree(self, &request.path, request.root.as_ref())?;
            LociFolder::open_or_create(&root).map_err(|error| folder_error(&error))?;
            Some(of)
        } else {
            None
        };
        let Some(folder) = LociFolder::open(&root).map_err(|error| folder_error(&error))? else {
            return Ok(FocusList::default());
        };
        let until = now + request.minutes as i64 * 60_000;
        if request.action == "list" {
            let (access, notes) = access::read_access(&root);
            let context = focused_types(&access, now);
            return Ok(FocusList { context, notes, ..FocusList::default() });
        }
        let done = access::update_access(&folder, LONG_LOCK_TIMEOUT, now, |access| {
            let changed = match &added {
                Some(of) => access.focus(accessed(of), until),
                None => access.clear_focus(),
            };
            (changed, focused_types(access, now))
        });
        let ((changed, context), notes) = done.map_err(|error| folder_error(&error))?;
        Ok(FocusList { context, changed, notes, ..FocusList::default() })
    }
}

fn accessed(of: &TypeRef) -> Accessed<'_> {
    Accessed { id: &of.type_id, name: &of.path }
}

fn type_ref(seen: &AccessEntry) -> TypeRef {
    TypeRef { path: seen.name.clone(), type_id: seen.id.clone() }
}

fn focused_types(access: &Access, now: i64) -> Vec<FocusEntry> {
    let to_entry = |seen: &AccessEntry| FocusEntry {
        path: seen.name.clone(),
        type_id: seen.id.clone(),
        until: Stamp(seen.at).to_string(),
    };
    let mut all: Vec<FocusEntry> = access.focused_at(now).map(to_entry).collect();
    all.sort_by(|one, other| (&one.path, &one.type_id).cmp(&(&other.path, &other.type_id)));
    all
}
