//! The operations of `loci sync`.
//!
//! Does not know what travels, and does not read the environment.

use crate::caller::Caller;
use crate::memory_records;
use crate::returned::Returned;
use crate::round::{preview, run_round};
use crate::settings::{Place, SpaceSettings, exclude_project, sync_error};
use crate::status::{find_members, keep_failure, read_status, to_finding};
use crate::team_round::run_team_round;
use crate::teams::{describe, find_team, list_offered};
use api::Error;
use api::sync::{
    SyncCheck, SyncChecked, SyncDevices, SyncDevicesRequest, SyncExclude, SyncInit, SyncJoin, SyncJoined,
    SyncLeave, SyncLeft, SyncNow, SyncPreview, SyncPreviewed, SyncRekey, SyncRekeyed, SyncRemove, SyncRound,
    SyncStatus, SyncStatusRequest,
};
use history::home::Home;
use history::scope;
use sync::{Invitation, Phrase, Space};

/// The space of a team, or that of the person.
fn find_place(home: &Home, team: Option<&String>) -> Result<Place, Error> {
    team.map_or_else(|| Ok(Place::private(home)), |_| find_team(home, team))
}

/// The same for what only shows: without a space of the person, the only team.
fn find_shown_place(home: &Home, team: Option<&String>) -> Result<Place, Error> {
    let private = Place::private(home);
    if team.is_none() && (private.is_joined() || Place::teams(home).is_empty()) {
        return Ok(private);
    }
    find_team(home, team)
}

/// Where the state of a space is going to be.
fn new_place(home: &Home, team: Option<&String>) -> Result<Place, Error> {
    let place = team.map_or_else(|| Place::private(home), |team| Place::of_team(home, team));
    if place.is_joined() {
        return Err(sync_error(sync::Error::AlreadyJoined));
    }
    Ok(place)
}

fn finish_joining(place: &Place, url: String, label: String, space: &Space) -> Result<SyncJoined, Error> {
    finish_entering(place, SpaceSettings { url, label, ..SpaceSettings::default() }, space)
}

/// The settings are written once: a kill leaves those of a device that returns, or none.
fn finish_entering(place: &Place, settings: SpaceSettings, space: &Space) -> Result<SyncJoined, Error> {
    place.store_settings(&settings)?;
    let (space, team, SpaceSettings { url, label, .. }) =
        (space.id().to_string(), place.team.clone(), settings);
    Ok(SyncJoined { space, label, url, team, ..SyncJoined::default() })
}

pub fn init(caller: &Caller<'_>, request: &SyncInit) -> Result<SyncJoined, Error> {
    let url = caller.resolve_url(&request.url)?;
    let label = caller.label(request.label.as_ref());
    let place = new_place(&caller.home()?, request.team.as_ref())?;
    let (space, phrase) = place.enter(&url, &caller.variables, |folder, store, settings| {
        Space::create(folder, store, &label, settings)
    })?;
    let warning = request.team.as_ref().and_then(|_| describe_unshared(&url));
    Ok(SyncJoined {
        warning,
        phrase: Some(phrase.to_string()),
        ..finish_joining(&place, url, label, &space)?
    })
}

/// What keeps other users of this machine from a folder.
fn describe_unshared(url: &str) -> Option<String> {
    let mode = os::files::mode(&std::fs::metadata(url).ok()?);
    let is_shared = cfg!(windows) || mode & 0o070 == 0o070 || mode & 0o007 == 0o007;
    (!is_shared).then(|| {
        let folder = api::operation::shell_quote(url);
        format!("other users cannot write in this folder: chgrp GROUP {folder} && chmod 2770 {folder}")
    })
}

pub fn join(caller: &Caller<'_>, request: &SyncJoin) -> Result<SyncJoined, Error> {
    let url = caller.resolve_url(&request.url)?;
    let label = caller.label(request.label.as_ref());
    let place = new_place(&caller.home()?, request.team.as_ref())?;
    let secret = request.phrase.trim();
    if request.team.is_some() && secret.is_empty() {
        let asked = place.enter(&url, &caller.variables, |folder, _, _| Space::request(folder, &label))?;
        let (team, request) = (place.team, Some(asked.to_string()));
        return Ok(SyncJoined { label, url, team, request, ..SyncJoined::default() });
    }
    if request.team.is_some() && secret.contains('.') {
        let invitation = Invitation::parse(secret).map_err(sync_error)?;
        let space = place.enter(&url, &caller.variables, |folder, store, settings| {
            Space::accept(folder, store, &invitation, settings)
        })?;
        // The name that the administrator has admitted.
        let admitted = space.author(space.device()).map_err(sync_error)?.map(|member| member.label);
        return finish_joining(&place, url, admitted.unwrap_or(label), &space);
    }
    let phrase = Phrase::parse(secret).map_err(sync_error)?;
    let space = place.enter(&url, &caller.variables, |folder, store, settings| {
        Space::recover(folder, store, &phrase, &label, settings)
    })?;
    // A team is sent only what a person shares, and what it sends is only a suggestion.
    let returned = place.team.is_none();
    finish_entering(&place, SpaceSettings { url, label, returned, ..SpaceSettings::default() }, &space)
}

