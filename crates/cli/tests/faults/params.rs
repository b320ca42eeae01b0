//! A parameter that is accepted is honoured: for every question and every parameter it takes there is a case in
//! which giving it changes the answer.

use api::{VIEWS, View};
use std::collections::BTreeMap;
use testutil::{Finished, Home, run_line, sample_home};

/// Parameters that mean the same everywhere: name, what stands beside it, what is added.
const SHARED: &[(&str, &str, &str)] = &[
    ("session", "--all-projects", "--session aaaa1111"),
    ("project", "", "--project /srv/demo/alpha"),
    ("all_projects", "", "--all-projects"),
    ("source", "--all-projects", "--source codex"),
    ("since", "--all-projects", "--since 2026-03-02T12:00:00Z"),
    ("until", "--all-projects", "--until 2026-03-02T12:00:00Z"),
    ("limit", "--all-projects", "--limit 1"),
    ("offset", "--all-projects", "--offset 1"),
    ("reverse", "--all-projects", "--reverse"),
    ("jq_filter", "--all-projects", "--jq keys"),
    ("slurp", "--all-projects --jq .", "--slurp"),
    ("stats_only", "--all-projects", "--stats-only"),
    ("stats_first", "--all-projects", "--stats-first"),
    ("inline_threshold_bytes", "--all-projects --hybrid", "--inline-threshold-bytes 0"),
];

/// A question's own parameters, and what it needs to have two answers at all.
const OWN: &[(&str, &str, &str, &str)] = &[
    ("query tools", "pattern", "", "--pattern socket"),
    ("query tools", "tool", "", "--tool Read,shell"),
    ("query tools", "status", "", "--status error"),
    ("query tools", "fields", "", "--fields tool,status"),
    ("query errors", "pattern", "", "--pattern exist"),
    ("query errors", "tool", "", "--tool api"),
    ("query errors", "signature", "", "--signature @"),
    ("query errors", "fields", "", "--fields message"),
    ("query messages", "pattern", "", "--pattern socket"),
    ("query messages", "fields", "", "--fields role,text"),
    ("query user-messages", "pattern", "", "--pattern (?i)beta"),
    ("query user-messages", "fields", "", "--fields text"),
    ("query assistant-messages", "pattern", "", "--pattern Blue"),
    ("query assistant-messages", "fields", "", "--fields text"),
    ("query turns", "pattern", "", "--pattern socket"),
    ("query turns", "fields", "", "--fields prompt,tools"),
    ("query context", "signature", "", "--signature @"),
    ("query context", "window", "", "--window 0"),
    ("query context", "pattern", "", "--pattern exist"),
    ("query context", "tool", "", "--tool Bash"),
    ("query context", "fields", "", "--fields signature,at"),
    ("query file-access", "file", "", "--file src/lib.rs"),
    ("query file-access", "fields", "", "--fields file,timeline"),
    ("query sessions", "pattern", "", "--pattern churn"),
    ("query sessions", "fields", "", "--fields title"),
    ("query files", "pattern", "", "--pattern beta"),
    ("query files", "fields", "", "--fields file"),
    ("analyze sequences", "pattern", "--min-count 1", "--pattern 'Read -> Edit'"),
    ("analyze sequences", "min_count", "", "--min-count 6"),
    ("analyze sequences", "fields", "--min-count 1", "--fields pattern,count"),
    ("analyze errors", "pattern", "", "--pattern exist"),
    ("analyze errors", "tool", "", "--tool Read"),
    ("analyze errors", "min_count", "", "--min-count 9"),
    ("analyze errors", "fields", "", "--fields signature,count"),
    ("analyze file-churn", "min_count", "", "--min-count 1"),
    ("analyze file-churn", "fields", "--min-count 1", "--fields file,edits"),
    ("analyze idle", "minutes", "", "--minutes 20"),
    ("analyze idle", "fields", "", "--fields minutes"),
    ("stats", "tool", "", "--tool Read"),
    ("stats", "status", "", "--status error"),
    ("stats", "by", "", "--by tool"),
    ("stats", "fields", "", "--fields sessions,errors"),
    ("usage", "explain", "", "--explain"),
    ("usage", "by", "", "--by model"),
    ("usage", "fields", "", "--fields day,output"),
    ("sources", "problems", "", "--problems"),
    ("sources", "fields", "", "--fields source,lines"),
];

/// What every case of a view has beside it, so that there is more than one record.
const ALWAYS: &[(&str, &str)] = &[
    ("analyze sequences", "--min-count 1"),
    ("analyze file-churn", "--min-count 1"),
    ("stats", "--by session"),
];

/// The two command lines of a case: without the parameter and with it.
fn case(view: &View, param: &str) -> Option<(String, String)> {
    let title = view.title();
    let (beside, added) = if let Some((_, _, beside, added)) =
        OWN.iter().find(|(of, name, ..)| *of == title && *name == param)
    {
        (format!("--all-projects {beside}"), *added)
    } else {
        let (_, beside, added) = SHARED.iter().find(|(name, ..)| *name == param)?;
        let always = ALWAYS.iter().find(|(of, _)| *of == title).map_or("", |(_, words)| words);
        (format!("{beside} {always}"), *added)
    };
    let beside =
        if view.accepts_param("all_projects") { beside } else { beside.replace("--all-projects", "") };
    Some((format!("{title} {beside}"), format!("{title} {beside} {added}")))
}

