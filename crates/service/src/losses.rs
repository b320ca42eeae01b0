//! Which standing problems the answer of a view or an operation could miss, and the note that says so.
//!
//! Does not find losses: see `history::standing_problems`, and `memory_store` for the databases that cannot be rebuilt.

use crate::Service;
use api::{Code, Error, Operation, View};
use history::home::{Home, Lock};
use history::standing_problems::{self, Area, StandingProblem};
use memory::sealed::{self, Loss};
use std::path::PathBuf;

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
    ("agent list", &[Area::Messages]),
    ("agent messages", &[Area::Messages]),
];

/// A database that cannot be rebuilt: the kind of its problems, and what they are about.
struct Database {
    kind: &'static str,
    area: Area,
    path: fn(&Home) -> PathBuf,
}

const DATABASES: &[Database] = &[
    Database { kind: "memory", area: Area::Memory, path: Home::memory },
    Database { kind: "messages", area: Area::Messages, path: Home::mailbox },
    Database { kind: "costs", area: Area::Costs, path: Home::ledger },
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
            open.extend(
                self.check_database(&home, database, depth)
                    .filter(|new| open.iter().all(|one| one.id != new.id)),
            );
        }
        Ok(open)
    }

    fn check_database(&self, home: &Home, database: &Database, depth: Depth) -> Option<StandingProblem> {
        let path = (database.path)(home);
        let damaged = |what: String| Some(Loss::Damaged { what });
        let loss = match depth {
            Depth::Glance => sealed::find_loss(&path).unwrap_or_else(|error| damaged(error.to_string())),
            Depth::Rows => sealed::verify_rows(&path),
            Depth::Bytes => sealed::verify(&path),
        }?;
        let key = match &loss {
            Loss::Damaged { .. } => "damaged".to_string(),
            other => format!("{other:?}"),
        };
        let message = format!("{} {loss}", path.display());
        let problem = StandingProblem::new(database.kind, &key, database.area, message, self.clock.now());
        if database.kind != "memory" {
            return Some(problem);
        }
        let fix = format!("loci memory import FILE && loci doctor --dismiss {}", problem.id);
        Some(problem.fix(fix))
    }

    /// Looks at every byte of the databases and keeps what is damaged as standing problems. The caller is an update.
    pub(crate) fn check_databases(&self, lock: &Lock) -> Result<(), Error> {
        let Some(home) = self.home() else { return Ok(()) };
        let now = self.clock.now();
        for database in DATABASES {
            let found = self.check_database(&home, database, Depth::Bytes);
            standing_problems::set_found(&home, lock, database.kind, found.into_iter().collect(), now)?;
        }
        Ok(())
    }

    /// All open problems and those that were dismissed, with every byte of the databases read.
    pub(crate) fn all_losses(&self) -> Result<(Vec<StandingProblem>, Vec<StandingProblem>), Error> {
        let Some(home) = self.home() else { return Ok((Vec::new(), Vec::new())) };
        let all = standing_problems::list(&home, self.clock.now())?;
        let (mut open, dismissed): (Vec<_>, Vec<_>) = all.into_iter().partition(StandingProblem::is_open);
        open.retain(|one| DATABASES.iter().all(|database| database.kind != one.kind));
        open.extend(
            DATABASES.iter().filter_map(|database| self.check_database(&home, database, Depth::Bytes)),
        );
        Ok((open, dismissed))
    }

    /// Stops reporting a problem. A database is taken as it is from then on.
    pub(crate) fn dismiss_loss(&self, name: &str) -> Result<(), Error> {
        let home = self.home().ok_or_else(history::error::no_home)?;
        let now = self.clock.now();
        for database in DATABASES {
            let Some(found) = self.check_database(&home, database, Depth::Bytes) else { continue };
            if found.id != name && found.kind != name {
                continue;
            }
            let path = (database.path)(&home);
            sealed::accept(&path).map_err(|error| {
                let file = api::operation::shell_quote(&path.to_string_lossy());
                Error::new(Code::ReadError, format!("{}: {error}", path.display()))
                    .hint(format!("mv {file} {file}.damaged"))
            })?;
            let lock = Lock::acquire(&home)?;
            standing_problems::set_found(&home, &lock, database.kind, Vec::new(), now)?;
            return standing_problems::raise(
                &home,
                &lock,
                StandingProblem { dismissed: Some(now.0), ..found },
            );
        }
        standing_problems::dismiss(&home, name, now).map(drop)
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
