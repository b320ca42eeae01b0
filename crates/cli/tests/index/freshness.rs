//! What was said a moment ago is found, without waiting for a disk; what was thrown away is made again; what its agent
//! has deleted is still there.

use crate::history::{History, append, needle};
use crate::instance::{Answer, Instance, VIEWS, answers, assert_same, files, listed, searched, viewed};
use std::fs;
use std::process::Command;
use testutil::{Home, run_command, sample_home, write_file};

#[test]
fn a_line_that_was_just_written_is_found_without_indexing() {
    let mut history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    for n in 0..12 {
        let word = history.grow(n);
        assert_eq!(instance.finds(&word).len(), 1, "{word}");
    }
}

/// Forgotten means: whatever is added to it, by whoever reads it first.
#[test]
fn what_is_added_to_a_forgotten_conversation_is_not_news() {
    let mut history = History::new(8);
    let instance = Instance::new(history.home.path());
    instance.index();
    let id = history.growing[2].session.id.clone();
    instance.run(&format!("forget {id} --yes")).expect(0);
    let listed =
        |instance: &Instance| instance.run("sessions -o json --limit 1000").expect(0).text().contains(&id);
    for _ in 0..2 {
        let (forgotten, known) = (history.grow(2), history.grow(3));
        assert_eq!(instance.finds(&forgotten), [""; 0]);
        // Others that grow at the same moment are heard.
        assert_eq!(instance.finds(&known).len(), 1);
        assert!(!listed(&instance));
        instance.run("index --rebuild").expect(0);
    }
    // Nor when there is nothing but the transcripts and the tombstone.
    let word = history.grow(2);
    assert_eq!(instance.with_empty_cache().finds(&word), [""; 0]);
    for path in files(&instance.cache).into_iter().chain(files(&instance.data)) {
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(word.len()).any(|w| w == word.as_bytes()), "{}", path.display());
    }
}

/// Whoever is stopped right behind the tombstone has forgotten nothing yet; whoever comes next goes on.
#[test]
fn forgetting_that_was_interrupted_is_finished() {
    let history = History::new(8);
    let whole = Instance::new(history.home.path());
    whole.index();
    let id = history.growing[3].session.id.clone();
    let word = history.needles.iter().find(|needle| whole.finds(needle) == [id.clone()]).unwrap();
    for line in
        [format!("search {word} -o json"), "sessions -o json --limit 1000".into(), "index -o json".into()]
    {
        let instance = whole.copied();
        write_file(&instance.data.join("loci/forgotten"), format!("claude-code\t{id}\n").as_bytes());
        let told = instance.run(&line);
        assert!(
            !told.text().contains(&id) && !told.text().contains(&format!("the {word}")),
            "{}",
            told.text()
        );
        assert_eq!(instance.finds(word), [""; 0]);
        assert_eq!(instance.archived().len() + 1, whole.archived().len());
        for path in files(&instance.cache).into_iter().chain(files(&instance.data)) {
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(word.len()).any(|w| w == word.as_bytes()), "{line}: {}", path.display());
        }
    }
}

/// Databases change in their logs, and no folder tells of it.
#[test]
fn a_conversation_that_goes_on_in_a_database_is_listed_with_what_is_new() {
    let history = History::new(4);
    let instance = Instance::new(history.home.path());
    let path = history.home.path().join(".config/app.chatwise/app.db");
    let connection = db::Connection::open(&path).unwrap();
    connection.execute_batch("pragma journal_mode = wal; update chat set title = title").unwrap();
    let chat = |instance: &Instance| {
        let told = instance.run("sessions -o json --source chatwise").expect(0).records().remove(0);
        let found = told["sessions"].as_array().unwrap().iter().find(|s| s["chatId"] == "chat1").cloned();
        found.unwrap()
    };
    instance.index();
    // A folder that was touched a moment ago would be looked into anyway.
    std::thread::sleep(std::time::Duration::from_millis(100));
    instance.index();
    assert_eq!(chat(&instance)["turns"], 1);
    let at = 1_774_699_999_000_i64;
    let said =
        format!("insert into message values ('n1', 'chat1', 'user', 'More?', null, null, null, null, {at})");
    connection
        .execute_batch(&format!("{said}; update chat set lastReplyAt = {at} where id = 'chat1'"))
        .unwrap();
    assert_eq!(chat(&instance)["turns"], 2);
}

/// A fork repeats what is known, results of calls included: repeating is neither news nor a loss.
#[test]
fn a_fork_that_was_just_begun_is_read_without_loss() {
    let mut history = History::new(8);
    let instance = Instance::new(history.home.path());
    instance.index();
    history.fork(1);
    let word = history.needles.last().unwrap();
    let told = instance.run(&format!("search {word} -o json")).expect(0).records().remove(0);
    assert_eq!((told["results"].as_array().unwrap().len(), told["partial"].as_bool()), (1, None));
}

