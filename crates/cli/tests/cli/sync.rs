//! `loci sync`: two devices of one person through a folder. Each device is a home of its own.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testutil::{Home, McpClient, Session, run_line, write_file};

pub(crate) const SHOP: &str = "/srv/demo/shop";
const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

pub(crate) struct Devices {
    pub(crate) bucket: Home,
    pub(crate) work: Home,
    pub(crate) laptop: Home,
    pub(crate) phrase: String,
}

pub(crate) fn run(home: &Home, line: &str) -> Value {
    run_line(home, &format!("{line} --json")).expect(0).records().remove(0)
}

pub(crate) fn session(number: u32, project: &str, prompt: &str) -> Session {
    let id = format!("{number:08x}-0000-4000-8000-000000000023");
    let mut session = Session::new(&id, project, &format!("2026-03-{:02}T10:00:00Z", number % 28 + 1));
    session.prompt(prompt).reply(&["Understood."]);
    session.did("Bash", json!({"command": "make"}), "ok");
    session
}

impl Devices {
    /// Two devices that have joined one space.
    pub(crate) fn joined() -> Devices {
        let (bucket, work, laptop) = (Home::new(), Home::new(), Home::new());
        let url = bucket.path().display();
        let started = run(&work, &format!("sync init --show-phrase {url} --label work"));
        let phrase = started["phrase"].as_str().unwrap().to_string();
        let joined = run(&laptop, &format!("sync join {url} {phrase} --label laptop"));
        assert_eq!((&joined["space"], &joined["phrase"]), (&started["space"], &Value::Null));
        Devices { bucket, work, laptop, phrase }
    }

    pub(crate) fn rounds(&self) {
        for home in [&self.work, &self.laptop, &self.work, &self.laptop] {
            run(home, "sync now");
        }
    }

    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        list_files(self.bucket.path())
    }
}

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn sessions_of_one_device_are_searched_and_read_on_the_other() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Why does the walrus parser reject tabs"));
    assert_eq!(run(&devices.work, "sync now")["sent"], 1);
    let received = run(&devices.laptop, "sync now");
    assert_eq!((&received["transcripts"], &received["sent"]), (&json!(1), &json!(0)), "{received}");
    let found = run(&devices.laptop, "search walrus parser");
    assert_eq!(found["results"][0]["chatId"], "00000001-0000-4000-8000-000000000023", "{found}");
    let exported = |home: &Home| run_line(home, "export 00000001 -o markdown").expect(0).text().to_string();
    assert_eq!(exported(&devices.laptop), exported(&devices.work));
    let again = run(&devices.laptop, "sync now");
    assert_eq!((&again["transcripts"], &again["sent"]), (&json!(0), &json!(0)), "{again}");
    let status = run(&devices.laptop, "sync status");
    let from = status["devices"].as_array().unwrap().iter().find(|one| one["label"] == "work").unwrap();
    assert_eq!((&from["transcripts"], &from["this"]), (&json!(1), &json!(false)), "{status}");
}

#[test]
fn lines_that_are_added_later_arrive_too_and_both_devices_write() {
    let devices = Devices::joined();
    let mut growing = session(1, SHOP, "Count the walruses");
    devices.work.add(&growing);
    devices.laptop.add(&session(2, SHOP, "Count the penguins"));
    devices.rounds();
    growing.prompt("And the narwhals").reply(&["Seven."]);
    devices.work.add(&growing);
    devices.rounds();
    for home in [&devices.work, &devices.laptop] {
        assert_eq!(run(home, "search narwhals")["results"].as_array().unwrap().len(), 1);
        assert_eq!(run(home, "search penguins")["results"].as_array().unwrap().len(), 1);
        assert_eq!(run(home, "sessions")["total"], 2);
    }
}

/// The sessions of a list or a search, by the beginning of their IDs.
fn listed(found: &Value) -> Vec<&str> {
    let rows = found.get("sessions").or(found.get("results")).unwrap().as_array().unwrap();
    rows.iter().map(|row| &row["chatId"].as_str().unwrap()[..8]).collect()
}

/// One session on each of two devices, exchanged. Looked at from the laptop.
fn with_one_session_each() -> Devices {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses at work"));
    devices.laptop.add(&session(2, SHOP, "Count the walruses on the laptop"));
    devices.rounds();
    devices
}

