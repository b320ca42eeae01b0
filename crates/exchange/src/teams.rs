//! What a person does with a team: admits members, shares, withdraws, and takes over sessions that others share.
//!
//! Sends nothing: the next round does. Does not know how members are told about requests and invitations.

use crate::caller::Caller;
use crate::open_error::memory_error;
use crate::origins::{OriginWriter, Origins};
use crate::settings::{Place, SharedItem, sync_error};
use crate::shared_session::{self, SharedSession};
use crate::team_round::{Shareable, is_reviewed, read_item, to_api_session};
use crate::team_store::TeamStore;
use api::sync::{SyncAdmit, SyncAdmitted, SyncItem, SyncShare, SyncShared, SyncTake, SyncTaken, SyncUnshare};
use api::{Code, Error};
use history::home::Home;
use history::projects::Projects;
use history::scan::{by_time, scan_matching_rows};
use history::{History, import, ingest, resolve_session, scope};
use memory::{Fact, Store};
use sync::{DeviceId, JoinRequest, Role};

/// The team that is meant: the one that is named, or the only one.
pub(crate) fn find_team(home: &Home, named: Option<&String>) -> Result<Place, Error> {
    let mut teams = Place::teams(home);
    let names: Vec<String> = teams.iter().filter_map(|place| place.team.clone()).collect();
    let unknown = |message: String| {
        let error = Error::new(Code::InvalidArgument, message);
        if names.is_empty() {
            return error.hint("loci sync init URL --team NAME").hint("loci sync join URL --team NAME");
        }
        error.hint(format!("--team, one of: {}", names.join(", ")))
    };
    match named {
        Some(name) => {
            let found = teams.into_iter().find(|place| place.team.as_ref() == Some(name));
            found.ok_or_else(|| unknown(format!("this device does not belong to the team `{name}`")))
        }
        None if teams.len() == 1 => Ok(teams.remove(0)),
        None if teams.is_empty() => Err(unknown("this device belongs to no team".to_string())),
        None => Err(unknown("this device belongs to several teams".to_string())),
    }
}

fn team_name(place: &Place) -> String {
    place.team.clone().unwrap_or_default()
}

pub fn admit(caller: &Caller<'_>, request: &SyncAdmit) -> Result<SyncAdmitted, Error> {
    let place = find_team(&caller.home()?, request.team.as_ref())?;
    let (settings, mut space) = place.open(&caller.variables)?;
    let role = match request.role.as_str() {
        "reader" => Role::Reader,
        "administrator" => Role::Administrator,
        _ => Role::Writer,
    };
    let asked = JoinRequest::parse(&request.request).map_err(sync_error)?;
    // What arrives is shown under this name.
    if space.members().iter().any(|member| !member.is_recovery && member.label == asked.label) {
        let message = format!("the team has a member called `{}`", asked.label);
        return Err(Error::new(Code::InvalidArgument, message)
            .hint("ask for another --label, or remove the former one: loci sync remove NAME --team NAME"));
    }
    let invitation = space.admit(&asked, role).map_err(sync_error)?;
    Ok(SyncAdmitted {
        team: team_name(&place),
        url: settings.url,
        label: asked.label.clone(),
        role: request.role.clone(),
        invitation: invitation.to_string(),
    })
}

// ---- sharing

/// Sharing: what is named now, and nothing that is added later.
pub fn share(caller: &Caller<'_>, request: &SyncShare) -> Result<SyncShared, Error> {
    let home = caller.home()?;
    let place = find_team(&home, request.team.as_ref())?;
    let mut settings = place.joined_settings()?;
    let since = caller.history.clock.now().0.max(0) as u64;
    let mut shared =
        SyncShared { team: team_name(&place), dry_run: request.dry_run, ..SyncShared::default() };
    for named in &request.items {
        for found in find_items(&caller.history, &home, named.trim())? {
            let item = SharedItem { since, with_tools: request.with_tools, ..found };
            let Shareable::Now(shown, bytes) = read_item(&caller.history, &home, &item)? else { continue };
            if bytes.len() > sync::MAX_RECORD {
                return Err(too_large(&item, bytes.len()));
            }
            let is_same = |known: &&SharedItem| (&known.id, &known.source) == (&item.id, &item.source);
            match settings.shared.iter().find(is_same) {
                // Shared already, in this extent.
                Some(known) if known.with_tools == item.with_tools => {}
                known => {
                    let replaced = known.cloned();
                    settings.shared.retain(|other| Some(other) != replaced.as_ref());
                    settings.withdrawn.extend(replaced);
                    settings.shared.push(item);
                }
            }
            shared.items.push(shown);
        }
    }
    if !request.dry_run {
        place.store_settings(&settings)?;
    }
    Ok(shared)
}

