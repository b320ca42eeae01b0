//! `loci report`: its numbers are those of `usage`, `stats`, `analyze` and `sessions`, and its page has the same numbers.

use serde_json::{Value, json};
use std::process::Command;
use testutil::{Finished, Home, Rollout, Session, needs, run_line};

const HOSTILE: &str =
    "</script><script>alert(1)</script>\u{1b}[31m\u{202e}\u{200f}<img src=x onerror=alert(1)>\u{7}";
const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn session_id(n: usize) -> String {
    format!("{n:08x}-0000-4000-8000-000000000001")
}

/// Two months in two projects with two agents: failures, edits of one file, a decision that is superseded, a hostile title.
fn home_with_two_months() -> Home {
    let home = Home::new();
    for (n, (folder, start)) in [
        ("/srv/demo/shop", "2026-01-05T09:00:00Z"),
        ("/srv/demo/shop", "2026-02-03T10:00:00Z"),
        ("/srv/demo/shop", "2026-02-17T11:00:00Z"),
        ("/srv/demo/tools", "2026-02-20T23:00:00Z"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut session = Session::new(&session_id(n), folder, start);
        session.prompt("we need a store for the labels of the shop").reply(&["SQLite or Postgres?"]);
        let decision = if n < 2 {
            "we go with Postgres 16 for labels"
        } else {
            "we go with SQLite for labels after all"
        };
        session.prompt(&format!("OK, decided: {decision}."));
        for edit in 0..n + 3 {
            let change =
                json!({"file_path": format!("{folder}/src/label.rs"), "old_string": edit, "new_string": "b"});
            session.did("Edit", change, "updated");
            session.failed(
                "Bash",
                json!({"command": "make"}),
                "Exit code 2\nmake: no rule to make target 'all'",
            );
        }
        session.reply(&["Noted."]);
        home.add(&session);
    }
    let mut hostile = Session::new(&session_id(9), "/srv/demo/tools", "2026-02-21T08:00:00Z");
    hostile.prompt(&format!("{HOSTILE} with the token {SECRET}")).reply(&["No."]);
    hostile.failed("Bash", json!({"command": "x"}), &format!("{HOSTILE} {SECRET}"));
    hostile.failed("Bash", json!({"command": "x"}), &format!("{HOSTILE} {SECRET}"));
    home.add(&hostile);
    let mut codex =
        Rollout::new("0199a213-81c0-7800-8aa1-bbab2a035a53", "/srv/demo/shop", "2026-02-10T20:30:00Z");
    codex.prompt("list the files").did("c1", "ls", 0).reply("Three files.");
    home.add_codex(&codex);
    run_line(&home, "memory consolidate --no-model").expect(0);
    home
}

fn report(home: &Home, flags: &str) -> Value {
    run_line(home, &format!("report {flags}")).expect(0).records().remove(0)
}

fn view(home: &Home, line: &str) -> Vec<Value> {
    let finished: Finished = run_line(home, line);
    assert!([Some(0), Some(2)].contains(&finished.code), "{line}: {}", finished.stderr);
    finished.records()
}

/// The records with their first key called `name`, and without what is null.
fn as_usage_lines(records: Vec<Value>, key: &str) -> Value {
    let rename = |record: Value| {
        let fields = record.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
        let name = |name: &String| if name == key { "name".to_string() } else { name.clone() };
        Value::Object(fields.map(|(field, value)| (name(field), value.clone())).collect())
    };
    records.into_iter().map(rename).collect()
}

const SCOPES: &[(&str, &str)] = &[
    ("--since 2026-01-01", "--since 2026-01-01 --all-projects"),
    ("--since 2026-02-01 --until 2026-02-15", "--since 2026-02-01 --until 2026-02-15 --all-projects"),
    ("--since 2026-01-01 --project tools", "--since 2026-01-01 --project tools"),
    ("--since 2026-01-01 --source codex", "--since 2026-01-01 --source codex --all-projects"),
];

#[test]
fn a_report_has_the_numbers_of_the_views() {
    let home = home_with_two_months();
    for (flags, scope) in SCOPES {
        let report = report(&home, flags);
        let stats = view(&home, &format!("stats {scope}")).remove(0);
        for key in ["sessions", "turns", "messages", "tool_calls", "errors", "error_rate", "tools"] {
            assert_eq!(report["counts"][key], stats[key], "{flags}: {key}");
        }
        for (list, by) in [("days", "day"), ("models", "model"), ("projects", "project")] {
            let usage = as_usage_lines(view(&home, &format!("usage --by {by} {scope}")), by);
            assert_eq!(report[list], usage, "{flags}: {list}");
            assert!(!usage.as_array().unwrap().is_empty(), "{flags}: nothing was compared");
        }
        let total = as_usage_lines(view(&home, &format!("usage --by total {scope}")), "total");
        assert_eq!(report["usage"], total[0], "{flags}");
        let hours = report["activity"].as_array().unwrap().iter().flat_map(|day| day.as_array().unwrap());
        assert_eq!(hours.map(|n| n.as_u64().unwrap()).sum::<u64>(), stats["tool_calls"], "{flags}");
        let failures = view(&home, &format!("analyze errors --min-count 2 {scope}"));
        assert_eq!(report["failures"]["total"], failures.len(), "{flags}");
        for (ours, theirs) in report["failures"]["listed"].as_array().unwrap().iter().zip(&failures) {
            for key in ["signature", "tool", "count", "sessions", "message"] {
                assert_eq!(ours[key], theirs[key], "{flags}: {key}");
            }
        }
        let churn = view(&home, &format!("analyze file-churn {scope}"));
        assert_eq!(report["files"]["total"], churn.len(), "{flags}");
        let sessions = &view(&home, &format!("sessions --limit 100 {}", flags))[0];
        assert_eq!(report["sessions"]["total"], sessions["total"], "{flags}");
        let titles = |list: &Value, id: &str| -> Vec<(Value, Value)> {
            list.as_array().unwrap().iter().map(|one| (one[id].clone(), one["title"].clone())).collect()
        };
        assert_eq!(
            titles(&report["sessions"]["listed"], "session_id"),
            titles(&sessions["sessions"], "chatId"),
            "{flags}"
        );
    }
}

#[test]
fn each_parameter_changes_the_report() {
    let home = home_with_two_months();
    let all = report(&home, "--since 2026-01-01");
    for (flags, sessions, calls) in [
        ("--since 2026-01-01", 6, 39),
        ("--since 2026-02-01", 5, 33),
        ("--since 2026-01-01 --until 2026-01-31", 1, 6),
        ("--since 2026-01-01 --project tools", 2, 14),
        ("--since 2026-01-01 --source codex", 1, 1),
        ("--since 2026-01-01 --source claude-code", 5, 38),
    ] {
        let one = report(&home, flags);
        assert_eq!(
            (&one["counts"]["sessions"], &one["counts"]["tool_calls"]),
            (&json!(sessions), &json!(calls)),
            "{flags}"
        );
        assert_eq!(one["sessions"]["total"], sessions, "{flags}");
        if flags != "--since 2026-01-01" {
            assert_ne!(one, all, "{flags}");
        }
    }
    // The default is the last 30 days, which this history is older than.
    run_line(&home, "report").expect(2);
    for (line, hint) in [
        ("report --since soon", "use 7d"),
        ("report --source nobody --since 2026-01-01", "claude-code"),
        ("report --since 2026-02-01 --until 2026-01-01", "loci report --since"),
        ("report --nope 1", "--help"),
        ("report --file report.html --hybrid", "--hybrid"),
    ] {
        let failed = run_line(&home, line).expect(1);
        assert!(failed.stderr.contains(hint), "{line}: {}", failed.stderr);
    }
}

#[test]
fn decisions_are_of_the_time_the_project_and_the_agent() {
    let home = home_with_two_months();
    let texts = |flags: &str| -> Vec<(String, bool)> {
        let report = report(&home, flags);
        let facts = report["decisions"]["listed"].as_array().unwrap().clone();
        facts
            .iter()
            .map(|fact| (fact["text"].as_str().unwrap().to_string(), fact["superseded_by"].is_string()))
            .collect()
    };
    let all = texts("--since 2026-01-01 --project shop");
    assert!(all.iter().any(|(text, superseded)| text.contains("Postgres") && *superseded), "{all:?}");
    assert!(all.iter().any(|(text, superseded)| text.contains("SQLite") && !superseded), "{all:?}");
    assert!(texts("--since 2026-01-01 --source codex").is_empty());
    assert!(!texts("--since 2026-01-01 --source claude-code").is_empty());
    assert!(texts("--since 2026-02-05 --until 2026-02-10").is_empty());
}

fn page_of(home: &Home, flags: &str) -> String {
    let file = home.path().join("report.html");
    let written = run_line(home, &format!("report {flags} --file {}", file.display())).expect(0);
    assert!(written.stdout.is_empty() && written.stderr.contains("wrote "), "{}", written.stderr);
    std::fs::read_to_string(&file).unwrap()
}

fn group_digits(n: u64) -> String {
    let digits = n.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
    parts.join(",")
}

#[test]
fn the_page_has_the_numbers_of_the_report() {
    let home = home_with_two_months();
    for (flags, _) in SCOPES {
        let (page, report) = (page_of(&home, flags), report(&home, flags));
        let has = |mark: String| assert!(page.contains(&mark), "{flags}: {mark}");
        for day in report["days"].as_array().unwrap() {
            let (name, cost) = (day["name"].as_str().unwrap(), &day["cost_usd"]);
            has(format!("data-v=\"{}\"><title>{name}: ", cost.as_f64().unwrap()));
            has(format!(
                "<th scope=\"row\">{name}</th><td class=\"n\" data-v=\"{}\">",
                cost.as_f64().unwrap()
            ));
            let sum: u64 = ["input", "output", "cache_read", "cache_write"]
                .iter()
                .map(|key| day[key].as_u64().unwrap())
                .sum();
            has(format!("data-v=\"{sum}\"><title>{name}: {} tokens</title>", group_digits(sum)));
        }
        for tool in report["counts"]["tools"].as_array().unwrap() {
            let cells: String = ["count", "success", "errors", "pending", "unknown"]
                .iter()
                .map(|key| format!("<td class=\"n\">{}</td>", group_digits(tool[key].as_u64().unwrap())))
                .collect();
            has(format!("<th scope=\"row\">{}</th>{cells}", tool["tool"].as_str().unwrap()));
        }
        for session in report["sessions"]["listed"].as_array().unwrap() {
            has(format!("<td>{}", &session["session_id"].as_str().unwrap()[..8]));
        }
        for (day, hours) in report["activity"].as_array().unwrap().iter().enumerate() {
            let name = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"][day];
            for (hour, count) in hours.as_array().unwrap().iter().enumerate() {
                has(format!("data-v=\"{count}\"><title>{name} {hour:02}:00: {count}</title>"));
            }
        }
    }
}

#[test]
fn the_page_masks_secrets_and_escapes_the_history() {
    let home = home_with_two_months();
    let page = page_of(&home, "--since 2026-01-01");
    assert!(!page.contains(SECRET) && !report(&home, "--since 2026-01-01").to_string().contains(SECRET));
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(!page.contains("<img") && page.contains("&lt;script&gt;"), "{page}");
    let unsafe_char = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200f}".contains(c);
    assert!(!page.contains(unsafe_char));
}