#[test]
fn a_session_carries_the_device_that_it_came_from() {
    let devices = with_one_session_each();
    for line in ["sessions --reverse", "search walruses"] {
        let found = run(&devices.laptop, line);
        let rows = found.get("sessions").or(found.get("results")).unwrap().as_array().unwrap();
        let of = |id: &str| rows.iter().find(|row| row["chatId"].as_str().unwrap().starts_with(id)).unwrap();
        assert_eq!(
            (&of("00000001")["device"], of("00000001").get("resume")),
            (&json!("work"), None),
            "{line}"
        );
        assert_eq!((of("00000001").get("archived"), of("00000002").get("device")), (None, None), "{line}");
        assert!(of("00000002")["resume"].is_string(), "{line}");
        let text = run_line(&devices.laptop, &format!("{line} -o text")).expect(0).text().to_string();
        assert_eq!(text.matches("on work").count(), 2, "{text}");
        assert!(text.contains("loci handoff 00000001") && !text.contains("on laptop"), "{text}");
    }
    let shown = run(&devices.laptop, "show 00000001");
    assert_eq!((&shown["chat"]["device"], shown["chat"].get("archived")), (&json!("work"), None), "{shown}");
    assert_eq!(run(&devices.laptop, "show 00000002")["chat"].get("device"), None);
    assert_eq!(run(&devices.work, "show 00000001")["chat"].get("device"), None);
}

#[test]
fn sessions_are_selected_by_their_device() {
    let devices = with_one_session_each();
    let cases = [
        ("", vec!["00000001", "00000002"]),
        ("--device work", vec!["00000001"]),
        ("--device laptop", vec!["00000002"]),
        ("--mine", vec!["00000002"]),
    ];
    for command in ["sessions", "search walruses"] {
        for (flag, expected) in &cases {
            let found = run(&devices.laptop, &format!("{command} {flag}"));
            let mut ids = listed(&found);
            ids.sort_unstable();
            assert_eq!(ids, *expected, "{command} {flag}");
            let total = found.get("total").or(found.get("totalChats")).unwrap();
            assert_eq!(total, expected.len(), "{command} {flag}");
        }
        let unknown = run_line(&devices.laptop, &format!("{command} --device desk")).expect(1);
        assert!(unknown.stderr.contains("unknown device `desk`"), "{}", unknown.stderr);
        assert!(unknown.stderr.contains("one of: laptop, work"), "{}", unknown.stderr);
        let both = run_line(&devices.laptop, &format!("{command} --device work --mine")).expect(1);
        assert!(both.stderr.contains("exclude each other"), "{}", both.stderr);
    }
    let alone = run_line(&Home::new(), "sessions --device work").expect(1);
    assert!(alone.stderr.contains("loci sync init URL"), "{}", alone.stderr);
}

#[test]
fn agents_select_by_device_under_the_same_names() {
    let devices = with_one_session_each();
    let mut client = McpClient::new(devices.laptop.path(), &[]);
    for (tool, query) in
        [("list_sessions", json!({})), ("search_conversations", json!({"intent_query": "walruses"}))]
    {
        for (name, value, expected, other) in [
            ("device", json!("work"), "at work", "on the laptop"),
            ("mine", json!(true), "on the laptop", "at work"),
        ] {
            let mut arguments = query.clone();
            arguments[name] = value;
            let answer = client.tool_result(tool, arguments).to_string();
            assert!(answer.contains(expected) && !answer.contains(other), "{tool} {name}: {answer}");
        }
        let mut arguments = query;
        arguments["device"] = json!("desk");
        let refused = client.tool_result(tool, arguments).to_string();
        assert!(refused.contains("one of: laptop, work"), "{refused}");
    }
}

#[test]
fn a_session_of_another_device_is_handed_over_not_resumed() {
    let devices = with_one_session_each();
    for line in ["resume 00000001 --print", "resume Count the walruses at work --print"] {
        let refused = run_line(&devices.laptop, line);
        if line.contains("at work") {
            // The session of this device matches as well.
            assert!(refused.stderr.contains("loci resume 00000002"), "{}", refused.stderr);
            continue;
        }
        let refused = refused.expect(1);
        assert!(refused.stderr.contains("took place on another device, `work`"), "{}", refused.stderr);
        assert!(refused.stderr.contains("loci handoff 00000001"), "{}", refused.stderr);
    }
    let handed = run_line(&devices.laptop, "handoff 00000001").expect(0);
    assert!(handed.text().contains("Count the walruses at work"), "{}", handed.text());
}

