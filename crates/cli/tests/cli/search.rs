//! `loci search`: the effect of every parameter, executable suggestions, and the handling of new, deleted and forgotten
//! transcripts. Also `sessions`, `resolve`, `secrets`, `archive` and `forget`.

use api::{OPERATIONS, Operation};
use serde_json::{Map, Value, json};
use std::fs;
use testutil::{ALPHA, BETA, Finished, Home, Rollout, Session, run_loci};

const SOCKET: &str = "aaaa1111-0000-4000-8000-000000000001";
const LIST: &str = "bbbb2222-0000-4000-8000-000000000002";
const AUTH: &str = "cccc3333-0000-4000-8000-000000000003";
const ECHO: &str = "dddd4444-0000-4000-8000-000000000004";
const CODEX: &str = "0199aaaa-0000-7000-8000-00000000000c";

fn home_with_history() -> Home {
    let home = Home::new();
    let mut socket = Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z");
    socket.prompt("The daemon loses its socket after a restart");
    socket.reply(&[
        "We decided that RequestBatcher keeps the socket open, and the retries are migrated to a queue.",
    ]);
    socket.did(
        "Bash",
        json!({"command": "grep -rn zanzibar src/net"}),
        "src/net/socket.rs:12: zanzibar handshake",
    );
    home.add(&socket);
    let mut list = Session::new(LIST, BETA, "2026-05-01T10:00:00Z");
    list.prompt("虚拟列表滚动的时候掉帧，页面卡顿");
    list.reply(&["虚拟列表的行高要固定，滚动就不卡了。The virtual list needs a fixed row height."]);
    home.add(&list);
    let mut auth = Session::new(AUTH, BETA, "2026-06-01T10:00:00Z");
    auth.prompt("Users are sent back to the login page while the daemon restarts");
    auth.reply(&["The sign-in cookie expired; the session token is renewed now."]);
    home.add(&auth);
    let mut echo = Session::new(ECHO, ALPHA, "2026-07-01T10:00:00Z");
    echo.prompt("What did we say about quokkas?");
    echo.did("Bash", json!({"command": "loci search quokka"}), "quokka: the marsupial service of last year");
    echo.reply(&["Nothing was found."]);
    home.add(&echo);
    let mut codex = Rollout::new(CODEX, BETA, "2026-06-15T10:00:00Z");
    codex.prompt("Rename the daemon's thread").reply("The thread of the daemon is called pump now.");
    home.add_codex(&codex);
    home
}

fn search(home: &Home, args: &[&str]) -> Value {
    let mut all = vec!["search", "--json"];
    all.extend(args);
    single_record(&run_loci(home, &all))
}

fn single_record(output: &Finished) -> Value {
    let records = output.records();
    assert_eq!(records.len(), 1, "{} {}", output.text(), output.stderr);
    records[0].clone()
}

