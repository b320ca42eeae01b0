//! How what was put in is taken out: a file that nobody has touched since gets its former bytes back, from one that was
//! changed only what is ours goes.
//!
//! Does not know the agents' files; the receipt says what stands where.

use crate::agents::{Agent, Trace};
use crate::plan::{Move, Plan, unreadable};
use crate::receipt::{Record, What, Wiring, print};
use crate::text::Misfit;
use crate::{Machine, disk};
use api::setup::SetupProblem;

pub(crate) fn plan(machine: &Machine, agent: &Agent, wiring: &Wiring) -> Plan {
    let mut plan = Plan { folders: wiring.folders.clone(), ..Plan::default() };
    // The settings that point at our files go first, so that an agent started meanwhile finds no broken link.
    for record in wiring.files.iter().rev() {
        match undone(record) {
            Ok(step) => plan.moves.extend(step),
            Err(problem) => plan.problems.push(problem),
        }
    }
    for trace in (agent.traces)(machine) {
        plan.forget(trace);
    }
    plan
}

impl Plan {
    /// Takes out a note of the agent's. What cannot be understood is left to it.
    fn forget(&mut self, trace: Trace) {
        let planned = self.moves.iter_mut().find(|step| step.path == trace.path);
        let text = match &planned {
            Some(step) => step.after.clone(),
            None => disk::read(&trace.path).ok().flatten(),
        };
        let Some(text) = text else { return };
        let Ok(after) = trace.form.take_out(&text, &[trace.spot], &[]) else { return };
        match planned {
            Some(step) => step.after = Some(after),
            None if after != text => {
                self.moves.push(Move {
                    path: trace.path,
                    before: Some(text),
                    after: Some(after),
                    shown: true,
                });
            }
            None => {}
        }
    }
}

/// The step that undoes one record. None: nothing of ours is there.
pub(crate) fn undone(record: &Record) -> Result<Option<Move>, SetupProblem> {
    let path = &record.path;
    let Some(text) = disk::read(path).map_err(|error| unreadable(path, &error))? else { return Ok(None) };
    let after = match &record.what {
        What::Whole(prints) if prints.contains(&print(&text)) => None,
        What::Whole(_) => {
            let message = format!("{} is kept: it was changed after `loci setup` wrote it", path.display());
            return Err(SetupProblem {
                message,
                by_hand: Some("remove it by hand if it is not needed".to_string()),
            });
        }
        What::Entries(sewn) => {
            let after = text_without(record, &text).map_err(|misfit| SetupProblem {
                message: format!("{} is left as it is: {misfit}", path.display()),
                by_hand: Some(by_hand(record)),
            })?;
            let ours = sewn.created && after != text && (after.is_empty() || sewn.form.says_nothing(&after));
            (!ours).then_some(after)
        }
    };
    if after.as_ref() == Some(&text) {
        return Ok(None);
    }
    let shown = matches!(record.what, What::Entries(_));
    Ok(Some(Move { path: path.clone(), before: Some(text), after, shown }))
}

fn by_hand(record: &Record) -> String {
    let What::Entries(sewn) = &record.what else { return String::new() };
    let names = sewn.spots.iter().map(|spot| format!("`{}`", spot.name())).collect::<Vec<_>>();
    format!("take out by hand: {}", names.join(", "))
}

/// The text of somebody's file without what is ours.
pub(crate) fn text_without(record: &Record, text: &str) -> Result<String, Misfit> {
    let What::Entries(sewn) = &record.what else { return Ok(text.to_string()) };
    let untouched = sewn.stitches.iter().find_map(|stitches| stitches.undone(text));
    match untouched {
        Some(former) => Ok(former),
        None => sewn.form.take_out(text, &sewn.spots, &sewn.made),
    }
}