#[test]
fn facts_carry_the_device_that_they_came_from_and_devices_are_listed() {
    let devices = with_one_session_each();
    run_line(&devices.work, &format!("memory add 'Deploy only from main' --project {SHOP}")).expect(0);
    devices.rounds();
    let fact = |home: &Home| run(home, "memory list --kind facts")["memories"][0].clone();
    assert_eq!((&fact(&devices.laptop)["device"], fact(&devices.work).get("device")), (&json!("work"), None));
    let id = fact(&devices.laptop)["id"].as_str().unwrap().to_string();
    assert_eq!(run(&devices.laptop, &format!("memory show {id}"))["memory"]["device"], "work");
    let text = run_line(&devices.laptop, "memory list --kind facts -o text").expect(0).text().to_string();
    assert!(text.contains("from work"), "{text}");
    let listed = run(&devices.laptop, "sync devices");
    let of = |label: &str| {
        listed["devices"].as_array().unwrap().iter().find(|one| one["label"] == label).unwrap().clone()
    };
    assert_eq!((&of("work")["sessions"], &of("work")["facts"]), (&json!(1), &json!(1)), "{listed}");
    assert_eq!((&of("laptop")["this"], &of("laptop")["transcripts"]), (&json!(true), &json!(1)), "{listed}");
    assert!(of("work")["written_at"].as_i64().unwrap() > 0, "{listed}");
    // A person's edit here does not make it another device's.
    run_line(&devices.laptop, &format!("memory edit {id} --text 'Deploy only from release'")).expect(0);
    devices.rounds();
    assert_eq!(fact(&devices.work).get("device"), None);
}

#[test]
fn the_device_is_known_after_it_left_and_was_removed_and_not_after_forgetting() {
    let devices = with_one_session_each();
    run(&devices.laptop, "sync remove work");
    assert_eq!(run(&devices.laptop, "show 00000001")["chat"]["device"], "work");
    run(&devices.laptop, "sync leave");
    assert_eq!(listed(&run(&devices.laptop, "sessions --device work")), ["00000001"]);
    run_line(&devices.laptop, "forget 00000001 --yes").expect(0);
    assert_eq!(run_line(&devices.laptop, "sessions --device work").code, Some(2));
}

#[test]
fn a_device_that_joins_again_finds_its_own_sessions() {
    let devices = with_one_session_each();
    run(&devices.laptop, "sync leave");
    let (bucket, phrase) = (devices.bucket.path().display(), &devices.phrase);
    run(&devices.laptop, &format!("sync join {bucket} {phrase} --label laptop"));
    std::fs::remove_dir_all(devices.laptop.path().join(".claude")).unwrap();
    devices.rounds();
    assert_eq!(listed(&run(&devices.laptop, "sessions --mine")), ["00000002"]);
    assert_eq!(run(&devices.laptop, "show 00000002")["chat"].get("device"), None);
}

#[test]
fn memory_converges_and_a_persons_words_travel() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "OK, decided: we go with SQLite for the labels."));
    run_line(&devices.work, "memory consolidate --no-model").expect(0);
    let added = run(&devices.work, &format!("memory add 'Deploy only from main' --project {SHOP}"));
    let fact = added["memory"]["id"].as_str().unwrap().to_string();
    devices.rounds();
    let document = |home: &Home| run(home, "memory export");
    assert_eq!(document(&devices.laptop), document(&devices.work));
    assert!(document(&devices.laptop).to_string().contains("Deploy only from main"));
    assert!(fact.starts_with("f-"), "{added}");
    run_line(&devices.laptop, &format!("memory edit {fact} --text 'Deploy only from the branch release'"))
        .expect(0);
    devices.rounds();
    assert!(document(&devices.work).to_string().contains("the branch release"));
    assert_eq!(document(&devices.laptop), document(&devices.work));
    run_line(&devices.work, &format!("memory forget {fact} --yes")).expect(0);
    devices.rounds();
    assert!(!document(&devices.laptop).to_string().contains("the branch release"));
}

#[test]
fn what_one_device_forgets_all_forget_and_nothing_brings_it_back() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "The walrus is a secret"));
    devices.work.add(&session(2, SHOP, "The penguin is not"));
    devices.rounds();
    run_line(&devices.laptop, "forget 00000001 --yes").expect(0);
    devices.rounds();
    for home in [&devices.work, &devices.laptop] {
        run_line(home, "search walrus").expect(2);
        assert_eq!(run(home, "search penguin")["results"].as_array().unwrap().len(), 1);
    }
    // The agent's own file is still on the first device.
    run_line(&devices.work, "index --rebuild").expect(0);
    devices.rounds();
    run_line(&devices.laptop, "search walrus").expect(2);
}

#[test]
fn a_device_that_joins_later_learns_nothing_that_was_forgotten() {
    let mut devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "OK, decided: we go with the walrus for the labels."));
    run_line(&devices.work, "memory consolidate --no-model").expect(0);
    devices.rounds();
    assert!(run(&devices.laptop, "memory export").to_string().contains("walrus"));
    run_line(&devices.laptop, "forget 00000001 --yes").expect(0);
    devices.rounds();
    let phrase = devices.phrase.clone();
    devices.laptop = Home::new();
    let bucket = devices.bucket.path().display();
    run(&devices.laptop, &format!("sync join {bucket} {phrase} --label new"));
    devices.rounds();
    for home in [&devices.work, &devices.laptop] {
        assert!(!run_line(home, "memory export --json").text().contains("walrus"));
        run_line(home, "search walrus").expect(2);
    }
}

