//! Plans the removal of everything an agent was given, and of the agent's own notes about it.
//!
//! Does not know the agents' files; the receipt lists what was installed where.

use crate::agents::{Agent, Trace};
use crate::file_change::FileChange;
use crate::plan::Plan;
use crate::receipt::Wiring;
use crate::{Machine, disk, undo};

pub(crate) fn plan_removal(machine: &Machine, agent: &Agent, wiring: &Wiring) -> Plan {
    let mut plan = Plan { folders: wiring.folders.clone(), ..Plan::default() };
    // Settings that refer to our files go first, so that an agent started meanwhile finds no broken reference.
    for record in wiring.files.iter().rev() {
        match undo::undone(record) {
            Ok(step) => plan.moves.extend(step),
            Err(problem) => plan.problems.push(problem),
        }
    }
    for trace in (agent.traces)(machine) {
        remove_trace(&mut plan, trace);
    }
    plan
}

/// Removes a note that the agent made about us. A file that cannot be parsed is left alone.
fn remove_trace(plan: &mut Plan, trace: Trace) {
    let planned = plan.moves.iter_mut().find(|step| step.path == trace.path);
    let text = match &planned {
        Some(step) => step.after.clone(),
        None => disk::read(&trace.path).ok().flatten(),
    };
    let Some(text) = text else { return };
    let Ok(after) = trace.form.take_out(&text, &[trace.spot], &[]) else { return };
    match planned {
        Some(step) => step.after = Some(after),
        None if after != text => {
            plan.moves.push(FileChange {
                path: trace.path,
                before: Some(text),
                after: Some(after),
                shows_diff: true,
            });
        }
        None => {}
    }
}
