//! When memory is consolidated by itself: after a while in which no agent wrote anything, and not too often.
//!
//! Does not look at transcripts or clocks: whoever watches says when something was written last.

use crate::config::Memory;
use crate::{Service, config, memory_store};
use api::Error;
use api::memory::{Consolidate, Consolidated};
use history::error::homeless;
use history::home::Lock;
use record::Stamp;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// Whether it is time: quiet for long enough, and the last run long enough ago. A time that is not known never held
/// anything up.
pub(crate) fn due(now: Stamp, last_activity: Stamp, last_run: Stamp, settings: &Memory) -> bool {
    let since = |then: Stamp| if then.is_some() { now.0.saturating_sub(then.0) } else { i64::MAX };
    let (quiet, apart) = (i64::from(settings.idle_minutes), i64::from(settings.every_hours));
    since(last_activity) >= quiet.saturating_mul(MINUTE) && since(last_run) >= apart.saturating_mul(HOUR)
}

impl Service {
    /// Consolidates if it is time, and nobody else is at it. None: it is not.
    pub fn idle_work(&self, last_activity: Stamp) -> Result<Option<Consolidated>, Error> {
        let settings = config::read(&self.places)?.memory;
        let is_due = || -> Result<bool, Error> {
            let last_run = match memory_store::look(self)? {
                Some(store) => store.last_run().map_err(|error| memory_store::told(&error))?,
                None => Stamp::NONE,
            };
            Ok(due(self.clock.now(), last_activity, last_run, &settings))
        };
        if !is_due()? {
            return Ok(None);
        }
        let home = self.home().ok_or_else(homeless)?;
        let Some(lease) = Lock::seize_at(&home, &home.memory_lock())? else { return Ok(None) };
        // Whoever held it a moment ago may have done it.
        if !is_due()? {
            return Ok(None);
        }
        let mut done = crate::ops::memory::run(self, &Consolidate::default())?;
        drop(lease);
        crate::ops::memory::improve(self, &mut done)?;
        Ok(Some(done))
    }

    /// Has notes about types written that were asked for or are out of date, as far as what was just done has left room for
    /// it; gives how many.
    pub fn idle_notes(&self, done: &Consolidated) -> Result<u64, Error> {
        let asked = done.model.as_ref().map_or(0, |run| run.answered + run.failed);
        crate::ops::code::write_waiting(self, asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_time_when_it_was_quiet_and_the_last_run_is_long_ago() {
        let now = 1_000 * HOUR;
        let usual = Memory::default();
        let often = Memory { idle_minutes: 0, every_hours: 0 };
        let far = Memory { idle_minutes: u32::MAX, every_hours: u32::MAX };
        for (active, run, settings, is_due) in [
            (now - 30 * MINUTE, now - 4 * HOUR, &usual, true),
            (now - 30 * MINUTE + 1, now - 4 * HOUR, &usual, false),
            (now - 30 * MINUTE, now - 4 * HOUR + 1, &usual, false),
            (now - 30 * MINUTE, Stamp::NONE.0, &usual, true),
            (Stamp::NONE.0, Stamp::NONE.0, &usual, true),
            (now, now, &often, true),
            (now - 30 * MINUTE, now - 4 * HOUR, &far, false),
            // A clock that was set back: not before it has caught up.
            (now + HOUR, now + HOUR, &usual, false),
        ] {
            assert_eq!(due(Stamp(now), Stamp(active), Stamp(run), settings), is_due, "{active} {run}");
        }
    }

    /// A history of one session, a day before `now`.
    fn service(home: &std::path::Path, now: i64) -> Service {
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
        let places = sources::Places { home: home.to_path_buf(), vars: std::collections::BTreeMap::new() };
        Service::new(places, record::Clock::At(Stamp(now)), home.to_path_buf(), home.to_path_buf(), 1)
    }

    #[test]
    fn it_runs_by_itself_once_and_never_beside_another() {
        let home = tempfile::tempdir().unwrap();
        let now = Stamp::parse(b"2026-11-15T12:00:00Z").0;
        let first = service(home.path(), now);
        let quiet = Stamp(now - HOUR);
        assert!(first.idle_work(Stamp(now)).unwrap().is_none(), "somebody is at work");
        let own = first.home().unwrap();
        let lease = Lock::seize_at(&own, &own.memory_lock()).unwrap();
        assert!(first.idle_work(quiet).unwrap().is_none(), "another is at it");
        drop(lease);
        assert_eq!(first.idle_work(quiet).unwrap().map(|done| done.named), Some(1));
        assert!(first.idle_work(quiet).unwrap().is_none(), "it was done just now");
        let later = service(home.path(), now + 4 * HOUR);
        assert_eq!(later.idle_work(quiet).unwrap().map(|done| (done.named, done.unchanged)), Some((0, 1)));
    }
}