#[test]
fn a_fact_that_is_stated_again_after_it_was_forgotten_is_known_everywhere() {
    let devices = Devices::joined();
    let fact = "Deploy only from main";
    let add = |home: &Home| run(home, &format!("memory add '{fact}' --project {SHOP}"));
    let knows = |home: &Home| run_line(home, "memory export --json").text().contains(fact);
    let id = add(&devices.work)["memory"]["id"].as_str().unwrap().to_string();
    devices.rounds();
    // Forgotten by one and stated again by the other, then the other way round, then by the same.
    for (forgets, states) in [(0, 1), (1, 0), (0, 0)] {
        let homes = [&devices.work, &devices.laptop];
        run_line(homes[forgets], &format!("memory forget {id} --yes")).expect(0);
        devices.rounds();
        assert!(!knows(&devices.work) && !knows(&devices.laptop), "after {forgets} has forgotten");
        add(homes[states]);
        devices.rounds();
        assert!(knows(&devices.work) && knows(&devices.laptop), "after {states} has stated it again");
    }
    // A device that lost its memory allows nothing.
    run_line(&devices.work, &format!("memory forget {id} --yes")).expect(0);
    devices.rounds();
    for name in ["memory.db", "memory.db-wal", "memory.db-shm", "memory.db.seal"] {
        let _ = std::fs::remove_file(devices.laptop.path().join(".local/share/loci").join(name));
    }
    devices.rounds();
    assert!(!knows(&devices.work) && !knows(&devices.laptop));
}

#[test]
fn a_tag_that_is_given_again_stays() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    run_line(&devices.work, "memory consolidate --no-model").expect(0);
    for change in ["--add-tag zoo", "--remove-tag zoo", "--add-tag zoo"] {
        run_line(&devices.work, &format!("memory edit 00000001 {change}")).expect(0);
        devices.rounds();
    }
    let (one, other) = (run(&devices.work, "memory export"), run(&devices.laptop, "memory export"));
    assert_eq!(one, other);
    assert!(one["sessions"][0]["tags"].to_string().contains("zoo"), "{one}");
}

#[test]
fn a_lost_archive_takes_nothing_from_the_other_device() {
    let devices = Devices::joined();
    let path = devices.work.add(&session(1, SHOP, "Count the walruses"));
    run_line(&devices.work, &format!("memory add 'Deploy only from main' --project {SHOP}")).expect(0);
    devices.rounds();
    std::fs::remove_file(path).unwrap();
    let data = devices.work.path().join(".local/share/loci");
    std::fs::remove_dir_all(data.join("archive")).unwrap();
    for name in ["memory.db", "memory.db-wal", "memory.db-shm", "memory.db.seal"] {
        let _ = std::fs::remove_file(data.join(name));
    }
    devices.rounds();
    assert_eq!(run(&devices.laptop, "search walruses")["results"].as_array().unwrap().len(), 1);
    assert!(run(&devices.laptop, "memory export").to_string().contains("Deploy only from main"));
}

#[test]
fn excluding_a_project_deletes_nothing_elsewhere() {
    let devices = Devices::joined();
    run_line(&devices.work, &format!("memory add 'Deploy only from main' --project {SHOP}")).expect(0);
    devices.rounds();
    run(&devices.work, &format!("sync exclude {SHOP}"));
    devices.rounds();
    assert!(run(&devices.laptop, "memory export").to_string().contains("Deploy only from main"));
}

#[test]
fn the_stronger_name_of_a_session_stays_on_both_devices() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    run_line(&devices.work, "memory consolidate --no-model").expect(0);
    devices.rounds();
    run_line(&devices.laptop, "memory consolidate --no-model").expect(0);
    run_line(&devices.laptop, "memory edit 00000001 --name 'Walrus count'").expect(0);
    run_line(&devices.work, "memory edit 00000001 --add-tag zoo").expect(0);
    devices.rounds();
    devices.rounds();
    let (one, other) = (run(&devices.work, "memory export"), run(&devices.laptop, "memory export"));
    assert_eq!(one, other);
    assert!(one.to_string().contains("Walrus count") && one.to_string().contains("zoo"), "{one}");
}

#[test]
fn nothing_in_the_storage_can_be_read_and_secrets_never_leave() {
    let devices = Devices::joined();
    devices.work.add(&session(1, "/srv/demo/palimpsest", &format!("The walrus uses {SECRET}")));
    run_line(&devices.work, "memory add 'Deploy from quokka' --project /srv/demo/palimpsest").expect(0);
    devices.rounds();
    let objects = devices.objects();
    assert!(objects.len() > 3, "{objects:?}");
    for path in &objects {
        let (bytes, name) = (std::fs::read(path).unwrap(), path.to_string_lossy().into_owned());
        for word in ["walrus", "palimpsest", "quokka", "claude", "work", "laptop", SECRET] {
            let below = name.strip_prefix(&*devices.bucket.path().to_string_lossy()).unwrap();
            assert!(!contains(&bytes, word) && !below.contains(word), "{word} in {name}");
        }
    }
    let shown = run_line(&devices.laptop, "show 00000001").expect(0);
    assert!(shown.text().contains("walrus") && !shown.text().contains(SECRET), "{}", shown.text());
}