// ---- rounds

/// The space of the person and those of all teams.
fn all_places(home: &Home) -> Vec<Place> {
    let private = Some(Place::private(home)).filter(Place::is_joined);
    private.into_iter().chain(Place::teams(home)).collect()
}

fn run_at(caller: &Caller<'_>, place: &Place) -> Result<SyncRound, Error> {
    match place.team {
        Some(_) => run_team_round(&caller.history, place, &caller.variables),
        None => run_round(&caller.history, &caller.variables),
    }
}

pub fn sync_now(caller: &Caller<'_>, request: &SyncNow) -> Result<SyncRound, Error> {
    let home = caller.home()?;
    let places = match &request.team {
        Some(_) => vec![find_team(&home, request.team.as_ref())?],
        None => all_places(&home),
    };
    if places.is_empty() {
        return Err(sync_error(sync::Error::NotJoined));
    }
    let (mut total, mut failure) = (SyncRound::default(), None);
    for place in &places {
        // One storage that fails does not keep the others from being used.
        let round = start_rounds(place).and_then(|()| run_at(caller, place));
        keep_failure(place, round.as_ref().err());
        match round {
            Ok(round) => add_round(&mut total, round),
            Err(error) => drop(failure.get_or_insert(error)),
        }
    }
    failure.map_or(Ok(total), Err)
}

/// From the first round on, the daemon runs others.
fn start_rounds(place: &Place) -> Result<(), Error> {
    let settings = place.joined_settings()?;
    if settings.started { Ok(()) } else { place.store_settings(&SpaceSettings { started: true, ..settings }) }
}

fn add_round(total: &mut SyncRound, round: SyncRound) {
    let counts: [(&mut u64, u64); 11] = [
        (&mut total.repaired, round.repaired),
        (&mut total.sent, round.sent),
        (&mut total.transcripts, round.transcripts),
        (&mut total.memory, round.memory),
        (&mut total.forgotten, round.forgotten),
        (&mut total.excluded, round.excluded),
        (&mut total.withheld, round.withheld),
        (&mut total.too_large, round.too_large),
        (&mut total.suggested, round.suggested),
        (&mut total.offered, round.offered),
        (&mut total.refused, round.refused),
    ];
    for (total, count) in counts {
        *total += count;
    }
    total.withdrawn.extend(round.withdrawn);
    total.unreadable.extend(round.unreadable);
    total.findings.extend(round.findings);
}

/// Runs a round in each space in which a person has run the first one. Failures are kept for `sync status`. Returns how many requests
/// a round without news takes in the largest space.
pub fn sync_if_started(caller: &Caller<'_>) -> Result<u64, Error> {
    let mut done = Ok(1);
    for place in &all_places(&caller.home()?) {
        let round = match place.joined_settings() {
            Ok(settings) if !settings.started => continue,
            settings => settings.and_then(|_| run_at(caller, place)).map(|round| round.lists),
        };
        keep_failure(place, round.as_ref().err());
        done = done.and_then(|most: u64| round.map(|lists| lists.max(most)));
    }
    done
}

// ---- what is there

pub fn show_preview(caller: &Caller<'_>, request: &SyncPreview) -> Result<SyncPreviewed, Error> {
    match &request.team {
        Some(_) => preview_team(caller, request),
        None => preview(&caller.history, request.limit),
    }
}

/// Lists what a team is sent. What it has already is not sent again.
fn preview_team(caller: &Caller<'_>, request: &SyncPreview) -> Result<SyncPreviewed, Error> {
    let home = caller.home()?;
    let (settings, space) = find_team(&home, request.team.as_ref())?.open(&[])?;
    let pending = space.status().map_err(sync_error)?.pending;
    let mut shown = SyncPreviewed { pending, ..SyncPreviewed::default() };
    for item in &settings.shared {
        let item = describe(&caller.history, &home, item)?;
        (shown.total, shown.bytes) = (shown.total + 1, shown.bytes + item.bytes);
        if shown.total <= request.limit {
            shown.items.push(item);
        }
    }
    Ok(shown)
}

pub fn show_status(caller: &Caller<'_>, request: &SyncStatusRequest) -> Result<SyncStatus, Error> {
    let home = caller.home()?;
    let place = find_shown_place(&home, request.team.as_ref())?;
    let (settings, space) = place.open(&caller.variables)?;
    let shared = settings.shared.iter().map(|item| describe(&caller.history, &home, item));
    let shared = shared.collect::<Result<_, _>>()?;
    let offered = if place.team.is_some() { list_offered(&home, &place)? } else { Vec::new() };
    Ok(SyncStatus { shared, offered, ..read_status(&home, &place, settings, &space)? })
}

