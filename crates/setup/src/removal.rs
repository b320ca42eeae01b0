//! Plans the removal of everything an agent was given, and of the agent's own notes about it.
//!
//! Does not know the agents' files; the receipt lists what was installed where.

use crate::agents::{Agent, Trace};
use crate::file_change::FileChange;
use crate::plan::Plan;
use crate::receipt::Installation;
use crate::{Machine, disk, undo};

pub(crate) fn plan_removal(machine: &Machine, agent: &Agent, wiring: &Installation) -> Plan {
    let mut plan = Plan { folders: wiring.folders.clone(), ..Plan::default() };
    // Settings that refer to our files go first, so that an agent started meanwhile finds no broken reference.
    for record in wiring.files.iter().rev() {
        match undo::revert_record(record) {
            Ok(step) => plan.changes.extend(step),
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
    let planned = plan.changes.iter_mut().find(|step| step.path == trace.path);
    let text = match &planned {
        Some(step) => step.after.clone(),
        None => disk::read_text(&trace.path).ok().flatten(),
    };
    let Some(text) = text else { return };
    let Ok(after) = trace.form.remove_entries(&text, &[trace.location], &[]) else { return };
    match planned {
        Some(step) => step.after = Some(after),
        None if after != text => {
            plan.changes.push(FileChange {
                path: trace.path,
                before: Some(text),
                after: Some(after),
                shows_diff: true,
            });
        }
        None => {}
    }
}
