//! New lines are found at once and without syncing to disk; a deleted cache is rebuilt; transcripts that their agent
//! deleted stay available.

use crate::history::{History, append, needle};
use crate::instance::{
    Instance, Response, VIEWS, assert_same, collect_responses, list_files, list_sessions, run_search,
    run_view,
};
use std::fs;
use std::process::Command;
use testutil::{Home, run_command, sample_home, write_file};

#[test]
fn a_line_that_was_just_written_is_found_without_indexing() {
    let mut history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    for n in 0..12 {
        let word = history.grow_session(n);
        assert_eq!(instance.search_ids(&word).len(), 1, "{word}");
    }
}

/// A forgotten session stays forgotten when it grows, regardless of which command reads the new lines first.
#[test]
fn lines_added_to_a_forgotten_session_are_ignored() {
    let mut history = History::new(8);
    let instance = Instance::new(history.home.path());
    instance.index();
    let id = history.growing[2].session.id.clone();
    instance.run(&format!("forget {id} --yes")).expect(0);
    let is_listed =
        |instance: &Instance| instance.run("sessions -o json --limit 1000").expect(0).text().contains(&id);
    for _ in 0..2 {
        let (forgotten, known) = (history.grow_session(2), history.grow_session(3));
        assert_eq!(instance.search_ids(&forgotten), [""; 0]);
        // Other sessions that grow at the same time are found.
        assert_eq!(instance.search_ids(&known).len(), 1);
        assert!(!is_listed(&instance));
        instance.run("index --rebuild").expect(0);
    }
    // The same holds with only the transcripts and the tombstone.
    let word = history.grow_session(2);
    assert_eq!(instance.with_empty_cache().search_ids(&word), [""; 0]);
    for path in list_files(&instance.cache).into_iter().chain(list_files(&instance.data)) {
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(word.len()).any(|w| w == word.as_bytes()), "{}", path.display());
    }
}

/// `forget` was interrupted right after it wrote the tombstone: the next command of any kind completes it.
#[test]
fn an_interrupted_forget_is_completed() {
    let history = History::new(8);
    let whole = Instance::new(history.home.path());
    whole.index();
    let id = history.growing[3].session.id.clone();
    let word = history.needles.iter().find(|needle| whole.search_ids(needle) == [id.clone()]).unwrap();
    for line in
        [format!("search {word} -o json"), "sessions -o json --limit 1000".into(), "index -o json".into()]
    {
        let instance = whole.duplicate();
        write_file(&instance.data.join("loci/forgotten"), format!("claude-code\t{id}\n").as_bytes());
        let response = instance.run(&line);
        assert!(
            !response.text().contains(&id) && !response.text().contains(&format!("the {word}")),
            "{}",
            response.text()
        );
        assert_eq!(instance.search_ids(word), [""; 0]);
        assert_eq!(instance.archived_copies().len() + 1, whole.archived_copies().len());
        for path in list_files(&instance.cache).into_iter().chain(list_files(&instance.data)) {
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(word.len()).any(|w| w == word.as_bytes()), "{line}: {}", path.display());
        }
    }
}

/// SQLite appends to the write-ahead log, which does not change the folder's modification time.
#[test]
fn a_session_that_continues_in_a_database_is_listed_with_its_new_turn() {
    let history = History::new(4);
    let instance = Instance::new(history.home.path());
    let path = history.home.path().join(".config/app.chatwise/app.db");
    let connection = db::Connection::open(&path).unwrap();
    connection.execute_batch("pragma journal_mode = wal; update chat set title = title").unwrap();
    let chat = |instance: &Instance| {
        let response = instance.run("sessions -o json --source chatwise").expect(0).records().remove(0);
        let found = response["sessions"].as_array().unwrap().iter().find(|s| s["chatId"] == "chat1").cloned();
        found.unwrap()
    };
    instance.index();
    // A recently modified folder would be scanned anyway.
    std::thread::sleep(std::time::Duration::from_millis(100));
    instance.index();
    assert_eq!(chat(&instance)["turns"], 1);
    let at = 1_774_699_999_000_i64;
    let insert =
        format!("insert into message values ('n1', 'chat1', 'user', 'More?', null, null, null, null, {at})");
    connection
        .execute_batch(&format!("{insert}; update chat set lastReplyAt = {at} where id = 'chat1'"))
        .unwrap();
    assert_eq!(chat(&instance)["turns"], 2);
}

/// A fork repeats known events, including call results: a repeated event is neither new nor missing.
#[test]
fn an_unindexed_fork_does_not_make_results_partial() {
    let mut history = History::new(8);
    let instance = Instance::new(history.home.path());
    instance.index();
    history.add_fork(1);
    let word = history.needles.last().unwrap();
    let response = instance.run(&format!("search {word} -o json")).expect(0).records().remove(0);
    assert_eq!((response["results"].as_array().unwrap().len(), response["partial"].as_bool()), (1, None));
}

