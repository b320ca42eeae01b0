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
        // The time of the answer differs.
        let records = |output: &Finished| {
            let mut all = output.records();
            all.iter_mut().filter_map(|one| one.as_object_mut()).for_each(|one| drop(one.remove("asOf")));
            all
        };
        assert_eq!(records(&short), records(&long), "{line}");
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
        let all = in_zone(&home, &format!("usage --all-projects --by {by} --reverse"), zone).expect(0);
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
    // `whatis` and `apropos` read the line below NAME: a name, a dash and a description.
    let page = run_line(&home, "man").expect(0);
    assert!(page.text().contains(".SH NAME\nloci \\- A "), "{:.400}", page.text());
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

#[test]
fn a_session_is_exported_in_three_forms() {
    let home = two_sessions();
    let markdown = run_line(&home, "export aaaa").expect(0);
    assert!(markdown.text().starts_with("# why is the walrus cache cold\n"), "{}", markdown.text());
    assert!(markdown.text().contains("**Bash (error)**"), "{}", markdown.text());
    let without = run_line(&home, "export aaaa --no-tools").expect(0);
    assert!(!without.text().contains("Bash"), "{}", without.text());
    let json = run_line(&home, "export aaaa -o json").expect(0);
    let json: serde_json::Value = serde_json::from_str(json.text()).unwrap();
    assert_eq!(json["chat"]["id"], LATE);
    let file = home.path().join("walrus.html");
    run_line(&home, &format!("export last -o html --file {}", file.display())).expect(0);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("It was flushed."), "{page}");
    run_line(&home, "export last -o pdf").expect(1);
    run_line(&home, "export 00000000").expect(1);
    run_line(&home, &format!("export last --file {}/x.md", file.display())).expect(1);
}

#[test]
fn no_secret_of_the_masking_tests_is_in_an_export() {
    let home = Home::new();
    let mut session = Session::new(LATE, "/srv/demo/beta", "2026-02-28T20:00:00Z");
    let masker = mask::Masker::new([3; 32]);
    let secrets: Vec<_> = mask::specimen::generate_secrets(5).into_iter().take(300).collect();
    for specimen in &secrets {
        session.prompt(&specimen.text);
    }
    home.add(&session);
    for form in ["md", "html", "json"] {
        let text = run_line(&home, &format!("export last -o {form}")).expect(0);
        let is_shown =
            |it: &&mask::specimen::Specimen| it.secret.iter().any(|part| text.text().contains(&**part));
        let shown =
            secrets.iter().filter(|it| masker.mask_text(&it.text) != it.text).filter(is_shown).count();
        assert_eq!(shown, 0, "{form}");
        assert!(text.text().contains("⟦secret:"), "{form}");
    }
}

#[test]
fn the_command_that_resumes_a_session_is_printed_without_a_terminal() {
    let home = two_sessions();
    for (line, id) in
        [("resume last", LATE), ("resume bbbb22", EARLY), ("resume pelican logs", EARLY), ("resume", LATE)]
    {
        let printed = run_line(&home, line).expect(0);
        assert!(
            printed.text().contains("claude --resume") && printed.text().contains(id),
            "{line}: {}",
            printed.text()
        );
        assert_eq!(printed.lines().len(), 1, "{line}");
    }
    let none = run_line(&home, "resume zebra quagga").expect(1);
    assert!(none.stderr.contains("loci search zebra quagga"), "{}", none.stderr);
    run_line(&home, "resume 99999999").expect(1);
}

#[test]
fn settings_are_listed_read_and_changed() {
    let home = Home::new();
    let listed = run_line(&home, "config list --json").expect(0);
    assert!(
        listed.records().iter().any(|one| one["name"] == "daemon.poll_seconds" && one["value"].is_null())
    );
    run_line(&home, "config get daemon.poll_seconds").expect(2);
    run_line(&home, "config set daemon.poll_seconds 7").expect(0);
    assert_eq!(run_line(&home, "config get daemon.poll_seconds").expect(0).text(), "7\n");
    let path = run_line(&home, "config path").expect(0);
    let text = std::fs::read_to_string(path.text().trim()).unwrap();
    assert_eq!(text, "[daemon]\npoll_seconds = 7\n");
    for (line, says) in [
        ("config set daemon.poll_seconds soon", "no value for daemon.poll_seconds"),
        ("config set poll_seconds 7", "loci config get daemon.poll_seconds"),
        ("config get nope", "loci config list"),
    ] {
        let refused = run_line(&home, line).expect(1);
        assert!(refused.stderr.contains(says), "{line}: {}", refused.stderr);
    }
    assert_eq!(std::fs::read_to_string(path.text().trim()).unwrap(), text, "a refused value changes nothing");
    run_line(&home, "config unset daemon.poll_seconds").expect(0);
    run_line(&home, "config get daemon.poll_seconds").expect(2);
}

#[test]
fn an_empty_search_says_what_to_lift() {
    let home = two_sessions();
    let next = |line: &str| {
        let found = run_line(&home, line);
        found.records()[0]["guidance"]["nextActions"][0].clone()
    };
    let window = next("search walrus --since 2026-03-05");
    assert!(window["args"].get("time_window").is_none(), "{window}");
    assert_eq!(window["why"], "nothing in this period; drop --since");
    let project = next("search walrus --project alpha");
    assert!(project["args"].get("project").is_none(), "{project}");
    let id = next("search bbbb2222");
    assert_eq!(
        (&id["tool"], &id["args"]["chatIds"][0]),
        (&json!("gather_chats"), &json!("bbbb2222")),
        "{id}"
    );
}

#[test]
fn the_status_line_shows_cost_context_and_the_last_session() {
    use std::io::Write;
    let home = two_sessions();
    run_line(&home, "index").expect(0);
    let run = |input: &str| {
        let mut loci = command(home.path(), &["statusline"]);
        loci.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = loci.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let input = json!({
        "session_id": "new", "workspace": {"current_dir": "/srv/demo/beta"},
        "context_window": {"used_percentage": 34.4},
    });
    // On a busy machine a line may be left out.
    let mut lines = (0..20).map(|_| run(&input.to_string()));
    let line = lines.find(|line| !line.is_empty()).expect("no line within the deadline");
    assert_eq!(line, "$0.00 today · context 34 % · last: why is the walrus cache cold\n");
    let present = json!({"session_id": LATE, "cwd": "/srv/demo/beta"}).to_string();
    let mut lines = (0..20).map(|_| run(&present));
    let line = lines.find(|line| !line.is_empty()).expect("no line within the deadline");
    assert_eq!(line, "$0.00 today\n", "the present session is not the last one");
    assert!(run("no json").len() < 200, "damaged input is no error");
}
