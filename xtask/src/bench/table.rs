//! Prints the table: the cost of each command, and its goals.
//!
//! Does not measure.

use super::goal::{Cost, Goal, Verdict};
use super::measure::{Measured, Results, Sample, median};

/// Prints the table; returns whether a goal was missed.
pub(super) fn print_table(results: &Results, goals: &[Goal]) -> bool {
    println!("\n{:<11} {:>9} {:>9} {:>8} {:>7}  goal", "command", "CPU s", "wall s", "RSS MB", "× scan");
    let mut missed = false;
    for row in &results.rows {
        let mut own = goals.iter().filter(|goal| goal.name == row.name);
        println!(
            "{} {}",
            format_costs(row, results),
            own.next().map_or(String::new(), |goal| format_goal(goal, results))
        );
        for goal in own {
            println!("{:<48} {}", "", format_goal(goal, results));
        }
        missed |= goals.iter().any(|goal| goal.name == row.name && goal.verdict(results) == Verdict::Missed);
    }
    missed
}

fn format_costs(row: &Measured, results: &Results) -> String {
    let middle = |cost: Cost| median(row.samples.iter().map(|sample| cost.of_sample(sample)).collect());
    let peak = results.peak_of(&row.name).map_or(String::new(), |peak| format!("{:.1}", peak as f64 / 1e6));
    let times = row.scan.as_ref().and_then(|scan| results.median_ratio(&row.name, scan, |s: &Sample| s.cpu));
    let times = times.map_or(String::new(), |times| format!("{times:.2}"));
    let (cpu, wall) = (middle(Cost::Cpu), middle(Cost::Wall));
    format!("{:<11} {cpu:>9.4} {wall:>9.4} {peak:>8} {times:>7} ", row.name)
}

fn format_goal(goal: &Goal, results: &Results) -> String {
    let ratio = goal.ratio(results).map_or("none".to_owned(), |ratio| format!("{ratio:.2}"));
    let verdict = match goal.verdict(results) {
        Verdict::Reached => "ok",
        Verdict::Missed => "MISS",
        Verdict::NotJudged => "not judged: the machine is busy",
    };
    format!("{goal}: {ratio} {verdict}")
}