fn too_large(item: &SharedItem, bytes: usize) -> Error {
    let (mega, most) = (bytes >> 20, sync::MAX_RECORD >> 20);
    let error = Error::new(
        Code::InvalidArgument,
        format!("`{}` has {mega} MB; at most {most} MB are shared", item.id),
    );
    if item.with_tools { error.hint("share it without --with-tools") } else { error }
}

pub fn unshare(caller: &Caller<'_>, request: &SyncUnshare) -> Result<SyncShared, Error> {
    let home = caller.home()?;
    let place = find_team(&home, request.team.as_ref())?;
    let mut settings = place.joined_settings()?;
    let mut shared = SyncShared { team: team_name(&place), withdrawn: true, ..SyncShared::default() };
    for named in request.items.iter().map(|named| named.trim()) {
        let of_project: Vec<String> = match scope_folder(&caller.history, named) {
            Some(_) => find_items(&caller.history, &home, named)?.into_iter().map(|item| item.id).collect(),
            None => Vec::new(),
        };
        let is_meant = |item: &SharedItem| item.id.starts_with(named) || of_project.contains(&item.id);
        let (gone, kept): (Vec<SharedItem>, Vec<SharedItem>) =
            settings.shared.drain(..).partition(|item| is_meant(item));
        settings.shared = kept;
        if gone.is_empty() {
            return Err(Error::new(Code::NotFound, format!("`{named}` is not shared with this team"))
                .hint("`loci sync status --team NAME` lists what is shared"));
        }
        for item in &gone {
            shared.items.push(describe(&caller.history, &home, item)?);
        }
        settings.withdrawn.extend(gone);
    }
    place.store_settings(&settings)?;
    Ok(shared)
}

/// What an item is for people, also if it is gone.
pub(crate) fn describe(history: &History<'_>, home: &Home, item: &SharedItem) -> Result<SyncItem, Error> {
    Ok(match read_item(history, home, item)? {
        Shareable::Now(shown, _) => shown,
        Shareable::Withdraw | Shareable::Unreadable => SyncItem {
            id: item.id.clone(),
            kind: if item.source.is_some() { "session" } else { "fact" }.to_string(),
            ..SyncItem::default()
        },
    })
}

/// The folder of a project, if the argument is one.
fn scope_folder(history: &History<'_>, named: &str) -> Option<String> {
    let path = scope::canonical_path(&history.cwd.join(named));
    path.is_dir().then(|| path.to_string_lossy().into_owned())
}

/// The facts of a folder, a fact, or a session.
fn find_items(history: &History<'_>, home: &Home, named: &str) -> Result<Vec<SharedItem>, Error> {
    let item = |id: &str| SharedItem { id: id.to_string(), ..SharedItem::default() };
    if named.starts_with("f-") {
        return Ok(vec![item(&find_fact(home, named)?.id)]);
    }
    if let Some(folder) = scope_folder(history, named) {
        let facts = load_facts(home, "")?;
        let is_here = |fact: &&Fact| fact.project == folder && is_reviewed(fact.state);
        return Ok(facts.iter().filter(is_here).map(|fact| item(&fact.id)).collect());
    }
    let (source, id) = find_session(history, named)?;
    Ok(vec![SharedItem { source: Some(source), ..item(&id) }])
}

fn load_facts(home: &Home, prefix: &str) -> Result<Vec<Fact>, Error> {
    let store = Store::open_read_only(&home.memory()).map_err(|error| memory_error(&error))?;
    store.map_or(Ok(Vec::new()), |store| store.facts(prefix).map_err(|error| memory_error(&error)))
}

fn find_fact(home: &Home, named: &str) -> Result<Fact, Error> {
    let mut facts = load_facts(home, named)?;
    if facts.len() > 1 {
        let ids = facts.iter().map(|fact| fact.id.as_str());
        return Err(resolve_session::ambiguous_id(named, "facts", ids));
    }
    let fact = facts.pop().ok_or_else(|| {
        Error::new(Code::NotFound, format!("no fact has an ID that starts with `{named}`"))
            .hint("list facts with `loci memory list --kind facts`")
    })?;
    if is_reviewed(fact.state) {
        return Ok(fact);
    }
    let message =
        format!("`{}` is in the state `{}`; only reviewed facts are shared", fact.id, fact.state.word());
    Err(Error::new(Code::InvalidArgument, message).hint(format!("loci memory accept {}", fact.id)))
}

