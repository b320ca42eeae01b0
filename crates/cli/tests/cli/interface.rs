//! What is the same for every command, and what Loci makes of input that is not quite right.

use serde_json::json;
use testutil::{Finished, Home, Session, command, run_command, run_line, sample_home};

const LATE: &str = "aaaa1111-0000-4000-8000-000000000001";
const EARLY: &str = "bbbb2222-0000-4000-8000-000000000002";

/// Two sessions in two projects: one late in the evening of 28 February in UTC, the other a month before.
fn two_sessions() -> Home {
    let home = Home::new();
    let mut early = Session::new(EARLY, "/srv/demo/alpha", "2026-01-30T10:00:00Z");
    early.prompt("rotate the pelican logs").reply(&["Rotated."]);
    home.add(&early);
    let mut late = Session::new(LATE, "/srv/demo/beta", "2026-02-28T20:00:00Z");
    late.prompt("why is the walrus cache cold");
    late.did("Bash", json!({"command": "uptime"}), "up");
    late.failed("Bash", json!({"command": "false"}), "Exit code 1");
    late.reply(&["It was flushed."]);
    home.add(&late);
    home
}

fn in_zone(home: &Home, line: &str, zone: &str) -> Finished {
    let words = testutil::split_words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut loci = command(home.path(), &words);
    loci.env("TZ", zone);
    run_command(loci)
}

#[test]
fn views_and_operations_take_the_same_flags() {
    let home = two_sessions();
    for line in ["query tools --all-projects", "query messages --all-projects", "sessions"] {
        let short = run_line(&home, &format!("{line} -n 1 --json")).expect(0);
        let long = run_line(&home, &format!("{line} --limit 1 -o json")).expect(0);
        assert_eq!(short.records(), long.records(), "{line}");
        assert_eq!(short.lines().len(), 1, "{line}: {}", short.text());
    }
    assert_eq!(run_line(&home, "query tools --all-projects --json").expect(0).lines().len(), 2);
}

#[test]
fn colour_is_asked_for_or_refused() {
    let home = two_sessions();
    for line in ["query errors --all-projects -o text", "sessions -o text"] {
        let coloured = run_line(&home, &format!("{line} --color always")).expect(0);
        let plain = run_line(&home, &format!("{line} --color never")).expect(0);
        assert!(coloured.text().contains("\x1b["), "{line}: {}", coloured.text());
        assert!(!plain.text().contains('\x1b'), "{line}: {}", plain.text());
    }
}

#[test]
fn text_shows_local_time_everywhere_and_json_shows_utc() {
    let home = two_sessions();
    for line in ["query user-messages --session aaaa -o text", "query tools --session aaaa -o text"] {
        let text = in_zone(&home, line, "Asia/Tokyo").expect(0);
        assert!(text.text().contains("2026-03-01 05:0"), "{line}: {}", text.text());
    }
    let shown = in_zone(&home, "show aaaa -o text", "Asia/Tokyo").expect(0);
    assert!(shown.text().contains("1 Mar 05:0"), "{}", shown.text());
    let json = in_zone(&home, "query user-messages --session aaaa --json", "Asia/Tokyo").expect(0);
    assert!(json.text().contains("2026-02-28T20:0"), "{}", json.text());
}