#[test]
fn an_excluded_project_stays_until_it_is_included() {
    let devices = Devices::joined();
    devices.work.add(&session(1, "/srv/demo/private/app", "The walrus stays"));
    devices.work.add(&session(2, SHOP, "The penguin goes"));
    let status = run(&devices.work, "sync exclude /srv/demo/private");
    assert_eq!(status["excluded"], json!(["/srv/demo/private"]));
    let preview = run(&devices.work, "sync preview");
    assert_eq!((&preview["total"], &preview["excluded"]), (&json!(1), &json!(1)), "{preview}");
    assert_eq!(preview["transcripts"][0]["project"], SHOP);
    assert!(run(&devices.work, "sync preview --limit 0")["transcripts"].as_array().unwrap().is_empty());
    devices.rounds();
    run_line(&devices.laptop, "search walrus").expect(2);
    // Said in each round, not only in the first that saw the transcript.
    assert_eq!(run(&devices.work, "sync now")["excluded"], 1);
    run(&devices.work, "sync exclude /srv/demo/private --undo");
    devices.rounds();
    assert_eq!(run(&devices.laptop, "search walrus")["results"].as_array().unwrap().len(), 1);
}

#[test]
fn a_project_is_excluded_by_the_name_it_was_opened_with_and_by_its_real_one() {
    let devices = Devices::joined();
    let (real, link) = (devices.work.path().join("real"), devices.work.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    devices.work.add(&session(1, link.to_str().unwrap(), "The walrus stays"));
    devices.work.add(&session(2, real.to_str().unwrap(), "The penguin stays"));
    run(&devices.work, &format!("sync exclude {}", link.display()));
    let preview = run_line(&devices.work, "sync preview --json").expect(2).records().remove(0);
    assert_eq!(preview["excluded"], 2);
    run(&devices.work, &format!("sync exclude {} --undo", link.display()));
    assert_eq!(run(&devices.work, "sync preview")["total"], 2);
}

#[test]
fn a_removed_device_gets_nothing_more() {
    let devices = Devices::joined();
    devices.rounds();
    let status = run(&devices.work, "sync status");
    let laptop = status["devices"].as_array().unwrap().iter().find(|one| one["label"] == "laptop").unwrap();
    let left = run(&devices.work, &format!("sync remove {}", laptop["device"].as_str().unwrap()));
    assert!(!left.to_string().contains("\"label\":\"laptop\""), "{left}");
    devices.work.add(&session(1, SHOP, "The walrus is for one device only"));
    run(&devices.work, "sync now");
    let refused = run_line(&devices.laptop, "sync now").expect(1);
    assert!(
        refused.stderr.contains("removed") && refused.stderr.contains("loci sync leave"),
        "{}",
        refused.stderr
    );
    run_line(&devices.laptop, "search walrus").expect(2);
    run(&devices.laptop, "sync leave");
    run_line(&devices.laptop, "sync status").expect(1);
}

#[test]
fn a_fresh_machine_recovers_everything_with_the_phrase_alone() {
    let mut devices = with_one_session_each();
    run_line(&devices.work, &format!("memory add 'Deploy only from main' --project {SHOP}")).expect(0);
    devices.rounds();
    let memory = run(&devices.work, "memory export");
    let exported = run_line(&devices.work, "export 00000002 -o markdown").expect(0).text().to_string();
    // Both machines are lost: there is only the storage, and the phrase on paper.
    (devices.work, devices.laptop) = (Home::new(), Home::new());
    let (bucket, fresh) = (devices.bucket.path().display(), &devices.work);
    run(fresh, &format!("sync recover {bucket} {} --label new", devices.phrase));
    assert_eq!(run(fresh, "sync now")["transcripts"], 2);
    assert_eq!(run(fresh, "memory export"), memory);
    assert_eq!(run_line(fresh, "export 00000002 -o markdown").expect(0).text(), exported);
    assert_eq!(listed(&run(fresh, "sessions --device laptop")), ["00000002"]);
    // The phrase makes it an administrator: it can end the membership of what was lost.
    for lost in ["work", "laptop"] {
        run(fresh, &format!("sync remove {lost}"));
    }
    let labels: Vec<String> = run(fresh, "sync devices")["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["label"].to_string())
        .collect();
    assert!(
        labels.contains(&"\"new\"".to_string()) && !labels.contains(&"\"work\"".to_string()),
        "{labels:?}"
    );
    let wrong =
        run_line(&Home::new(), &format!("sync join {bucket} 00000-00000-00000-00000-00000-00000-00000"));
    assert_eq!(wrong.code, Some(1), "{}", wrong.stderr);
}

#[test]
fn the_phrase_is_read_from_standard_input() {
    let (shared, work, laptop) = (Home::new(), Home::new(), Home::new());
    let bucket = shared.path().to_str().unwrap();
    let started = run(&work, &format!("sync init --show-phrase {bucket}"));
    let mut join = std::process::Command::new("sh");
    testutil::set_environment(&mut join, laptop.path());
    let line = format!(
        "echo '{}' | {} sync join {bucket} -",
        started["phrase"].as_str().unwrap(),
        testutil::binary()
    );
    join.args(["-c", &line]);
    testutil::run_command(join).expect(0);
    assert_eq!(run(&laptop, "sync status")["space"], started["space"]);
}

#[test]
fn mistakes_are_explained() {
    let devices = Devices::joined();
    let bucket = devices.bucket.path().display();
    for (line, said) in [
        ("sync now".to_string(), "loci sync init URL"),
        (format!("sync join {bucket} abcde-fghij"), "recovery phrase"),
        ("sync init --show-phrase /no/such/folder".to_string(), "mkdir -p /no/such/folder"),
        ("sync init --show-phrase ftp://host/x".to_string(), "neither s3 nor az"),
    ] {
        let home = Home::new();
        let refused = run_line(&home, &line).expect(1);
        assert!(refused.stderr.contains(said), "{line}: {}", refused.stderr);
    }
    let twice = run_line(&devices.work, &format!("sync init --show-phrase {bucket}")).expect(1);
    assert!(twice.stderr.contains("already belongs"), "{}", twice.stderr);
}

#[test]
fn damage_in_the_storage_is_said_and_harms_nothing() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    run(&devices.work, "sync now");
    let pack = devices.objects().into_iter().find(|path| path.to_string_lossy().contains("/packs/")).unwrap();
    let mut bytes = std::fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    write_file(&pack, &bytes);
    let round = run_line(&devices.laptop, "sync now --json").expect(3).records().remove(0);
    assert_eq!(round["findings"][0]["problem"], "damaged-pack", "{round}");
    run_line(&devices.laptop, "search walruses").expect(2);
    bytes[middle] ^= 1;
    write_file(&pack, &bytes);
    assert_eq!(run(&devices.laptop, "sync now")["transcripts"], 1);
}

#[test]
fn a_pipe_in_place_of_an_object_does_not_stop_a_round() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    run(&devices.work, "sync now");
    let pack = devices.objects().into_iter().find(|path| path.to_string_lossy().contains("/packs/")).unwrap();
    std::fs::remove_file(&pack).unwrap();
    assert!(testutil::can_run("mkfifo", &[pack.to_str().unwrap()]));
    let round = run_line(&devices.laptop, "sync now --json").expect(3).records().remove(0);
    assert_eq!(round["findings"][0]["problem"], "missing-pack", "{round}");
}

