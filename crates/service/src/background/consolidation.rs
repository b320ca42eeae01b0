//! Consolidates memory in the background: after a period without agent activity, and at most every few hours.
//!
//! Does not read transcripts to detect activity: the watcher passes the time of the last write it saw, and the catalogue has the
//! end of the newest session.

use crate::{Service, config, memory_store};
use api::Error;
use api::memory::{Consolidate, Consolidated};
use catalogue::SessionFilter;
use config::Memory;
use history::catalogue_cache;
use history::error::no_home;
use history::home::Lock;
use record::Stamp;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// Whether a run is due: idle for long enough, and the last run long enough ago. An unknown time counts as long ago.
pub(crate) fn is_due(now: Stamp, last_activity: Stamp, last_run: Stamp, settings: &Memory) -> bool {
    let since = |then: Stamp| if then.is_some() { now.0.saturating_sub(then.0) } else { i64::MAX };
    let (quiet, apart) = (i64::from(settings.idle_minutes), i64::from(settings.every_hours));
    since(last_activity) >= quiet.saturating_mul(MINUTE) && since(last_run) >= apart.saturating_mul(HOUR)
}

/// When an agent was last active. The watcher counts from its own start although the newest session may have ended days before;
/// the minute keeps a daemon that has just been started out of the way of whoever started it.
fn last_activity(now: Stamp, watched: Stamp, newest: Stamp) -> Stamp {
    let has_settled = now.0.saturating_sub(watched.0) >= MINUTE;
    if has_settled && newest.is_some() { Stamp(newest.0.min(watched.0)) } else { watched }
}

impl Service {
    /// The end of the newest session in the catalogue.
    fn newest_session_end(&self) -> Stamp {
        let reader = catalogue_cache::open_catalogue(&self.history());
        let newest = SessionFilter { limit: 1, ..SessionFilter::default() };
        let listed = reader.and_then(|reader| reader.newest_sessions(&newest).ok()).unwrap_or_default();
        listed.first().map_or(Stamp::NONE, |chat| chat.session.ended_at)
    }

    /// Consolidates memory if a run is due and no other process is doing it. None: nothing was done.
    pub fn consolidate_if_due(&self, watched: Stamp) -> Result<Option<Consolidated>, Error> {
        let last_activity = last_activity(self.clock.now(), watched, self.newest_session_end());
        let settings = config::read_config(&self.places)?.memory;
        let is_due = || -> Result<bool, Error> {
            let last_run = match memory_store::open_existing(self)? {
                Some(store) => store.last_run().map_err(|error| memory_store::store_error(&error))?,
                None => Stamp::NONE,
            };
            Ok(is_due(self.clock.now(), last_activity, last_run, &settings))
        };
        if !is_due()? {
            return Ok(None);
        }
        let home = self.home().ok_or_else(no_home)?;
        let Some(lease) = Lock::try_acquire_at(&home, &home.memory_lock())? else { return Ok(None) };
        // The previous holder of the lock may have completed a run in the meantime.
        if !is_due()? {
            return Ok(None);
        }
        let (mut done, store) = crate::operations::memory::consolidate_locked(self, &Consolidate::default())?;
        drop(lease);
        crate::operations::memory::improve_with_model(self, store, &mut done)?;
        Ok(Some(done))
    }

    /// Writes requested or outdated notes about types, within what this run has left of its job budget; returns how many.
    pub fn write_idle_notes(&self, done: &Consolidated) -> Result<u64, Error> {
        let asked = done.model.as_ref().map_or(0, |run| run.answered + run.failed);
        crate::operations::code::write_waiting(self, asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_ended_before_the_daemon_started_counts_as_idle() {
        let now = Stamp(100 * HOUR);
        let ago = |minutes: i64| Stamp(now.0 - minutes * MINUTE);
        for (watched, newest, expected) in [
            (ago(2), ago(600), ago(600)),
            (ago(0), ago(600), ago(0)),
            (ago(30), ago(2), ago(30)),
            (ago(5), Stamp::NONE, ago(5)),
        ] {
            assert_eq!(last_activity(now, watched, newest), expected);
        }
    }

    #[test]
    fn a_run_is_due_after_idle_time_and_an_interval() {
        let now = 1_000 * HOUR;
        let usual = Memory::default();
        let often = Memory { idle_minutes: 0, every_hours: 0 };
        let far = Memory { idle_minutes: u32::MAX, every_hours: u32::MAX };
        for (active, run, settings, expected) in [
            (now - 30 * MINUTE, now - 4 * HOUR, &usual, true),
            (now - 30 * MINUTE + 1, now - 4 * HOUR, &usual, false),
            (now - 30 * MINUTE, now - 4 * HOUR + 1, &usual, false),
            (now - 30 * MINUTE, Stamp::NONE.0, &usual, true),
            (Stamp::NONE.0, Stamp::NONE.0, &usual, true),
            (now, now, &often, true),
            (now - 30 * MINUTE, now - 4 * HOUR, &far, false),
            // After the clock was set back, a run is not due until it has caught up.
            (now + HOUR, now + HOUR, &usual, false),
        ] {
            assert_eq!(is_due(Stamp(now), Stamp(active), Stamp(run), settings), expected, "{active} {run}");
        }
    }

    /// A service whose history is one session, a day before `now`.
    fn sample_service(home: &std::path::Path, now: i64) -> Service {
        let entry = serde_json::json!({
            "type": "user", "uuid": "u1", "parentUuid": null, "isSidechain": false, "userType": "external",
            "sessionId": "aaaa1111-0000-4000-8000-000000000001", "cwd": "/srv/shop", "version": "2.1.100",
            "timestamp": Stamp(now - 24 * HOUR).to_string(),
            "message": {"role": "user", "content": "Fix the pager of the shop"},
        });
        let folder = home.join(".claude/projects/-srv-shop");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("aaaa1111-0000-4000-8000-000000000001.jsonl");
        std::fs::write(file, format!("{entry}\n")).unwrap();
        let places =
            sources::Environment { home: home.to_path_buf(), vars: std::collections::BTreeMap::new() };
        Service::new(places, record::Clock::At(Stamp(now)), home.to_path_buf(), home.to_path_buf(), 1)
    }

    #[test]
    fn it_runs_once_and_never_concurrently() {
        let home = tempfile::tempdir().unwrap();
        let now = Stamp::parse(b"2026-11-15T12:00:00Z").0;
        let first = sample_service(home.path(), now);
        let quiet = Stamp(now - HOUR);
        assert!(first.consolidate_if_due(Stamp(now)).unwrap().is_none(), "an agent is active");
        let own = first.home().unwrap();
        let lease = Lock::try_acquire_at(&own, &own.memory_lock()).unwrap();
        assert!(first.consolidate_if_due(quiet).unwrap().is_none(), "another process holds the lock");
        drop(lease);
        assert_eq!(first.consolidate_if_due(quiet).unwrap().map(|done| done.named), Some(1));
        assert!(first.consolidate_if_due(quiet).unwrap().is_none(), "the last run is too recent");
        let later = sample_service(home.path(), now + 4 * HOUR);
        assert_eq!(
            later.consolidate_if_due(quiet).unwrap().map(|done| (done.named, done.unchanged)),
            Some((0, 1))
        );
    }
}