#[test]
fn the_format_and_the_file_are_chosen_apart() {
    let home = home_with_two_months();
    let since = "--since 2026-01-01";
    let page = run_line(&home, &format!("report {since} -o html")).expect(0);
    assert!(page.text().starts_with("<!doctype html>") && page.text().ends_with("</html>\n"));
    let text = run_line(&home, &format!("report {since} -o text")).expect(0);
    assert!(
        text.text().contains("6 sessions") && text.text().contains("loci report --file report.html"),
        "{}",
        text.text()
    );
    let printed = run_line(&home, &format!("report {since} --json")).expect(0).records().remove(0);
    let file = home.path().join("report.json");
    run_line(&home, &format!("report {since} -o json --file {}", file.display())).expect(0);
    let mut written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    written["to"] = printed["to"].clone();
    assert_eq!(written, printed);
    let refused = run_line(&home, &format!("report {since} --file /nowhere/at/all.html")).expect(1);
    assert!(refused.stderr.contains("/nowhere/at/all.html"), "{}", refused.stderr);
}

#[test]
fn a_report_of_an_empty_time_says_so() {
    let home = home_with_two_months();
    let file = home.path().join("empty.html");
    run_line(&home, &format!("report --since 2020-01-01 --until 2020-01-31 --file {}", file.display()))
        .expect(2);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(
        page.contains("No sessions in this period.")
            && page.contains("try `loci report --since 365d`")
            && page.contains("No tool calls in this period."),
        "{page}"
    );
}