#[test]
fn without_its_storage_local_work_goes_on() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    let aside = devices.laptop.path().join("aside");
    std::fs::rename(devices.bucket.path(), &aside).unwrap();
    let failed = run_line(&devices.work, "sync now").expect(1);
    assert!(failed.stderr.contains("nothing is lost"), "{}", failed.stderr);
    // A transcript is only prepared once it is known what the others have; a fact waits.
    let preview = run(&devices.work, "sync preview");
    assert_eq!((&preview["pending"], &preview["total"]), (&0.into(), &1.into()), "{preview}");
    run_line(&devices.work, &format!("memory add 'Deploy only from main' --project {SHOP}")).expect(0);
    run_line(&devices.work, "sync now").expect(1);
    assert_eq!(run(&devices.work, "sync preview")["pending"], 1);
    let late = run_line(&devices.work, &format!("sync exclude {SHOP}")).expect(1);
    assert!(late.stderr.contains("1 records wait to be sent"), "{}", late.stderr);
    assert_eq!(run(&devices.work, "search walruses")["results"].as_array().unwrap().len(), 1);
    std::fs::rename(&aside, devices.bucket.path()).unwrap();
    assert_eq!(run(&devices.work, "sync now")["sent"], 2);
}

/// The commands of the guide, as it has them, with another storage.
fn follow_guide(url: &str, variables: &[(String, String)]) {
    let (work, laptop) = (Home::new(), Home::new());
    work.add(&session(1, SHOP, "The flaky upload test fails at midnight"));
    let type_line = |home: &Home, line: &str| {
        let mut shell = std::process::Command::new("sh");
        testutil::set_environment(&mut shell, home.path());
        let folder = Path::new(testutil::binary()).parent().unwrap();
        shell.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
        for (name, value) in variables {
            shell.env(name, value);
        }
        shell.args(["-c", line]);
        testutil::run_command(shell).expect(0).text().to_string()
    };
    let started = type_line(&work, &format!("loci sync init --show-phrase {url} --label work -o text"));
    let phrase = started.split("Recovery phrase: ").nth(1).unwrap().lines().next().unwrap();
    assert!(type_line(&work, "loci sync preview -o text").contains("flaky upload test"));
    assert!(type_line(&work, "loci sync now -o text").starts_with("sent 1 record"));
    laptop.add(&session(2, SHOP, "Began on the laptop"));
    type_line(&laptop, &format!("echo {phrase} | loci sync join {url} - --label laptop"));
    assert!(type_line(&laptop, "loci sync now -o text").contains("received 1 transcript,"));
    assert!(type_line(&laptop, "loci search the flaky upload test -o text").contains("fails at midnight"));
    assert!(type_line(&laptop, "loci sessions --device work -o text").contains("on work"));
    assert!(!type_line(&laptop, "loci sessions --mine -o text").contains("on work"));
    assert!(type_line(&laptop, "loci sync devices -o text").contains("1 session"));
    let status = type_line(&laptop, "loci sync status -o text");
    assert!(status.contains("work") && status.contains("1 transcript"), "{status}");
}