/// Source and ID of the session with this ID or prefix.
fn find_session(history: &History<'_>, named: &str) -> Result<(String, String), Error> {
    let request = api::ViewRequest { session: Some(named.to_string()), ..api::ViewRequest::default() };
    let want = sources::SurveyOptions { calls: false, messages: true, fields: false };
    let (library, _) = scan_matching_rows(history, &request, want, by_time, |_, _| false)?;
    let sessions = library.facts.iter().flat_map(|facts| &facts.sessions);
    let called = resolve_session::match_prefix(sessions, named);
    match called.len() {
        1 => Ok(called
            .values()
            .next()
            .map(|one| (one.source.to_string(), one.session_id.to_string()))
            .unwrap_or_default()),
        0 => Err(Error::new(Code::SessionNotFound, format!("`{named}` is no fact, session or folder"))
            .hint("list recent sessions with `loci sessions`")),
        _ => Err(resolve_session::ambiguous_prefix(named, &called, "loci show")),
    }
}

// ---- taking over

/// The sessions that others share and that were not taken over.
pub(crate) fn list_offered(home: &Home, place: &Place) -> Result<Vec<SyncItem>, Error> {
    let origins = Origins::load(Some(home));
    let offered = TeamStore::open(&place.folder)?.offered()?;
    let shown = offered.iter().filter_map(|(device, bytes)| {
        let session = shared_session::parse(bytes)?;
        Some(SyncItem { device: origins.device_label(device), ..to_api_session(&session, bytes.len()) })
    });
    Ok(shown.collect())
}

/// Imports a session that a member shares. Only then is it searched, and offered to agents.
pub fn take(caller: &Caller<'_>, request: &SyncTake) -> Result<SyncTaken, Error> {
    let home = caller.home()?;
    let place = find_team(&home, request.team.as_ref())?;
    let offered = TeamStore::open(&place.folder)?.offered()?;
    let (device, session, bytes) = find_offered(&offered, request.session.trim())?;
    let session = session.of_device(&device.to_string());
    check_not_imported(&home, device, &session)?;
    import_session(caller, &home, &place, &session)?;
    let origins = OriginWriter::open(&home)?;
    origins.set_session("import", &session.id, *device)?;
    ingest::catch_up(&caller.history, false)?;
    let label = Origins::load(Some(&home)).device_label(device);
    Ok(SyncTaken {
        team: team_name(&place),
        session: SyncItem { device: label, ..to_api_session(&session, bytes) },
    })
}

/// The session that is meant by a prefix of its ID, and the device that shares it.
fn find_offered<'o>(
    offered: &'o [(DeviceId, Vec<u8>)],
    named: &str,
) -> Result<(&'o DeviceId, SharedSession, usize), Error> {
    let parsed = offered
        .iter()
        .filter_map(|(device, bytes)| Some((device, shared_session::parse(bytes)?, bytes.len())));
    let mut found: Vec<_> = parsed.filter(|(_, session, _)| session.id.starts_with(named)).collect();
    if found.len() > 1 {
        let ids = found.iter().map(|(_, session, _)| session.id.as_str());
        return Err(resolve_session::ambiguous_id(named, "shared sessions", ids));
    }
    found.pop().ok_or_else(|| {
        Error::new(Code::SessionNotFound, format!("no member shares a session `{named}`"))
            .hint("`loci sync status --team NAME` lists them")
    })
}

/// A member chooses the ID of what he shares: it must not replace a session that was imported from elsewhere.
fn check_not_imported(home: &Home, device: &DeviceId, session: &SharedSession) -> Result<(), Error> {
    let origins = Origins::load(Some(home));
    let known = origins.session_device("import", &session.id);
    if !import::is_imported(home, &session.id) || known.is_some() && known == origins.device_label(device) {
        return Ok(());
    }
    let message = format!("an imported session has the ID `{}` already", session.id);
    Err(Error::new(Code::InvalidArgument, message)
        .hint(format!("`loci show {0}` shows it; `loci forget {0}` removes it", session.id)))
}

fn import_session(
    caller: &Caller<'_>,
    home: &Home,
    place: &Place,
    session: &SharedSession,
) -> Result<(), Error> {
    let folder = session.project.find_folder(&caller.history, &Projects::load(&caller.history));
    let path = place.folder.join("taken.jsonl");
    history::home::replace_file(&path, session.to_lines(&folder).as_bytes())
        .map_err(|error| history::home::unwritable(&path, &error))?;
    let done = import::import_file(&caller.history, home, &path, false);
    // Best effort: the next one replaces it.
    let _ = std::fs::remove_file(&path);
    done.map(drop)
}