/// Filters and sorts the sessions as a person does, and writes down what is shown.
const TYPING: &str = "<script>\n\
    const list = document.getElementById('sessions').parentElement;\n\
    const filter = list.querySelector('input'), shown = list.querySelector('output');\n\
    const type = (text) => { filter.value = text; filter.dispatchEvent(new Event('input')); return shown.textContent; };\n\
    const found = [type('tools'), type('codex shop'), type('nosuchword'), type('')];\n\
    const visible = [...list.querySelectorAll('tbody tr')].filter((row) => row.offsetHeight > 0).length;\n\
    const sort = (n) => { list.querySelectorAll('thead button')[n].click(); return list.querySelector('tbody td:nth-child(' + (n + 1) + ')').textContent; };\n\
    const sorted = [sort(5), sort(5)];\n\
    const requests = performance.getEntriesByType('resource').length;\n\
    document.body.innerHTML = '';\n\
    document.title = JSON.stringify({found, visible, sorted, requests});\n\
    </script>\n</html>";

#[test]
#[ignore = "needs chromium: see CONTRIBUTING.md"]
fn a_report_is_filtered_and_sorted_in_chromium_without_network() {
    needs::network_namespace();
    let home = home_with_two_months();
    let page = page_of(&home, "--since 2026-01-01");
    let file = home.path().join("report.html");
    std::fs::write(&file, page.replace("</html>", TYPING)).unwrap();
    let title = testutil::title_in_chromium(home.path(), &file);
    let expected = json!({"found": ["2 of 6", "1 of 6", "0 of 6", ""], "visible": 6, "sorted": ["12", "1"], "requests": 0});
    let shown: Value = serde_json::from_str(&title).unwrap_or_else(|_| panic!("{title}"));
    assert_eq!(shown, expected);
}

#[test]
#[ignore = "needs axe-core: see CONTRIBUTING.md"]
fn the_page_of_a_report_is_accessible() {
    let home = home_with_two_months();
    testutil::check_accessibility(home.path(), &page_of(&home, "--since 2026-01-01"));
}

#[test]
fn a_page_is_not_printed_on_a_terminal() {
    let home = home_with_two_months();
    let mut terminal = Command::new("script");
    let line = format!("{} report --since 2026-01-01 -o html", testutil::binary());
    terminal.args(["-qec", &line, "/dev/null"]);
    testutil::set_environment(&mut terminal, home.path());
    let refused = testutil::run_command(terminal).expect(1);
    assert!(refused.text().contains("hint: loci report --file report.html"), "{}", refused.text());
    assert!(!refused.text().contains("<!doctype"), "{}", refused.text());
}
