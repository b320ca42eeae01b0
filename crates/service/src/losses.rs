//! Which standing problems the answer of a view or an operation could miss, and the note that says so.
//!
//! Does not find losses: see `history::standing_problems`, and `memory_store` for the databases that cannot be rebuilt.

use crate::Service;
use api::{Code, Error, Operation, View};
use history::archive_manifest;
use history::checked_stores::CheckedStores;
use history::home::{Home, Lock};
use history::standing_problems::{self, Area, LOST_COPY, StandingProblem};
use memory::sealed::{self, Loss};
use std::path::{Path, PathBuf};

/// What the answers of an operation are made of, by command. An operation on code, edits, settings or synchronisation shows
/// nothing that can be lost here.
const READERS: &[(&str, &[Area])] = &[
    ("search", &[Area::Sessions, Area::Memory]),
    ("show", &[Area::Sessions]),
    ("sessions", &[Area::Sessions, Area::Memory]),
    ("resolve", &[Area::Sessions]),
    ("project list", &[Area::Sessions]),
    ("why", &[Area::Sessions]),
    ("about", &[Area::Sessions, Area::Memory]),
    ("handoff", &[Area::Sessions]),
    ("digest", &[Area::Sessions, Area::Memory]),
    ("report", &[Area::Sessions, Area::Memory]),
    ("recommend", &[Area::Sessions, Area::Memory]),
    ("secrets", &[Area::Sessions]),
    ("archive", &[Area::Sessions]),
    ("index", &[Area::Sessions]),
    ("memory list", &[Area::Memory]),
    ("memory show", &[Area::Memory]),
    ("memory export", &[Area::Memory]),
    ("memory jobs", &[Area::Memory, Area::Costs]),
    ("memory costs", &[Area::Costs]),
    ("sync status", &[Area::Sync]),
    ("sync devices", &[Area::Sync, Area::Sessions]),
    ("sync now", &[Area::Sync]),
    ("sync check", &[Area::Sync]),
    ("agent list", &[Area::Messages]),
    ("agent messages", &[Area::Messages]),
];

/// A database that cannot be rebuilt: the kind of its problems, and what they are about.
struct Database {
    kind: &'static str,
    area: Area,
    paths: fn(&Home) -> Vec<PathBuf>,
}

const DATABASES: &[Database] = &[
    Database { kind: "memory", area: Area::Memory, paths: |home| vec![home.memory()] },
    Database { kind: "messages", area: Area::Messages, paths: |home| vec![home.mailbox()] },
    Database { kind: "costs", area: Area::Costs, paths: |home| vec![home.ledger()] },
    Database { kind: "sync", area: Area::Sync, paths: exchange::databases },
    Database { kind: "origins", area: Area::Sessions, paths: |home| vec![home.origins()] },
];

/// How closely a database is looked at.
#[derive(Clone, Copy)]
pub(crate) enum Depth {
    /// One small file and one row.
    Glance,
    /// All rows: about what an operation costs that reads them.
    Rows,
    /// Every byte.
    Bytes,
}

impl Service {
    /// The open problems that an answer of this operation could miss.
    pub fn losses_of_operation(&self, operation: &Operation) -> Result<Vec<StandingProblem>, Error> {
        let Some((command, areas)) = READERS.iter().find(|(command, _)| *command == operation.command) else {
            return Ok(Vec::new());
        };
        let is_about_memory = command.starts_with("memory") || command.starts_with("agent");
        self.losses_in(areas, if is_about_memory { Depth::Rows } else { Depth::Glance })
    }

    /// The same for a view: all of them read sessions.
    pub fn losses_of_view(&self, _view: &View) -> Result<Vec<StandingProblem>, Error> {
        self.losses_in(&[Area::Sessions], Depth::Glance)
    }

    fn losses_in(&self, areas: &[Area], depth: Depth) -> Result<Vec<StandingProblem>, Error> {
        let Some(home) = self.home() else { return Ok(Vec::new()) };
        let mut open = standing_problems::list_open(&home, self.clock.now())?;
        open.retain(|one| areas.contains(&one.area));
        for database in DATABASES.iter().filter(|database| areas.contains(&database.area)) {
            let mut found = self.check_database(&home, database, depth);
            found.retain(|new| open.iter().all(|one| one.id != new.id));
            open.append(&mut found);
        }
        Ok(open)
    }

    fn check_database(&self, home: &Home, database: &Database, depth: Depth) -> Vec<StandingProblem> {
        let paths = (database.paths)(home);
        paths.iter().filter_map(|path| self.check_file(path, database, depth)).collect()
    }

    fn check_file(&self, path: &Path, database: &Database, depth: Depth) -> Option<StandingProblem> {
        let damaged = |what: String| Some(Loss::Damaged { what });
        let loss = match depth {
            Depth::Glance => sealed::find_loss(path).unwrap_or_else(|error| damaged(error.to_string())),
            Depth::Rows => sealed::verify_rows(path),
            Depth::Bytes => sealed::verify(path),
        }?;
        // A home may have several databases of a kind.
        let name = path.strip_prefix(&self.home()?.data).unwrap_or(path).display();
        let key = match &loss {
            Loss::Damaged { .. } => format!("{name} damaged"),
            other => format!("{name} {other:?}"),
        };
        let message = format!("{} {loss}", path.display());
        let problem = StandingProblem::new(database.kind, &key, database.area, message, self.clock.now());
        let fix = match database.area {
            Area::Memory => format!("loci memory import FILE && loci doctor --dismiss {}", problem.id),
            // Leaving is the remedy for a damaged state.
            Area::Sync => "loci sync leave".to_string(),
            _ => return Some(problem),
        };
        Some(problem.fix(fix))
    }