fn session_ids(found: &Value) -> Vec<&str> {
    found["topChatIds"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
}

fn snippet_texts(found: &Value) -> String {
    let snippets =
        found["results"].as_array().unwrap().iter().flat_map(|r| r["snippets"].as_array().unwrap());
    snippets.map(|s| s["text"].as_str().unwrap().to_string() + "\n").collect()
}

#[test]
fn the_response_has_the_documented_fields() {
    let home = home_with_history();
    let found = search(&home, &["socket", "restart"]);
    assert_eq!((found["status"].as_str(), found["iterations_used"].as_u64()), (Some("ok"), Some(1)));
    assert!(found["confidence"].as_f64().is_some_and(|c| (0.0..=1.0).contains(&c)), "{found}");
    let first = &found["results"][0];
    assert_eq!(session_ids(&found)[0], SOCKET);
    assert_eq!((first["chatId"].as_str(), first["source"].as_str()), (Some(SOCKET), Some("claude-code")));
    assert_eq!(first["title"], "The daemon loses its socket after a restart");
    assert_eq!(first["project"], ALPHA);
    assert_eq!(first["resume"], format!("cd {ALPHA} && claude --resume {SOCKET}"));
    assert_eq!(first["timeRange"]["from"], testutil::millis("2026-03-01T10:00:00Z"));
    assert!(first["hits"].as_u64().unwrap() >= 2);
    let snippet = &first["snippets"][0];
    for key in ["messageId", "role", "createdAt", "text", "source"] {
        assert!(snippet.get(key).is_some(), "{key} in {snippet}");
    }
    let guidance = &found["guidance"];
    assert!(!guidance["stopIf"].as_str().unwrap().is_empty());
    assert_eq!(guidance["state"]["iteration"], 1);
    assert_eq!(guidance["state"]["excludes"], json!([]));
}

/// Each row compares a search with and without one more parameter.
#[test]
fn every_parameter_changes_the_result() {
    let home = home_with_history();
    let table: &[(&[&str], &[&str], &str, &str)] = &[
        // search, parameter, session found only without it, session found only with it
        (&["daemon"], &["--time-window", "1h"], SOCKET, ""),
        (&["daemon"], &["--since", "2026-05-15"], SOCKET, ""),
        (&["daemon"], &["--until", "2026-05-15"], AUTH, ""),
        // A word that occurs nowhere is corrected, unless the search is literal in another way.
        (&["cookie", "sokcet", "--exclude-terms", "quux"], &["--precision-mode", "fuzzy"], "", SOCKET),
        (&["cookie", "sokcet", "--exclude-terms", "quux"], &["--fuzzy"], "", SOCKET),
        (&["authentication"], &["--expand", "auto"], "", AUTH),
        (&["zanzibar"], &["--include-tools-in-search=false"], SOCKET, ""),
        (&["zanzibar"], &["--no-tools"], SOCKET, ""),
        (&["cookie"], &["--scope", "title"], AUTH, ""),
        (&["zanzibar"], &["--scope", "title"], SOCKET, ""),
        (&["cookie"], &["--role-filter", "user"], AUTH, ""),
        (&["login"], &["--role-filter", "assistant"], AUTH, ""),
        (&["daemon"], &["--exclude-terms", "cookie"], AUTH, ""),
        (&["daemon", "socket"], &["--match", "all"], AUTH, ""),
        (&["daemon", "socket"], &["--all"], AUTH, ""),
        (&["daemon"], &["--source", "codex"], AUTH, ""),
        (&["daemon"], &["--project", ALPHA], AUTH, ""),
        (&["cookie"], &["--also", "zanzibar"], "", SOCKET),
        (&["cookie"], &["--intent-query", "zanzibar"], "", SOCKET),
    ];
    for (words, parameter, only_without, only_with) in table {
        let without = search(&home, words);
        let args: Vec<&str> = words.iter().chain(*parameter).copied().collect();
        let with = search(&home, &args);
        if !only_without.is_empty() {
            assert!(
                session_ids(&without).contains(only_without),
                "{words:?} finds {only_without}: {without}"
            );
            assert!(
                !session_ids(&with).contains(only_without),
                "{args:?} does not find {only_without}: {with}"
            );
        }
        if !only_with.is_empty() {
            assert!(
                !session_ids(&without).contains(only_with),
                "{words:?} does not find {only_with}: {without}"
            );
            assert!(session_ids(&with).contains(only_with), "{args:?} finds {only_with}: {with}");
        }
    }
}

#[test]
fn limits_apply_to_sessions_snippets_and_snippet_length() {
    let home = home_with_history();
    assert_eq!(search(&home, &["daemon"])["results"].as_array().unwrap().len(), 3);
    assert_eq!(search(&home, &["daemon", "--limit-chats", "1"])["results"].as_array().unwrap().len(), 1);
    assert_eq!(search(&home, &["daemon", "-n", "2"])["results"].as_array().unwrap().len(), 2);
    let snippets = |args: &[&str]| search(&home, args)["results"][0]["snippets"].as_array().unwrap().clone();
    assert!(snippets(&["socket"]).len() > 1);
    assert_eq!(snippets(&["socket", "--limit-snippets-per-chat", "1"]).len(), 1);
    let length = |window: &str| {
        let args = ["queue", "--snippet-window", window, "--scope", "content"];
        snippets(&args)[0]["text"].as_str().unwrap().chars().count()
    };
    assert!(length("10") < length("64"));
    let response = search(&home, &["daemon", "--iteration", "3"]);
    assert_eq!(
        (response["iterations_used"].as_u64(), &response["guidance"]["state"]["iteration"]),
        (Some(3), &json!(3))
    );
    assert!(search(&home, &["daemon", "--include-guidance=false"]).get("guidance").is_none());
}

#[test]
fn queries_match_words_word_parts_and_both_scripts() {
    let home = home_with_history();
    for (query, expected) in [
        ("Batcher", SOCKET),
        ("request batcher", SOCKET),
        ("migrating", SOCKET),
        ("src/net/socket.rs", SOCKET),
        ("虚拟列表滚动很卡", LIST),
        ("滚动", LIST),
        ("virtual list row height", LIST),
        ("the pump thread", CODEX),
    ] {
        assert_eq!(session_ids(&search(&home, &[query])).first(), Some(&expected), "{query}");
    }
    let expanded = search(&home, &["authentication", "--expand", "auto"]);
    assert!(!expanded["guidance"]["state"]["expandedTerms"].as_object().unwrap().is_empty());
}

#[test]
fn own_output_and_the_calling_session_are_excluded_unless_requested() {
    let home = home_with_history();
    assert!(!snippet_texts(&search(&home, &["marsupial"])).contains("marsupial"));
    assert!(snippet_texts(&search(&home, &["marsupial", "--include-own"])).contains("marsupial"));
    let finds_calling_session = |own: bool| {
        let mut command = testutil::command(home.path(), &["search", "cookie", "--json"]);
        if own {
            command.arg("--include-own");
        }
        command.env("CLAUDE_CODE_SESSION_ID", AUTH);
        session_ids(&single_record(&testutil::run_command(command))).contains(&AUTH)
    };
    assert!(!finds_calling_session(false) && finds_calling_session(true));
}

#[test]
fn text_is_available_without_a_terminal_and_inside_the_response() {
    let home = home_with_history();
    let text = search(&home, &["socket", "--response-mode", "text"])["text"].as_str().unwrap().to_string();
    for part in ["The daemon loses its socket", "claude --resume", "confidence:", "next: loci show"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    let printed = run_loci(&home, &["search", "socket", "-o", "text"]).expect(0);
    assert!(printed.text().contains("The daemon loses its socket"));
    assert!(search(&home, &["socket"]).get("text").is_none());
    run_loci(&home, &["search", "nowhereatall"]).expect(2);
}

fn find_operation(name: &str) -> &'static Operation {
    OPERATIONS.iter().find(|operation| operation.name == name).unwrap()
}

#[test]
fn every_suggested_command_runs() {
    let home = home_with_history();
    let mut executed = 0;
    for query in ["socket", "daemon", "sokcet", "虚拟列表", "nowhereatall"] {
        for action in search(&home, &[query])["guidance"]["nextActions"].as_array().unwrap() {
            let args: Map<String, Value> = action["args"].as_object().unwrap().clone();
            let line = find_operation(action["tool"].as_str().unwrap()).command_line(&args);
            let words: Vec<String> = testutil::split_words(line.strip_prefix("loci ").unwrap());
            let output = run_loci(&home, &words.iter().map(String::as_str).collect::<Vec<_>>());
            assert!([Some(0), Some(2)].contains(&output.code), "{line}: {}", output.stderr);
            executed += 1;
        }
    }
    assert!(executed > 5);
}

#[test]
fn a_message_written_a_moment_ago_is_found() {
    let home = home_with_history();
    assert!(session_ids(&search(&home, &["xylophone"])).is_empty());
    let mut more = Session::new(SOCKET, ALPHA, "2026-03-01T11:00:00Z").with_new_ids();
    more.prompt("And what about the xylophone?");
    let path = home.transcript_path(&more);
    let before = fs::read(&path).unwrap();
    fs::write(&path, [before.clone(), more.text().into_bytes()].concat()).unwrap();
    assert_eq!(session_ids(&search(&home, &["xylophone"])), [SOCKET]);
    // An unfinished line is ignored.
    let half: Vec<u8> = more.text().into_bytes();
    fs::write(&path, [before, half[..half.len() / 2].to_vec()].concat()).unwrap();
    assert!(session_ids(&search(&home, &["xylophone"])).is_empty());
}

#[test]
fn a_forgotten_session_stays_forgotten() {
    let home = home_with_history();
    run_loci(&home, &["index"]).expect(0);
    let dry = single_record(&run_loci(&home, &["forget", "aaaa1111", "--dry-run"]).expect(0));
    assert_eq!((dry["chats"][0]["chatId"].as_str(), dry["dryRun"].as_bool()), (Some(SOCKET), Some(true)));
    assert!(!session_ids(&search(&home, &["zanzibar"])).is_empty());
    let forgotten = single_record(&run_loci(&home, &["forget", "aaaa1111", "--yes"]).expect(0));
    assert!(forgotten["events"].as_u64().unwrap() > 0 && forgotten["archiveFiles"] == 1);
    for _ in 0..2 {
        assert!(session_ids(&search(&home, &["zanzibar"])).is_empty());
        let shown = run_loci(&home, &["query", "messages", "--all-projects", "--fields", "text"]);
        assert!(!shown.text().contains("RequestBatcher"));
        run_loci(&home, &["index", "--rebuild"]).expect(0);
    }
    for root in [".cache/loci", ".local/share/loci"] {
        assert!(!contains_bytes(&home.path().join(root), b"zanzibar"), "left in {root}");
    }
    // Forget by content and by project.
    let matching =
        single_record(&run_loci(&home, &["forget", "--matching", "sign-in COOKIE", "--yes"]).expect(0));
    assert_eq!(matching["chats"][0]["chatId"], AUTH);
    let project = single_record(&run_loci(&home, &["forget", "--project", BETA, "--yes"]).expect(0));
    assert_eq!(project["chats"].as_array().unwrap().len(), 2, "{project}");
    assert!(session_ids(&search(&home, &["虚拟列表"])).is_empty());
}

fn contains_bytes(path: &std::path::Path, wanted: &[u8]) -> bool {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().any(|entry| contains_bytes(&entry.unwrap().path(), wanted));
    }
    fs::read(path).unwrap().windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn the_archive_serves_deleted_transcripts() {
    let home = home_with_history();
    let before = search(&home, &["zanzibar"]);
    let show_messages =
        || single_record(&run_loci(&home, &["show", "aaaa1111"]).expect(0))["messages"].clone();
    let shown = show_messages();
    fs::remove_dir_all(home.path().join(".claude")).unwrap();
    for _ in 0..2 {
        assert_eq!(snippet_texts(&search(&home, &["zanzibar"])), snippet_texts(&before));
        assert_eq!(show_messages(), shown);
        fs::remove_dir_all(home.path().join(".cache")).unwrap();
    }
    let archive = single_record(&run_loci(&home, &["archive"]).expect(0));
    assert_eq!(archive["files"], 5);
    let pruned = single_record(&run_loci(&home, &["archive", "--older-than", "2026-04-01"]).expect(0));
    assert_eq!((pruned["files"].as_u64(), pruned["removed"][0]["chatId"].as_str()), (Some(4), Some(SOCKET)));
    assert!(session_ids(&search(&home, &["zanzibar"])).is_empty());
    let none = single_record(&run_loci(&home, &["archive", "--prune-to", "1"]).expect(0));
    assert_eq!(none["files"], 0);
}

#[test]
fn secrets_are_listed_by_type_and_masked_everywhere() {
    let home = Home::new();
    let secret = format!("ghp_{}", "k9X2mQ7vL4pR8sT1wY6zB3nC5dF0gH2jA4eU".chars().rev().collect::<String>());
    let mut session = Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt(&format!("Use {secret} to clone")).reply(&["Cloned."]);
    session.did(
        "Bash",
        json!({"command": format!("git clone https://x:{secret}@git.example.test/a")}),
        "done",
    );
    home.add(&session);
    let response = single_record(&run_loci(&home, &["secrets"]).expect(0));
    assert_eq!(response["found"][0]["kind"], "github-pat");
    assert!(response["places"][0]["chatId"] == SOCKET && !response.to_string().contains(&secret));
    let none = run_loci(&home, &["secrets", "--kind", "jwt"]).expect(2);
    assert!(!none.text().contains("github-pat"));
    assert_eq!(
        single_record(&run_loci(&home, &["secrets", "--limit", "1"]))["places"].as_array().unwrap().len(),
        1
    );
    let direct = run_loci(&home, &["query", "messages", "--all-projects"]).expect(0);
    for shown in [
        &direct,
        &run_loci(&home, &["search", "clone"]).expect(0),
        &run_loci(&home, &["show", "aaaa"]).expect(0),
    ] {
        assert!(
            !shown.text().contains(&secret) && shown.text().contains("secret:github-pat:"),
            "{}",
            shown.text()
        );
    }
    assert_eq!(direct.stdout, run_loci(&home, &["query", "messages", "--all-projects"]).expect(0).stdout);
    for plain in [&["query", "messages", "--all-projects", "--unmasked"][..], &["show", "aaaa", "--unmasked"]]
    {
        assert!(run_loci(&home, plain).expect(0).text().contains(&secret));
    }
    assert!(!contains_bytes(&home.path().join(".cache"), secret.as_bytes()));
}

#[test]
fn without_any_history_a_search_says_where_it_looked() {
    let home = Home::new();
    let response = single_record(&run_loci(&home, &["search", "anything"]).expect(2));
    let note = response["notes"][0].as_str().unwrap();
    for word in ["claude-code, codex, gemini-cli, ", "`loci sources` lists the places"] {
        assert!(note.contains(word), "{note}");
    }
    let mut session = Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("Something");
    home.add(&session);
    let response = single_record(&run_loci(&home, &["search", "anything"]).expect(2));
    assert!(response["notes"].as_array().is_none_or(Vec::is_empty), "{response}");
}

/// "None were found" must not cover data that could not be read.
#[test]
fn unreadable_data_is_counted_by_secrets_and_forget() {
    let home = Home::new();
    let mut session = Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("Where is the sign-in cookie?").reply(&["Here."]).raw_line("{\"half a line");
    session.did("Bash", json!({"command": "ls"}), "none").did("Bash", json!({"command": "pwd"}), "here");
    home.add(&session);
    let count_unread = |args: &[&str]| single_record(&run_loci(&home, args))["unread"].as_u64().unwrap();
    let forget = ["forget", "--matching", "no such words", "--dry-run"];
    assert_eq!((count_unread(&["secrets"]), count_unread(&forget)), (1, 1));
    // Shift the stored offsets of the two calls, as if the transcript had changed unnoticed.
    let connection = db::Connection::open(home.path().join(".cache/loci/catalogue.db")).unwrap();
    connection.execute_batch("update events set place = place + 100000").unwrap();
    assert_eq!((count_unread(&["secrets"]), count_unread(&forget)), (3, 3));
    let shown = run_loci(&home, &["secrets", "-o", "text"]).text().to_string();
    assert!(
        shown.contains("no secrets were found\n")
            && shown.contains("could not be read and were not searched")
    );
    let shown =
        run_loci(&home, &["forget", "--matching", "nothing", "--dry-run", "-o", "text"]).text().to_string();
    assert!(shown.contains("were not searched"), "{shown}");
}

#[test]
fn doctor_reports_transcripts_about_to_be_deleted_and_index_damage() {
    let home = home_with_history();
    let find_check = |name: &str| {
        let checkup = single_record(&run_loci(&home, &["doctor"]));
        let findings = checkup["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|f| f["check"] == name).unwrap()
    };
    assert_eq!(find_check("catalogue")["severity"], "warning");
    let day = 86_400_000;
    let then = (record::Clock::System.now().0 - 29 * day) as u64;
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_millis(then);
    let socket = home.transcript_path(&Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z"));
    fs::File::options().append(true).open(&socket).unwrap().set_modified(old).unwrap();
    let lost = find_check("clean-up");
    assert!(lost["severity"] == "problem" && lost["fix"] == "loci index", "{lost}");
    run_loci(&home, &["doctor"]).expect(1);
    run_loci(&home, &["index"]).expect(0);
    assert_eq!(find_check("clean-up")["severity"], "ok");
    run_loci(&home, &["doctor"]).expect(0);
    testutil::write_file(&home.path().join(".claude/settings.json"), b"{\"cleanupPeriodDays\": 365}");
    assert!(find_check("clean-up")["message"].as_str().unwrap().contains("365 days"));
    let index = home.path().join(".cache/loci/search");
    let mut files = fs::read_dir(&index).unwrap().map(|e| e.unwrap().path());
    let segment = files.find(|p| p.extension().is_some_and(|e| e == "idx")).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&segment, bytes).unwrap();
    assert_eq!(find_check("index")["severity"], "problem");
    run_loci(&home, &["index", "--rebuild"]).expect(0);
    assert_eq!(find_check("index")["severity"], "ok");
}

#[test]
fn sessions_are_listed_and_ids_are_resolved() {
    let home = home_with_history();
    let list_ids = |args: &[&str]| {
        let mut all = vec!["sessions"];
        all.extend(args);
        let found = single_record(&run_loci(&home, &all));
        let ids =
            found["sessions"].as_array().unwrap().iter().map(|s| s["chatId"].as_str().unwrap().to_string());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(list_ids(&[]), [ECHO, CODEX, AUTH, LIST, SOCKET]);
    assert_eq!(list_ids(&["--limit", "2"]), [ECHO, CODEX]);
    assert_eq!(list_ids(&["--limit", "2", "--offset", "1"]), [CODEX, AUTH]);
    assert_eq!(list_ids(&["--source", "codex"]), [CODEX]);
    assert_eq!(list_ids(&["--project", ALPHA]), [ECHO, SOCKET]);
    assert_eq!(list_ids(&["--since", "2026-06-10"]), [ECHO, CODEX]);
    assert_eq!(list_ids(&["--until", "2026-04-01"]), [SOCKET]);
    let mut more = Session::new("eeee5555-0000-4000-8000-000000000005", ALPHA, "2026-08-01T10:00:00Z");
    more.prompt("Another one").reply(&["Yes."]);
    home.add(&more);
    assert_eq!(list_ids(&["--limit", "1"]), ["eeee5555-0000-4000-8000-000000000005"]);

    let resolve = |args: &[&str]| {
        let mut all = vec!["resolve"];
        all.extend(args);
        single_record(&run_loci(&home, &all))
    };
    let one = resolve(&["--chat-id-prefix", "bbbb"]);
    assert_eq!((one["chats"][0]["chatId"].as_str(), one["ambiguous"].as_bool()), (Some(LIST), Some(false)));
    let message = resolve(&["--message-id-prefix", "u-aaaa1111"]);
    assert_eq!(
        (message["messages"][0]["chatId"].as_str(), message["ambiguous"].as_bool()),
        (Some(SOCKET), Some(false))
    );
    assert_eq!(
        message["messages"][0]["messageId"],
        format!("u-{SOCKET}-main-1"),
        "the full ID, not a prefix"
    );
    assert_eq!(resolve(&["--message-id-prefix", "u-"])["ambiguous"], true);
    run_loci(&home, &["resolve", "zzzz"]).expect(2);
}

#[test]
fn resolve_lists_at_most_fifty_messages_and_says_so() {
    let home = Home::new();
    let mut session = Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z");
    for n in 0..60 {
        session.prompt(&format!("Prompt {n}"));
    }
    home.add(&session);
    let count_matches = |prefix: &str| {
        let response = single_record(&run_loci(&home, &["resolve", "--message-id-prefix", prefix]).expect(0));
        (response["messages"].as_array().unwrap().len(), response["more"].as_bool().unwrap_or_default())
    };
    assert_eq!(count_matches("u-"), (50, true));
    // The catalogue stores the same prefix for all of these; the last one is still found.
    assert_eq!(count_matches(&format!("u-{SOCKET}-main")), (50, true));
    assert_eq!(count_matches(&format!("u-{SOCKET}-main-60")), (1, false));
    assert_eq!(count_matches(&format!("u-{SOCKET}-main-5")), (11, false));
    let shown = run_loci(&home, &["resolve", "u-", "-o", "text"]).expect(0);
    assert!(shown.text().ends_with("more matches not listed; use a longer prefix\n"), "{}", shown.text());
}

#[test]
fn a_session_name_matches_regardless_of_case_and_accents() {
    let home = Home::new();
    for (n, text) in ["one", "two", "three", "four"].iter().enumerate() {
        let id = format!("{n}aaa1111-0000-4000-8000-000000000001");
        home.add(
            Session::new(&id, ALPHA, "2026-03-04T09:00:00Z")
                .prompt(&format!("count to {text}"))
                .reply(&["Done."]),
        );
    }
    run_loci(&home, &["memory", "consolidate"]).expect(0);
    for (n, (name, query)) in
        [("café plan", "cafe"), ("Übung am Morgen", "übung"), ("КОШКА", "кошка"), ("Handover", "HANDOVER")]
            .into_iter()
            .enumerate()
    {
        run_loci(&home, &["memory", "edit", &format!("{n}aaa1111"), "--name", name]).expect(0);
        for query in [query, name] {
            let found = search(&home, &[query]);
            let first = found["topChatIds"][0].as_str().unwrap_or_default();
            assert!(first.starts_with(&format!("{n}aaa")), "{query}: {found}");
        }
    }
}

#[test]
fn equal_snippets_are_shown_once_and_user_messages_come_first() {
    let home = Home::new();
    let mut session = Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z");
    session.reply(&["Ready."]).prompt("Please add a helper and test it");
    for _ in 0..4 {
        session.did("Bash", json!({"command": "grep helper"}), "helper helper helper.py helper helper");
    }
    session.reply(&["The helper is there."]);
    home.add(&session);
    let found = search(&home, &["helper", "--limit", "1"]);
    let snippets = found["results"][0]["snippets"].as_array().unwrap();
    assert_eq!(
        (snippets[0]["role"].as_str(), snippets[0]["source"].as_str()),
        (Some("user"), Some("content")),
        "{snippets:?}"
    );
    let mut texts: Vec<&str> = snippets.iter().map(|s| s["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 3, "user, tool and assistant: {texts:?}");
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 3);
}

#[test]
fn an_archived_session_is_marked_and_has_no_resume_command() {
    let home = Home::new();
    let mut session = Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("The quagga of the daemon").reply(&["It is extinct."]);
    let path = home.add(&session);
    let lines = ["search quagga", "sessions", "show aaaa"];
    let print_text =
        |line: &str| testutil::run_line(&home, &format!("{line} -o text")).expect(0).text().to_string();
    for line in lines {
        let text = print_text(line);
        assert!(text.contains("claude --resume") && !text.contains("archived by Loci"), "{line}: {text}");
    }
    fs::remove_file(path).unwrap();
    for line in lines {
        let text = print_text(line);
        assert!(!text.contains("--resume"), "{line}: {text}");
        assert!(text.contains("(transcript deleted by its agent; archived by Loci)"), "{line}: {text}");
    }
    assert_eq!(search(&home, &["quagga"])["results"][0]["archived"], true);
}

#[test]
fn added_search_terms_are_listed() {
    let text =
        run_loci(&home_with_history(), &["search", "login", "--expand", "auto", "-o", "text"]).expect(0);
    assert!(text.text().contains("\nalso searched for: "), "{}", text.text());
    assert!(text.text().contains("(for login)"), "{}", text.text());
}

#[test]
fn without_history_every_list_says_so_once_and_suggests_nothing() {
    let home = Home::new();
    for line in ["search foo -o text", "sessions -o text"] {
        let text = testutil::run_line(&home, line).text().to_string();
        assert_eq!(text.matches("no agent history found").count(), 1, "{line}: {text}");
        assert!(
            text.contains("`loci sources` lists the places") && !text.contains("next:"),
            "{line}: {text}"
        );
    }
    let sources = testutil::run_line(&home, "sources -o text");
    let printed = sources.text().to_string() + &sources.stderr;
    assert_eq!(printed.matches(".claude/projects").count(), 1, "{printed}");
}

#[test]
fn a_missing_project_folder_is_noted_and_dropped_in_the_first_suggestion() {
    let home = home_with_history();
    for line in ["sessions --project nosuchplace -o text", "search daemon --project nosuchplace -o text"] {
        let text = testutil::run_line(&home, line).text().to_string();
        assert!(text.contains("note: no project is called `nosuchplace`"), "{line}: {text}");
    }
    let found = search(&home, &["daemon", "--project", "nosuchplace"]);
    let next = &found["guidance"]["nextActions"][0]["args"];
    assert!(next.get("project").is_none() && next.get("precision_mode").is_none(), "{next}");
}

#[test]
fn text_output_of_records_contains_no_json() {
    let home = Home::new();
    let mut session = Session::new(SOCKET, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt(&format!("Fix the socket {}", "because it is lost again and again ".repeat(4)));
    session.did("Read", json!({"file_path": "/srv/demo/alpha/a.rs"}), "fn main() {}");
    session.failed("Bash", json!({"command": "false"}), "Exit code 1");
    session.reply(&["Done."]);
    home.add(&session);
    for (line, wanted) in [
        ("stats --by tool", "error_rate"),
        ("stats --by day", "2026-03-01"),
        ("stats --by project", ALPHA),
        ("stats --by source", "claude-code"),
        ("query context", "  at     turn 1  Fix the socket"),
        ("query file-access", "1 read, 0 edits, 0 writes, 0 failed, in 1 session"),
    ] {
        let text = testutil::run_line(&home, &format!("{line} --all-projects -o text")).expect(0);
        assert!(text.text().contains(wanted) && !text.text().contains("{\""), "{line}: {}", text.text());
    }
    let replies = testutil::run_line(&home, "query assistant-messages --all-projects -o text").expect(0);
    // A reply that only calls tools counts towards --limit, so it has a line.
    assert_eq!(replies.text().matches("  reply").count(), 3, "{}", replies.text());
    assert_eq!(replies.text().matches("(1 tool call)").count(), 2, "{}", replies.text());
    let title = testutil::run_line(&home, "sessions").expect(0).records()[0]["sessions"][0]["title"].clone();
    assert_eq!(title, "Fix the socket because it is lost again and again because it is lost again and…");
}