#[test]
fn days_weeks_and_months_are_those_of_the_users_clock() {
    let home = two_sessions();
    let groups = |by: &str, zone: &str| {
        let all = in_zone(&home, &format!("usage --all-projects --by {by}"), zone).expect(0);
        all.records().iter().map(|one| one[by].as_str().unwrap_or("").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(groups("day", "UTC"), ["2026-01-30", "2026-02-28"]);
    assert_eq!(groups("day", "Asia/Tokyo"), ["2026-01-30", "2026-03-01"]);
    // 28 February 2026 is a Saturday, 1 March a Sunday.
    assert_eq!(groups("week", "Asia/Tokyo"), ["2026-01-26", "2026-02-23"]);
    assert_eq!(groups("month", "UTC"), ["2026-01", "2026-02"]);
    assert_eq!(groups("month", "Asia/Tokyo"), ["2026-01", "2026-03"]);
    let stats = in_zone(&home, "stats --by day --all-projects", "Asia/Tokyo").expect(0);
    assert_eq!(stats.records()[0]["day"], "2026-03-01");
}

#[test]
fn usage_ends_with_a_total_where_there_are_several_rows() {
    let home = two_sessions();
    let text = run_line(&home, "usage --all-projects -o text").expect(0);
    assert!(text.lines().last().is_some_and(|line| line.starts_with("total")), "{}", text.text());
    let one = run_line(&home, "usage --all-projects --by total -o text").expect(0);
    assert_eq!(one.text().matches("total").count(), 1, "{}", one.text());
}

#[test]
fn every_record_that_counts_towards_a_limit_is_shown() {
    let home = two_sessions();
    let all = "query assistant-messages --session aaaa --limit 2";
    let text = run_line(&home, &format!("{all} -o text")).expect(0);
    assert_eq!(text.text().matches("  reply").count(), 2, "{}", text.text());
}

#[test]
fn the_latest_session_and_a_transcript_can_be_shown() {
    let home = two_sessions();
    let last = run_line(&home, "show last").expect(0);
    assert!(last.text().contains("walrus") && !last.text().contains("pelican"), "{}", last.text());
    let mut early = Session::new(EARLY, "/srv/demo/alpha", "2026-01-30T10:00:00Z");
    let path = home.transcript_path(early.prompt("x"));
    let shown = testutil::run_loci(&home, &["show", path.to_str().unwrap()]).expect(0);
    assert!(shown.text().contains("pelican"), "{}", shown.text());
    let empty = Home::new();
    let refused = run_line(&empty, "show last").expect(1);
    assert_eq!(refused.records()[0]["code"], "SESSION_NOT_FOUND");
}

#[test]
fn a_project_has_a_name() {
    let home = two_sessions();
    for line in ["search cache --project beta", "sessions --project Beta", "query tools --project beta"] {
        let found = run_line(&home, line).expect(0);
        assert!(found.text().contains(LATE) && !found.text().contains(EARLY), "{line}: {}", found.text());
    }
    assert!(
        run_line(&home, "sessions --project gamma").expect(2).text().contains("no project is called `gamma`")
    );
}

#[test]
fn words_that_are_no_command_are_searched_for() {
    let home = two_sessions();
    let found = run_line(&home, "walrus cache").expect(0);
    assert!(found.text().contains(LATE), "{}", found.text());
    assert!(found.stderr.contains("`walrus` is not a command"), "{}", found.stderr);
    let synonym = run_line(&home, "find walrus").expect(0);
    assert!(synonym.text().contains(LATE) && synonym.stderr.contains("loci search"), "{}", synonym.stderr);
    let typo = run_line(&home, "serach walrus").expect(1);
    assert!(typo.stderr.contains("'search'"), "{}", typo.stderr);
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let home = sample_home();
    for shell in ["bash", "zsh", "fish", "powershell", "nushell", "elvish"] {
        let text = run_line(&home, &format!("completions {shell}")).expect(0);
        for word in ["search", "exclude-terms", "recommend"] {
            assert!(text.text().contains(word), "{shell}: no {word}");
        }
    }
    let page = run_line(&home, "man search").expect(0);
    assert!(page.text().contains(".TH") && page.text().contains("exclude"), "{}", page.text());
    assert!(run_line(&home, "man memory add").expect(0).text().contains("loci\\-memory\\-add"));
    assert!(run_line(&home, "man nope").expect(1).stderr.contains("loci --help"));
    run_line(&home, "completions tcsh").expect(1);
}

#[test]
fn short_help_leaves_out_the_options_for_programs() {
    let home = sample_home();
    for line in ["search", "query tools", "sessions"] {
        let short = run_line(&home, &format!("{line} -h")).expect(0);
        let long = run_line(&home, &format!("{line} --help")).expect(0);
        assert!(
            !short.text().contains("--hybrid") && !short.text().contains("--threads"),
            "{}",
            short.text()
        );
        assert!(long.text().contains("Options for programs"), "{}", long.text());
    }
}
