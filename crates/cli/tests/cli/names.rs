//! Names of sessions are their titles everywhere; lists say how many there are, and are newest first.

use serde_json::json;
use std::io::Write;
use std::process::Stdio;
use testutil::{Home, Session, command, run_line};

const NAMED: &str = "aaaa1111-0000-4000-8000-000000000001";

fn home_with_names() -> Home {
    let home = Home::new();
    let mut first = Session::new(NAMED, "/srv/demo/shop", "2026-02-27T09:00:00Z");
    first.prompt("hello there, the cart is stale after a refresh, can you look into the page cache?");
    first.did("Bash", json!({"command": "uptime"}), "up").reply(&["The page cache serves the stale cart."]);
    home.add(&first);
    for day in 1..=9 {
        let id = format!("bbbb{day}222-0000-4000-8000-000000000002");
        let mut other = Session::new(&id, "/srv/demo/shop", &format!("2026-02-0{day}T09:00:00Z"));
        other.prompt(&format!("rotate the pelican logs of day {day}")).reply(&["Rotated the pelican logs."]);
        home.add(&other);
    }
    run_line(&home, "memory consolidate --no-model").expect(0);
    home
}

fn hook_context(home: &Home) -> String {
    let mut hook = command(home.path(), &["hook", "session-start"]);
    let input = json!({"session_id": "x", "cwd": "/srv/demo/shop", "source": "startup"}).to_string();
    // On a busy machine a hook gives up.
    let run = |_| {
        let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    (0..20).map(run).find(|text| !text.is_empty()).expect("the hook prints nothing")
}

#[test]
fn the_name_a_person_gave_is_the_title_everywhere() {
    let home = home_with_names();
    run_line(&home, "memory edit aaaa1111 --name 'Kestrel cart'").expect(0);
    for line in [
        "sessions",
        "query sessions --all-projects",
        "query sessions --all-projects --pattern Kestrel",
        "search stale cart",
        "show aaaa1111",
        "resolve aaaa1111",
        "forget aaaa1111 --dry-run",
        "export aaaa1111",
    ] {
        let text = run_line(&home, line).expect(0);
        assert!(text.text().contains("Kestrel cart"), "{line}: {}", text.text());
    }
    assert!(hook_context(&home).contains("Kestrel cart"));
}

#[test]
fn the_name_that_loci_derived_is_the_title_too() {
    let home = home_with_names();
    let named = run_line(&home, "memory show aaaa1111 --json").expect(0).records().remove(0);
    let name = named["memory"]["text"].as_str().unwrap().to_string();
    let listed = run_line(&home, "query sessions --all-projects --limit 1").expect(0).records().remove(0);
    assert_eq!((&listed["title"], &listed["title_origin"]), (&json!(name), &json!("derived")), "{listed}");
    let listed = run_line(&home, "sessions -n 1").expect(0).records().remove(0);
    assert_eq!(listed["sessions"][0]["title"], json!(name));
}

#[test]
fn lists_say_how_many_there_are() {
    let home = home_with_names();
    let sessions = run_line(&home, "sessions -n 3 -o text").expect(0);
    assert!(sessions.text().ends_with("\n3 of 10 sessions\n"), "{}", sessions.text());
    assert!(!run_line(&home, "sessions -o text").expect(0).text().contains("10 sessions"));
    assert_eq!(run_line(&home, "sessions -n 3 --project /srv/demo").expect(0).records()[0]["total"], 10);
    let found = run_line(&home, "search pelican -n 2 -o text").expect(0);
    assert!(found.text().contains("\n2 of 9 sessions, "), "{}", found.text());
    assert_eq!(run_line(&home, "search pelican -n 2").expect(0).records()[0]["totalChats"], 9);
    let prompts = run_line(&home, "query user-messages --all-projects -n 4 -o text").expect(0);
    assert!(prompts.stderr.contains("4 of 10 records"), "{}", prompts.stderr);
    let sessions = run_line(&home, "query sessions --all-projects -n 4 -o text").expect(0);
    assert!(sessions.stderr.contains("4 of 10 records"), "{}", sessions.stderr);
}

#[test]
fn lists_are_newest_first_unless_reversed() {
    let home = home_with_names();
    for (line, field) in [
        ("query user-messages --all-projects", "timestamp"),
        ("query messages --all-projects", "timestamp"),
        ("query assistant-messages --all-projects", "timestamp"),
        ("query sessions --all-projects", "started_at"),
        ("query turns --all-projects", "timestamp"),
        ("usage --all-projects", "day"),
        ("usage --all-projects --by week", "week"),
    ] {
        let times = |line: &str| {
            let all = run_line(&home, line).expect(0).records();
            all.iter().map(|one| one[field].as_str().unwrap_or_default().to_string()).collect::<Vec<_>>()
        };
        let (newest, oldest) = (times(line), times(&format!("{line} --reverse")));
        assert!(newest.len() > 3 && newest.is_sorted_by(|a, b| a >= b), "{line}: {newest:?}");
        assert!(oldest.is_sorted(), "{line} --reverse: {oldest:?}");
    }
    let ids = |line: &str| {
        let listed = run_line(&home, line).expect(0).records().remove(0);
        listed["sessions"].as_array().unwrap().iter().map(|one| one["chatId"].clone()).collect::<Vec<_>>()
    };
    let (newest, mut oldest) = (ids("sessions"), ids("sessions --reverse"));
    assert_eq!(newest[0], NAMED);
    oldest.reverse();
    assert_eq!(newest, oldest);
}

#[test]
fn a_misspelt_word_is_corrected_and_said() {
    let home = home_with_names();
    let found = run_line(&home, "search pelicn rotated -o text").expect(0);
    assert!(found.text().contains("`pelicn` occurs in no session; searched for pelican"), "{}", found.text());
    assert!(!found.text().contains("confidence: sure"), "{}", found.text());
    let right = run_line(&home, "search pelican rotated -o text").expect(0);
    assert!(!right.text().contains("occurs in no session"), "{}", right.text());
    let quoted = run_line(&home, "search '\"pelicn\"'");
    assert!(!quoted.text().contains("searched for"), "{}", quoted.text());
    let unknown = run_line(&home, "search pelican xylophonequark -o text").expect(0);
    assert!(unknown.text().contains("`xylophonequark` occurs in no session\n"), "{}", unknown.text());
}

#[test]
fn setup_states_what_toolsets_cost_and_stores_the_choice() {
    let home = home_with_names();
    let shown = run_line(&home, "setup claude-code --dry-run -o text").expect(0);
    assert!(shown.text().contains("Tools: chat,history,core"), "{}", shown.text());
    assert!(shown.text().contains("tokens in every session"), "{}", shown.text());
    let dry =
        run_line(&home, "setup claude-code --toolsets core,code --dry-run").expect(0).records().remove(0);
    assert_eq!(dry["toolsets"]["chosen"], json!(["code", "core"]));
    assert_eq!(dry["toolsets"]["change"]["made"], false);
    run_line(&home, "config get mcp.toolsets").expect(2);
    run_line(&home, "setup claude-code --toolsets core,code --yes").expect(0);
    assert_eq!(run_line(&home, "config get mcp.toolsets").expect(0).text(), "[\"code\", \"core\"]\n");
    let again = run_line(&home, "setup claude-code --dry-run").expect(0).records().remove(0);
    assert_eq!(again["toolsets"]["chosen"], json!(["code", "core"]), "the choice is kept");
    for (line, says) in [
        ("setup --toolsets nope --dry-run", "there is no toolset `nope`"),
        ("setup --toolsets core --remove --yes", "loci config unset mcp.toolsets"),
    ] {
        let refused = run_line(&home, line).expect(1);
        assert!(refused.stderr.contains(says), "{line}: {}", refused.stderr);
    }
}
