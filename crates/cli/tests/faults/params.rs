//! Every accepted parameter has an effect: for each view and each of its parameters there is a case in which setting
//! it changes the output.

use api::{VIEWS, View};
use std::collections::BTreeMap;
use testutil::{Finished, Home, run_line, sample_home};

/// Parameters that mean the same in every view: name, flags of both command lines, the flag under test.
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

/// Parameters of single views: view, name, flags of both command lines, the flag under test.
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
    ("query edits", "pattern", "", "--pattern green"),
    ("query edits", "tool", "", "--tool Write"),
    ("query edits", "file", "", "--file beta/x.rs"),
    ("query edits", "fields", "", "--fields file,status"),
    ("analyze sequences", "pattern", "--min-count 1", "--pattern 'Read -> Edit'"),
    ("analyze sequences", "min_count", "", "--min-count 6"),
    ("analyze sequences", "fields", "--min-count 1", "--fields pattern,count"),
    ("analyze errors", "pattern", "", "--pattern exist"),
    ("analyze errors", "tool", "", "--tool Read"),
    ("analyze errors", "min_count", "", "--min-count 9"),
    ("analyze errors", "fields", "", "--fields signature,count"),
    ("analyze file-churn", "min_count", "", "--min-count 1"),
    ("analyze file-churn", "fields", "--min-count 1", "--fields file,edits"),
    ("analyze rework", "file", "", "--file src/lib.rs"),
    ("analyze rework", "fields", "", "--fields kind,file"),
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

/// Flags that a view needs to return more than one record.
const BASE_FLAGS: &[(&str, &str)] = &[
    ("analyze sequences", "--min-count 1"),
    ("analyze file-churn", "--min-count 1"),
    ("stats", "--by session"),
];

/// The two command lines of a case: without the parameter under test and with it.
fn command_lines(view: &View, param: &str) -> Option<(String, String)> {
    let title = view.title();
    let (other_flags, added) = if let Some((_, _, other_flags, added)) =
        OWN.iter().find(|(view_title, name, ..)| *view_title == title && *name == param)
    {
        (format!("--all-projects {other_flags}"), *added)
    } else {
        let (_, other_flags, added) = SHARED.iter().find(|(name, ..)| *name == param)?;
        let base_flags =
            BASE_FLAGS.iter().find(|(view_title, _)| *view_title == title).map_or("", |(_, flags)| flags);
        (format!("{other_flags} {base_flags}"), *added)
    };
    let other_flags = if view.accepts_param("all_projects") {
        other_flags
    } else {
        other_flags.replace("--all-projects", "")
    };
    Some((format!("{title} {other_flags}"), format!("{title} {other_flags} {added}")))
}

/// Replaces `@` by an error signature, which is only known from the output.
fn fill_signature(home: &Home, line: &str) -> String {
    if !line.contains('@') {
        return line.to_string();
    }
    let signatures = run_line(home, "analyze errors --all-projects --tool Read").all("signature");
    line.replace('@', signatures[0].as_str().unwrap())
}

#[test]
fn every_parameter_of_every_view_changes_its_output() {
    let home = sample_home();
    let mut bases: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut without_effect = Vec::new();
    for view in VIEWS {
        for param in view.params() {
            let Some((without, with)) = command_lines(view, param) else {
                without_effect.push(format!("{} {param}: no case", view.title()));
                continue;
            };
            let base = bases.entry(without.clone()).or_insert_with(|| run_line(&home, &without).stdout);
            let output = run_line(&home, &fill_signature(&home, &with));
            assert_ne!(output.code, Some(1), "{with}: {}", output.stderr);
            if output.stdout == *base {
                without_effect.push(format!("`{with}` prints the same as `{without}`"));
            }
        }
    }
    assert!(without_effect.is_empty(), "{without_effect:#?}");
}

fn is_strict_subset(part: &Finished, whole: &Finished) -> bool {
    let (part, whole) = (part.lines(), whole.lines());
    !part.is_empty() && part.len() < whole.len() && part.iter().all(|line| whole.contains(line))
}

/// Filters return a subset of the same records; limit and offset slice them; reverse reverses them.
#[test]
fn limit_offset_reverse_and_filters_select_from_the_same_records() {
    let home = sample_home();
    for view in VIEWS.iter().filter(|v| v.accepts_param("session")) {
        let base_flags = BASE_FLAGS
            .iter()
            .find(|(view_title, _)| *view_title == view.title())
            .map_or("", |(_, flags)| flags);
        let base = format!("{} --all-projects {base_flags}", view.title());
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
        let reversed = run_line(&home, &format!("{base} --reverse"));
        assert!(reversed.lines().iter().eq(lines.iter().rev()), "{base} --reverse");
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
        assert!(is_strict_subset(&part, &whole), "{base} {added}: {}", part.text());
    }
}

/// The command lines shown in the design documents, with their expected results.
#[test]
fn documented_command_lines_give_the_documented_results() {
    let home = sample_home();
    let all = |line: &str| run_line(&home, &format!("{line} --all-projects"));
    let failed = all("query tools --status error").expect(3);
    assert_eq!(failed.records().len(), 4);
    let selected = all("query tools --jq 'select(.status==\"error\")'").expect(3);
    assert_eq!(selected.all("id"), failed.all("id"));
    let tools = |output: &Finished| output.lines().join(" ");
    let each = all("query tools --jq 'select(.status==\"error\") | .tool'").expect(3);
    assert_eq!(tools(&each), "\"shell\" \"Bash\" \"Read\" \"Bash\"");
    let array = all("query tools --jq '.[] | select(.status == \"error\") | .tool'").expect(3);
    assert_eq!(array.stdout, each.stdout);
    let table = all("query tools --fields tool,status -o tsv --reverse").expect(3);
    assert_eq!(table.lines()[..2], ["tool\tstatus", "Read\tsuccess"]);
    assert!(table.lines().iter().all(|line| line.split('\t').count() == 2));
    let chosen = all("query tools --fields status,tool --limit 1 --reverse").expect(3);
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