/// Searching an index with a few unindexed lines does not call `fsync` or its relatives.
#[test]
#[ignore = "needs strace: see CONTRIBUTING.md"]
fn a_search_does_not_sync_to_disk() {
    let sync_calls = "trace=fsync,fdatasync,sync_file_range,syncfs,msync,sync";
    testutil::needs::strace(sync_calls);
    let mut history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    let word = history.grow_session(3);
    let log = instance.cache.join("trace");
    let search = instance.command(&["search", &word, "-o", "json"]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", sync_calls, "-e", "signal=none", "-o"]).arg(&log);
    command.arg(search.get_program()).args(search.get_args()).env_clear();
    command.envs(search.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let found = run_command(command).expect(0);
    assert!(found.text().contains(&word));
    assert_eq!(fs::read_to_string(&log).unwrap(), "", "a search synced");
    // Control: the same trace shows that an index run syncs.
    let word = history.grow_session(4);
    let index = instance.command(&["index"]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", sync_calls, "-e", "signal=none", "-o"]).arg(&log);
    command.arg(index.get_program()).args(index.get_args()).env_clear();
    command.envs(index.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run_command(command).expect(0);
    assert!(fs::read_to_string(&log).unwrap().contains("sync"), "{word}");
}

#[test]
fn a_deleted_cache_is_rebuilt_with_the_same_responses() {
    let history = History::new(16);
    let instance = Instance::new(history.home.path());
    instance.index();
    let searches = history.search_terms();
    let before = collect_responses(&instance, VIEWS, &searches);
    fs::remove_dir_all(&instance.cache).unwrap();
    assert_same("the cache is gone", &before, &collect_responses(&instance, VIEWS, &searches));
    fs::remove_dir_all(instance.cache.join("loci/search")).unwrap();
    assert_same("the text index is gone", &before, &collect_responses(&instance, VIEWS, &searches));
    fs::remove_file(instance.catalogue()).unwrap();
    assert_same("the catalogue is gone", &before, &collect_responses(&instance, VIEWS, &searches));
}

/// The output of `show` without the notes on damaged lines, which are not archived.
fn show_session(instance: &Instance, id: &str) -> String {
    let ended = instance.run(&format!("show {id} -o json"));
    assert!(matches!(ended.code, Some(0 | 3)), "show {id}: {:?} {}", ended.code, ended.stderr);
    let response = ended.records().remove(0);
    assert!(!response["messages"].as_array().unwrap().is_empty(), "{id}");
    format!("{}\n{}", response["chat"], response["messages"])
}

fn delete_histories(home: &Home) {
    for folder in [".claude", ".codex", ".gemini", ".config/app.chatwise"] {
        let _ = fs::remove_dir_all(home.path().join(folder));
    }
}

#[test]
fn deleted_transcripts_are_read_from_the_archive() {
    let history = History::new(16);
    let instance = Instance::new(history.home.path());
    instance.index();
    let searches = history.search_terms();
    let ids: Vec<String> = instance.run("sessions -o json --limit 1000").expect(0).records()[0]["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["chatId"].as_str().unwrap().to_string())
        .collect();
    assert!(ids.len() > 20);
    let collect = |instance: &Instance| {
        let mut all = vec![list_sessions(instance), run_view(instance, "query messages --all-projects")];
        all.push(run_view(instance, "query tools --all-projects"));
        all.extend(searches.iter().map(|words| run_search(instance, words)));
        all.extend(ids.iter().step_by(3).map(|id| (format!("show {id}"), None, show_session(instance, id))));
        all
    };
    let collect = |instance: &Instance| without_resume_fields(collect(instance));
    let before = collect(&instance);
    delete_histories(&history.home);
    assert_same("deleted, with the index", &before, &collect(&instance));
    instance.index();
    assert_same("deleted, and indexed", &before, &collect(&instance));
    fs::remove_dir_all(&instance.cache).unwrap();
    assert_same("deleted, and the cache too", &before, &collect(&instance));
}

/// A deleted session cannot be resumed and is marked as archived; nothing else differs.
fn without_resume_fields(all: Vec<Response>) -> Vec<Response> {
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
    all.into_iter().map(|(command, code, text)| (command, code, stripped(text))).collect()
}

/// A transcript that was deleted and restored gives the same responses as before.
#[test]
fn a_restored_transcript_is_listed_once() {
    let home = sample_home();
    let instance = Instance::new(home.path());
    instance.index_damaged();
    let path = list_files(&home.path().join(".codex")).remove(0);
    let bytes = fs::read(&path).unwrap();
    let before = collect_responses(&instance, VIEWS, &["list the files".to_string()]);
    fs::remove_file(&path).unwrap();
    instance.index_damaged();
    let deleted = without_resume_fields(collect_responses(&instance, VIEWS, &["list the files".to_string()]));
    assert_same("deleted", &without_resume_fields(before.clone()), &deleted);
    write_file(&path, &bytes);
    assert_same("back", &before, &collect_responses(&instance, VIEWS, &["list the files".to_string()]));
    instance.index_damaged();
    assert_same(
        "back, indexed",
        &before,
        &collect_responses(&instance, VIEWS, &["list the files".to_string()]),
    );
    append(&path, b"{\"timestamp\":\"2026-03-04T10:00:00Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"quzzzzox\",\"kind\":\"plain\"}}\n");
    assert_eq!(instance.search_ids(&needle(9999)).len(), 1);
}