    /// Looks at every byte of the databases and keeps what is damaged as standing problems. The caller is an update. One that was
    /// checked before, has not changed and is no problem is passed over.
    pub(crate) fn check_databases(&self, lock: &Lock, checked: &mut CheckedStores) -> Result<(), Error> {
        let Some(home) = self.home() else { return Ok(()) };
        let now = self.clock.now();
        let open = standing_problems::list_open(&home, now)?;
        for database in DATABASES {
            let paths = (database.paths)(&home);
            let is_due = |path: &PathBuf| {
                self.check_file(path, database, Depth::Glance).is_some()
                    || path.exists() && checked.is_due(path)
            };
            let is_open = open.iter().any(|one| one.kind == database.kind);
            if !is_open && !paths.iter().any(is_due) {
                continue;
            }
            let found = self.check_database(&home, database, Depth::Bytes);
            if found.is_empty() {
                for path in &paths {
                    checked.set_checked(path);
                }
            }
            standing_problems::set_found(&home, lock, database.kind, found, now)?;
        }
        Ok(())
    }

    /// All open problems and those that were dismissed, with every byte of the databases read.
    pub(crate) fn all_losses(&self) -> Result<(Vec<StandingProblem>, Vec<StandingProblem>), Error> {
        let Some(home) = self.home() else { return Ok((Vec::new(), Vec::new())) };
        let all = standing_problems::list(&home, self.clock.now())?;
        let (mut open, dismissed): (Vec<_>, Vec<_>) = all.into_iter().partition(StandingProblem::is_open);
        let lost =
            archive_manifest::to_problems(&archive_manifest::missing_entries(&home)?, self.clock.now());
        // Found anew; what has less than it had was an event, and stays.
        open.retain(|one| {
            one.kind != LOST_COPY
                && DATABASES.iter().all(|database| database.kind != one.kind)
                && lost.iter().all(|found| found.id != one.id)
        });
        open.extend(lost);
        open.extend(DATABASES.iter().flat_map(|database| self.check_database(&home, database, Depth::Bytes)));
        Ok((open, dismissed))
    }

    /// Stops reporting a problem. A database is taken as it is from then on.
    pub(crate) fn dismiss_loss(&self, name: &str) -> Result<(), Error> {
        let home = self.home().ok_or_else(history::error::no_home)?;
        let now = self.clock.now();
        let is_named = |one: &StandingProblem| one.id == name || one.kind == name;
        let mut dismissed = Vec::new();
        for database in DATABASES {
            for path in (database.paths)(&home) {
                let Some(found) = self.check_file(&path, database, Depth::Bytes).filter(is_named) else {
                    continue;
                };
                sealed::accept(&path).map_err(|error| {
                    let file = api::operation::shell_quote(&path.to_string_lossy());
                    Error::new(Code::ReadError, format!("{}: {error}", path.display()))
                        .hint(format!("mv {file} {file}.damaged"))
                })?;
                dismissed.push(found);
            }
        }
        if !dismissed.is_empty() {
            return self.store_dismissed(&home, dismissed);
        }
        let lost = archive_manifest::to_problems(&archive_manifest::missing_entries(&home)?, now);
        let lost: Vec<StandingProblem> = lost.into_iter().filter(is_named).collect();
        if lost.is_empty() {
            return standing_problems::dismiss(&home, name, now).map(drop);
        }
        let lock = Lock::acquire(&home)?;
        archive_manifest::dismiss_missing(&home, &lock)?;
        drop(lock);
        self.store_dismissed(&home, lost)
    }

    /// These are no longer problems, and are remembered as dismissed.
    fn store_dismissed(&self, home: &Home, dismissed: Vec<StandingProblem>) -> Result<(), Error> {
        let (lock, now) = (Lock::acquire(home)?, self.clock.now());
        let mut open = standing_problems::list_open(home, now)?;
        open.retain(|one| dismissed.iter().all(|other| other.id != one.id));
        for one in dismissed {
            let others = open.iter().filter(|other| other.kind == one.kind).cloned().collect();
            standing_problems::set_found(home, &lock, &one.kind, others, now)?;
            standing_problems::raise(home, &lock, StandingProblem { dismissed: Some(now.0), ..one })?;
        }
        Ok(())
    }
}

/// One line for people and agents. None: there is no problem.
pub fn describe_losses(open: &[StandingProblem]) -> Option<String> {
    let first = open.first()?;
    let more = if open.len() > 1 { format!(" (and {} more)", open.len() - 1) } else { String::new() };
    Some(format!("this may be incomplete: {}{more}; `loci doctor` lists what to do", first.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_is_an_operation() {
        for (command, _) in READERS {
            assert!(api::operation_named(command).is_some(), "{command}");
        }
    }
}