/// A search of what is known, with a line or two that is not, leaves the disk alone.
#[test]
#[ignore = "needs strace: see CONTRIBUTING.md"]
fn a_search_waits_for_no_disk() {
    let traced = "trace=fsync,fdatasync,sync_file_range,syncfs,msync,sync";
    testutil::needs::strace(traced);
    let mut history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    let word = history.grow(3);
    let log = instance.cache.join("trace");
    let searched = instance.command(&["search", &word, "-o", "json"]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", traced, "-e", "signal=none", "-o"]).arg(&log);
    command.arg(searched.get_program()).args(searched.get_args()).env_clear();
    command.envs(searched.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let found = run_command(command).expect(0);
    assert!(found.text().contains(&word));
    assert_eq!(fs::read_to_string(&log).unwrap(), "", "a search synced");
    // The same eyes see an index run sync: they are not closed.
    let word = history.grow(4);
    let indexed = instance.command(&["index"]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", traced, "-e", "signal=none", "-o"]).arg(&log);
    command.arg(indexed.get_program()).args(indexed.get_args()).env_clear();
    command.envs(indexed.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run_command(command).expect(0);
    assert!(fs::read_to_string(&log).unwrap().contains("sync"), "{word}");
}

#[test]
fn without_the_cache_nothing_is_lost_but_time() {
    let history = History::new(16);
    let instance = Instance::new(history.home.path());
    instance.index();
    let searches = history.searches();
    let before = answers(&instance, VIEWS, &searches);
    fs::remove_dir_all(&instance.cache).unwrap();
    assert_same("the cache is gone", &before, &answers(&instance, VIEWS, &searches));
    fs::remove_dir_all(instance.cache.join("loci/search")).unwrap();
    assert_same("the text index is gone", &before, &answers(&instance, VIEWS, &searches));
    fs::remove_file(instance.catalogue()).unwrap();
    assert_same("the catalogue is gone", &before, &answers(&instance, VIEWS, &searches));
}

/// Everything that is shown of one conversation, but for remarks on lines that were damaged: those are not kept.
fn shown(instance: &Instance, id: &str) -> String {
    let ended = instance.run(&format!("show {id} -o json"));
    assert!(matches!(ended.code, Some(0 | 3)), "show {id}: {:?} {}", ended.code, ended.stderr);
    let told = ended.records().remove(0);
    assert!(!told["messages"].as_array().unwrap().is_empty(), "{id}");
    format!("{}\n{}", told["chat"], told["messages"])
}

fn delete_histories(home: &Home) {
    for folder in [".claude", ".codex", ".gemini", ".config/app.chatwise"] {
        let _ = fs::remove_dir_all(home.path().join(folder));
    }
}

#[test]
fn what_agents_have_deleted_is_answered_from_the_archive() {
    let history = History::new(16);
    let instance = Instance::new(history.home.path());
    instance.index();
    let searches = history.searches();
    let ids: Vec<String> = instance.run("sessions -o json --limit 1000").expect(0).records()[0]["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["chatId"].as_str().unwrap().to_string())
        .collect();
    assert!(ids.len() > 20);
    let ask = |instance: &Instance| {
        let mut all = vec![listed(instance), viewed(instance, "query messages --all-projects")];
        all.push(viewed(instance, "query tools --all-projects"));
        all.extend(searches.iter().map(|words| searched(instance, words)));
        all.extend(ids.iter().step_by(3).map(|id| (format!("show {id}"), None, shown(instance, id))));
        all
    };
    let ask = |instance: &Instance| but_for_resuming(ask(instance));
    let before = ask(&instance);
    delete_histories(&history.home);
    assert_same("deleted, with the index", &before, &ask(&instance));
    instance.index();
    assert_same("deleted, and indexed", &before, &ask(&instance));
    fs::remove_dir_all(&instance.cache).unwrap();
    assert_same("deleted, and the cache too", &before, &ask(&instance));
}

/// What is gone cannot be resumed, and is said to be kept; nothing else changes.
fn but_for_resuming(all: Vec<Answer>) -> Vec<Answer> {
    fn strip(value: &mut serde_json::Value) {
        if let Some(map) = value.as_object_mut() {
            map.retain(|key, _| key != "resume" && key != "archived");
            map.values_mut().for_each(strip);
        } else if let Some(items) = value.as_array_mut() {
            items.iter_mut().for_each(strip);
        }
    }
    let line = |line: &str| {
        let mut value = serde_json::from_str(line).unwrap();
        strip(&mut value);
        value.to_string()
    };
    let stripped = |text: String| text.lines().map(line).collect::<Vec<_>>().join("\n");
    all.into_iter().map(|(asked, code, text)| (asked, code, stripped(text))).collect()
}

/// A deleted transcript that comes back is itself again, once.
#[test]
fn a_transcript_that_comes_back_is_told_once() {
    let home = sample_home();
    let instance = Instance::new(home.path());
    instance.index();
    let path = files(&home.path().join(".codex")).remove(0);
    let bytes = fs::read(&path).unwrap();
    let before = answers(&instance, VIEWS, &["list the files".to_string()]);
    fs::remove_file(&path).unwrap();
    instance.index();
    let deleted = but_for_resuming(answers(&instance, VIEWS, &["list the files".to_string()]));
    assert_same("deleted", &but_for_resuming(before.clone()), &deleted);
    write_file(&path, &bytes);
    assert_same("back", &before, &answers(&instance, VIEWS, &["list the files".to_string()]));
    instance.index();
    assert_same("back, indexed", &before, &answers(&instance, VIEWS, &["list the files".to_string()]));
    append(&path, b"{\"timestamp\":\"2026-03-04T10:00:00Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"quzzzzox\",\"kind\":\"plain\"}}\n");
    assert_eq!(instance.finds(&needle(9999)).len(), 1);
}