/// `@` in a case stands for the name of a failure, which only an answer can tell.
fn fill(home: &Home, line: &str) -> String {
    if !line.contains('@') {
        return line.to_string();
    }
    let names = run_line(home, "analyze errors --all-projects --tool Read").all("signature");
    line.replace('@', names[0].as_str().unwrap())
}

#[test]
fn every_parameter_of_every_question_changes_its_answer() {
    let home = sample_home();
    let mut bases: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut idle = Vec::new();
    for view in VIEWS {
        for param in view.params() {
            let Some((without, with)) = case(view, param) else {
                idle.push(format!("{} {param}: no case", view.title()));
                continue;
            };
            let base = bases.entry(without.clone()).or_insert_with(|| run_line(&home, &without).stdout);
            let answer = run_line(&home, &fill(&home, &with));
            assert_ne!(answer.code, Some(1), "{with}: {}", answer.stderr);
            if answer.stdout == *base {
                idle.push(format!("`{with}` answers as `{without}` does"));
            }
        }
    }
    assert!(idle.is_empty(), "{idle:#?}");
}

fn strict_part(part: &Finished, whole: &Finished) -> bool {
    let (part, whole) = (part.lines(), whole.lines());
    !part.is_empty() && part.len() < whole.len() && part.iter().all(|line| whole.contains(line))
}

/// What narrows leaves a part of the same records; what cuts and turns does just that.
#[test]
fn limits_cut_reverse_turns_and_filters_narrow() {
    let home = sample_home();
    for view in VIEWS.iter().filter(|v| v.accepts_param("session")) {
        let always = ALWAYS.iter().find(|(of, _)| *of == view.title()).map_or("", |(_, words)| words);
        let base = format!("{} --all-projects {always}", view.title());
        let whole = run_line(&home, &base).expect(3);
        let lines = whole.lines();
        assert!(lines.len() > 1, "{base}");
        for (added, expected) in [
            ("--limit 1", &lines[..1]),
            ("--offset 1", &lines[1..]),
            ("--offset 1 --limit 1", &lines[1..2]),
            ("--limit 1000", &lines[..]),
        ] {
            assert_eq!(run_line(&home, &format!("{base} {added}")).lines(), expected, "{base} {added}");
        }
        let turned = run_line(&home, &format!("{base} --reverse"));
        assert!(turned.lines().iter().eq(lines.iter().rev()), "{base} --reverse");
    }
    for (base, added) in [
        ("query tools", "--session aaaa1111"),
        ("query tools", "--since 2026-03-02T12:00:00Z"),
        ("query tools", "--tool Bash"),
        ("query tools", "--status pending"),
        ("query tools", "--pattern socket"),
        ("query tools", "--source codex"),
        ("query errors", "--tool api"),
        ("query messages", "--pattern socket"),
        ("query user-messages", "--pattern socket"),
        ("query sessions", "--pattern socket"),
        ("query turns", "--pattern socket"),
        ("analyze idle", "--minutes 20"),
        ("analyze sequences --min-count 1", "--pattern 'Read -> Edit'"),
        ("query files", "--pattern main"),
        ("query file-access", "--file main.rs"),
    ] {
        let whole = run_line(&home, &format!("{base} --all-projects"));
        let part = run_line(&home, &format!("{base} --all-projects {added}"));
        assert!(strict_part(&part, &whole), "{base} {added}: {}", part.text());
    }
}

/// The command lines that the design documents show, with what they must give.
#[test]
fn the_promised_command_lines() {
    let home = sample_home();
    let all = |line: &str| run_line(&home, &format!("{line} --all-projects"));
    let failed = all("query tools --status error").expect(3);
    assert_eq!(failed.records().len(), 4);
    let selected = all("query tools --jq 'select(.status==\"error\")'").expect(3);
    assert_eq!(selected.all("id"), failed.all("id"));
    let tools = |answer: &Finished| answer.lines().join(" ");
    let each = all("query tools --jq 'select(.status==\"error\") | .tool'").expect(3);
    assert_eq!(tools(&each), "\"Bash\" \"Read\" \"Bash\" \"shell\"");
    let array = all("query tools --jq '.[] | select(.status == \"error\") | .tool'").expect(3);
    assert_eq!(array.stdout, each.stdout);
    let table = all("query tools --fields tool,status -o tsv").expect(3);
    assert_eq!(table.lines()[..2], ["tool\tstatus", "Read\tsuccess"]);
    assert!(table.lines().iter().all(|line| line.split('\t').count() == 2));
    let chosen = all("query tools --fields status,tool --limit 1").expect(3);
    assert_eq!(chosen.lines(), [r#"{"status":"success","tool":"Read"}"#]);
    let stats = &all("stats").expect(3).records()[0];
    assert_eq!((&stats["errors"], &stats["tool_calls"]), (&4.into(), &24.into()));
    let sequence = &all("analyze sequences --pattern 'Read -> Edit'").expect(3).records()[0];
    assert_eq!((&sequence["pattern"], &sequence["count"]), (&"Read -> Edit".into(), &7.into()));
    let errors = all("analyze errors").expect(3);
    assert_eq!(errors.all("count").iter().filter_map(serde_json::Value::as_u64).sum::<u64>(), 5);
    let one = run_line(&home, "query messages --session bbbb --fields session_id").expect(3);
    assert!(one.all("session_id").iter().all(|id| id.as_str().unwrap().starts_with("bbbb1111")));
}