#[test]
fn the_guide_works_with_a_folder() {
    let shared = Home::new();
    follow_guide(shared.path().to_str().unwrap(), &[]);
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn the_guide_works_with_a_bucket() {
    let (_server, variables) = testutil::StorageServer::moto();
    follow_guide("s3://loci/history", &variables);
}

#[test]
#[ignore = "needs garage: see CONTRIBUTING.md"]
fn the_guide_works_with_a_cluster_that_has_lost_a_node() {
    let mut cluster = testutil::GarageCluster::start();
    cluster.kill(2);
    follow_guide("s3://loci/history", &cluster.variables(0));
}

pub(crate) fn run_with(home: &Home, variables: &[(String, String)], words: &[&str]) -> testutil::Finished {
    let mut command = testutil::command(home.path(), words);
    command.envs(variables.iter().cloned());
    testutil::run_command(command)
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn what_goes_wrong_on_the_wire_is_said_and_ends_with_it() {
    use testutil::WireFault;
    let (server, variables) = testutil::StorageServer::moto();
    let proxy = testutil::FaultyProxy::start(server.port);
    let mut variables = proxy.variables(&variables);
    variables.push(("AWS_TIMEOUT".into(), "1 second".into()));
    let (work, laptop) = (Home::new(), Home::new());
    let loci = |home: &Home, words: &[&str]| run_with(home, &variables, words);
    let started = loci(&work, &["sync", "init", "--show-phrase", "s3://loci/wire", "--json"])
        .expect(0)
        .records()
        .remove(0);
    let phrase = started["phrase"].as_str().unwrap();
    loci(&laptop, &["sync", "join", "s3://loci/wire", phrase]).expect(0);
    let cases = [
        (WireFault::SlowDown, "503", "loci sync now"),
        (WireFault::TooManyRequests, "429", "loci sync now"),
        (WireFault::Stall, "timed out", "loci sync now"),
        (WireFault::LostAnswer, "unavailable", "loci sync now"),
        (WireFault::ClockRefused, "RequestTimeTooSkewed", "set the clock of this machine"),
    ];
    for (at, (fault, said, hint)) in cases.into_iter().enumerate() {
        work.add(&session(at as u32 + 1, SHOP, &format!("Count walrus number {at}")));
        proxy.take_seen();
        proxy.inject(&[fault], 100, 1);
        let failed = loci(&work, &["sync", "now"]).expect(1);
        assert!(failed.stderr.contains(said) && failed.stderr.contains(hint), "{fault:?}: {}", failed.stderr);
        // The hint is asked for first, and its failure leads to a list, which is tried again.
        assert!(proxy.take_seen().len() <= 6, "{fault:?}");
        let status = loci(&work, &["sync", "status", "-o", "text"]).expect(0).text().to_string();
        assert!(status.contains("the last round failed") && status.contains(said), "{fault:?}: {status}");
        proxy.stop_faults();
        loci(&work, &["sync", "now"]).expect(0);
        let status = loci(&work, &["sync", "status", "-o", "text"]).expect(0).text().to_string();
        assert!(!status.contains("failed"), "{fault:?}: {status}");
    }
    // Damage is a finding, not a failure: the round goes on, and the next one reads the object again.
    proxy.inject(&[WireFault::Flipped], 100, 3);
    let found = (0..6).map(|_| loci(&laptop, &["sync", "now"])).find(|round| round.code == Some(3));
    assert!(found.is_some(), "a flipped byte was not noticed");
    let status = loci(&laptop, &["sync", "status", "-o", "text"]).expect(0).text().to_string();
    assert!(
        status.contains("damaged") || status.contains("missing") || status.contains("foreign"),
        "{status}"
    );
    proxy.stop_faults();
    loci(&laptop, &["sync", "now"]).expect(0);
    assert_eq!(run(&laptop, "sessions")["total"], 5);
}

/// The clock of one device is nine days ahead, of the other nine days behind.
#[test]
fn wrong_clocks_cost_nothing() {
    let (bucket, homes) = (Home::new(), [Home::new(), Home::new()]);
    let url = bucket.path().to_str().unwrap();
    let clocks = [9, -9].map(|days: i64| {
        let clock = testutil::ShiftedClock::new();
        clock.shift(days * 86_400);
        clock
    });
    let loci = |device: usize, words: &[&str]| {
        let mut command = testutil::command(homes[device].path(), words);
        clocks[device].apply(&mut command);
        testutil::run_command(command)
    };
    let started = loci(0, &["sync", "init", "--show-phrase", url, "--json"]).expect(0).records().remove(0);
    loci(1, &["sync", "join", url, started["phrase"].as_str().unwrap()]).expect(0);
    for (device, home) in homes.iter().enumerate() {
        home.add(&session(device as u32 + 1, SHOP, "Count the walruses"));
    }
    loci(0, &["memory", "consolidate", "--no-model"]).expect(0);
    let exchange = || [0, 1, 0, 1].map(|device| drop(loci(device, &["sync", "now"]).expect(0)));
    exchange();
    // What was written later, by the clock that is behind, wins: it was based on what the other wrote.
    loci(0, &["memory", "edit", "00000001", "--name", "Walrus count"]).expect(0);
    exchange();
    loci(1, &["memory", "edit", "00000001", "--name", "Walrus census"]).expect(0);
    exchange();
    let exported =
        [0, 1].map(|device| loci(device, &["memory", "export", "--json"]).expect(0).text().to_string());
    assert_eq!(exported[0], exported[1]);
    assert!(exported[0].contains("Walrus census"), "{}", exported[0]);
    loci(0, &["forget", "00000002", "--yes"]).expect(0);
    exchange();
    for device in [0, 1] {
        assert_eq!(loci(device, &["sessions", "--json"]).expect(0).records()[0]["total"], 1);
    }
}

/// Leaves, misses what another device adds, and joins again with what it had: as a record, the older copy is the later one.
#[test]
fn a_device_that_joins_again_takes_nothing_from_the_others() {
    let devices = Devices::joined();
    let mut growing = session(1, SHOP, "Count the walruses");
    let path = devices.work.add(&growing);
    devices.rounds();
    run(&devices.laptop, "sync leave");
    for number in 0..20 {
        growing.prompt(&format!("And the narwhals, time {number}"));
    }
    devices.work.add(&growing);
    run(&devices.work, "sync now");
    // The agent has deleted it: what the archive has is all there is.
    std::fs::remove_file(path).unwrap();
    let (bucket, phrase) = (devices.bucket.path().display(), &devices.phrase);
    run(&devices.laptop, &format!("sync join {bucket} {phrase} --label laptop"));
    devices.rounds();
    devices.rounds();
    for home in [&devices.work, &devices.laptop] {
        let exported = run_line(home, "export 00000001 -o markdown").expect(0).text().to_string();
        assert!(exported.contains("narwhals, time 19"), "{exported}");
    }
    for home in [&devices.work, &devices.laptop] {
        let idle = run(home, "sync now");
        assert_eq!((&idle["sent"], &idle["transcripts"]), (&0.into(), &0.into()), "{idle}");
    }
}

/// Without the list, forgotten sessions would come back, and the next one to be forgotten would replace it.
#[test]
fn a_list_of_forgotten_sessions_that_cannot_be_read_stops_what_needs_it() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    devices.work.add(&session(2, SHOP, "Count the narwhals"));
    run_line(&devices.work, "forget 00000001 --yes").expect(0);
    let list = devices.work.path().join(".local/share/loci/forgotten");
    let aside = list.with_extension("aside");
    std::fs::rename(&list, &aside).unwrap();
    std::fs::create_dir(&list).unwrap();
    for line in ["sync now", "index", "search walruses", "forget 00000002 --yes"] {
        let refused = run_line(&devices.work, line);
        assert_ne!(refused.code, Some(0), "{line}");
        assert!(refused.stderr.contains("list of forgotten sessions"), "{line}: {}", refused.stderr);
    }
    std::fs::remove_dir(&list).unwrap();
    std::fs::rename(&aside, &list).unwrap();
    devices.rounds();
    run_line(&devices.laptop, "search walruses").expect(2);
    run_line(&devices.laptop, "search narwhals").expect(0);
}