pub fn list_devices(caller: &Caller<'_>, request: &SyncDevicesRequest) -> Result<SyncDevices, Error> {
    let home = caller.home()?;
    let place = find_shown_place(&home, request.team.as_ref())?;
    let (settings, space) = place.open(&caller.variables)?;
    Ok(SyncDevices { devices: read_status(&home, &place, settings, &space)?.devices })
}

pub fn exclude(caller: &Caller<'_>, request: &SyncExclude) -> Result<SyncStatus, Error> {
    let home = caller.home()?;
    let (mut settings, space) = Place::private(&home).open(&caller.variables)?;
    // An agent records the folder as it was opened, which may be by a link.
    let typed = caller.history.cwd.join(&request.project);
    let names = [scope::canonical_path(&typed), typed].map(|path| path.to_string_lossy().into_owned());
    exclude_project(&home, &mut settings, &space, &names, request.undo)?;
    read_status(&home, &Place::private(&home), settings, &space)
}

pub fn remove(caller: &Caller<'_>, request: &SyncRemove) -> Result<SyncStatus, Error> {
    let home = caller.home()?;
    let place = find_place(&home, request.team.as_ref())?;
    let (settings, mut space) = place.open(&caller.variables)?;
    for member in find_members(&space, &request.device)? {
        space.remove_member(&member).map_err(sync_error)?;
    }
    read_status(&home, &place, settings, &space)
}

/// Replaces the recovery phrase.
pub fn replace_phrase(caller: &Caller<'_>, request: &SyncRekey) -> Result<SyncRekeyed, Error> {
    let place = find_place(&caller.home()?, request.team.as_ref())?;
    let (settings, mut space) = place.open(&caller.variables)?;
    let phrase = space.replace_phrase().map_err(sync_error)?.to_string();
    Ok(SyncRekeyed { url: settings.url, team: place.team, phrase })
}

/// Compares the storage with what should be in it.
pub fn check(caller: &Caller<'_>, request: &SyncCheck) -> Result<SyncChecked, Error> {
    let place = find_place(&caller.home()?, request.team.as_ref())?;
    let (_, mut space) = place.open(&caller.variables)?;
    let mut repaired = 0;
    if request.repair {
        space.accept_storage().map_err(sync_error)?;
        let round = run_at(caller, &place);
        keep_failure(&place, round.as_ref().err());
        repaired = round?.repaired;
    }
    let checked = space.check(request.read).map_err(sync_error)?;
    let findings = checked.findings.iter().map(to_finding).collect();
    Ok(SyncChecked { objects: checked.objects, bytes: checked.bytes, repaired, findings })
}

/// The problems that are listed of each space.
const LISTED: usize = 3;

/// What is wrong with the storage of each space, as far as this device knows. None: it belongs to no space.
pub fn list_problems(caller: &Caller<'_>) -> Result<Option<Vec<String>>, Error> {
    let home = caller.home()?;
    let places = all_places(&home);
    if places.is_empty() {
        return Ok(None);
    }
    let mut problems = Vec::new();
    for place in places {
        let opened = place.open(&caller.variables);
        let status = opened.and_then(|(settings, space)| read_status(&home, &place, settings, &space));
        let status = match status {
            Ok(status) => status,
            Err(error) => {
                problems.push(error.message);
                continue;
            }
        };
        problems
            .extend(status.failure.map(|why| format!("the last round with {} failed: {why}", status.url)));
        for finding in status.findings.iter().take(LISTED) {
            problems.push(format!("{} at {} in {}", finding.problem, finding.object, status.url));
        }
        if let Some(more) = status.findings.len().checked_sub(LISTED).filter(|more| *more > 0) {
            problems.push(format!("{more} more in {}", status.url));
        }
    }
    Ok(Some(problems))
}

fn keep_exchanged(caller: &Caller<'_>, place: &Place) -> Result<(), Error> {
    let (settings, space) = place.open(&caller.variables)?;
    Returned::keep(place, &settings, &space, memory_records::list_changes(&caller.history, &settings)?)
}

pub fn leave(caller: &Caller<'_>, request: &SyncLeave) -> Result<SyncLeft, Error> {
    let place = find_place(&caller.home()?, request.team.as_ref())?;
    let url = place.joined_settings().map(|settings| settings.url);
    // Leaving is the remedy for a damaged state, so it goes on without.
    let kept = if place.team.is_none() { keep_exchanged(caller, &place) } else { Ok(()) };
    let warning = kept.err().map(|error| {
        let then = "if this device joins again, of two edits the one with the later time counts";
        format!("what was exchanged is not kept for another day ({}): {then}", error.message)
    });
    if !place.is_joined() {
        return Err(sync_error(sync::Error::NotJoined));
    }
    place.delete()?;
    Ok(SyncLeft { url: url.unwrap_or_default(), warning })
}
