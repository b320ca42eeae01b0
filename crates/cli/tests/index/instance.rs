//! An isolated Loci instance: a home with transcripts, and data and cache directories that can be deleted, copied or
//! recreated. Two instances over one home must return the same responses.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use testutil::Finished;

pub(crate) struct Instance {
    pub(crate) home: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) cache: PathBuf,
    _temp_dir: TempDir,
}

impl Instance {
    /// An instance with empty data and cache directories.
    pub(crate) fn new(home: &Path) -> Instance {
        let temp_dir = TempDir::new().unwrap();
        let (data, cache) = (temp_dir.path().join("data"), temp_dir.path().join("cache"));
        fs::create_dir(&data).unwrap();
        fs::create_dir(&cache).unwrap();
        Instance { home: home.to_path_buf(), data, cache, _temp_dir: temp_dir }
    }

    /// The same data directory with an empty cache.
    pub(crate) fn with_empty_cache(&self) -> Instance {
        Instance { data: self.data.clone(), ..Instance::new(&self.home) }
    }

    /// A copy of both directories, which a test may damage.
    pub(crate) fn duplicate(&self) -> Instance {
        let copy = Instance::new(&self.home);
        copy_files(&self.data, &copy.data);
        copy_files(&self.cache, &copy.cache);
        copy
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = testutil::command(&self.home, args);
        command.env("XDG_DATA_HOME", &self.data).env("XDG_CACHE_HOME", &self.cache);
        command.env("XDG_CONFIG_HOME", self.home.join(".config"));
        command
    }

    /// Runs a command line, given without the program name.
    pub(crate) fn run(&self, line: &str) -> Finished {
        let words = testutil::split_words(line);
        testutil::run_command(self.command(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    #[track_caller]
    pub(crate) fn index(&self) -> Value {
        self.run("index -o json").expect(0).records().remove(0)
    }

    /// The same where transcripts may have damaged lines: they are counted.
    #[track_caller]
    pub(crate) fn index_damaged(&self) -> Value {
        let ended = self.run("index -o json");
        let done = ended.records().remove(0);
        assert_eq!(ended.code, Some(if done["problems"] == 0 { 0 } else { 3 }), "{done} {}", ended.stderr);
        assert_eq!(ended.stderr, "", "a loss");
        done
    }

    /// The same where transcripts have lost entries: they are named, until that is dismissed.
    #[track_caller]
    pub(crate) fn index_shortened(&self) -> Value {
        let done = self.run("index -o json").expect(3).records().remove(0);
        assert!(done["notes"].to_string().contains("shortened: "), "{done}");
        self.dismiss("shortened");
        done
    }

    pub(crate) fn dismiss(&self, kind: &str) {
        // Exit code 1 is that of other findings.
        self.run(&format!("doctor --dismiss {kind}"));
    }

    /// The folder of catalogue and text index: a rebuild creates another one.
    fn stores(&self) -> PathBuf {
        let cache = self.cache.join("loci");
        fs::read_link(cache.join("current")).map_or_else(|_| cache.clone(), |name| cache.join(name))
    }

    pub(crate) fn catalogue(&self) -> PathBuf {
        self.stores().join("catalogue.db")
    }

    /// The folder of the text index.
    pub(crate) fn text_index(&self) -> PathBuf {
        self.stores().join("search")
    }

    /// The IDs of the sessions that a search finds, each with its snippets.
    #[track_caller]
    pub(crate) fn search(&self, words: &str) -> Vec<(String, Vec<String>)> {
        let ended = self.run(&format!("search {} -o json", quote_word(words)));
        assert!(matches!(ended.code, Some(0 | 2 | 3)), "search {words}: {:?} {}", ended.code, ended.stderr);
        let ended = Finished { code: Some(0), ..ended }.expect(0);
        search_hits(&ended.records()[0])
    }

    /// The IDs of the sessions that a search finds.
    #[track_caller]
    pub(crate) fn search_ids(&self, words: &str) -> Vec<String> {
        self.search(words).into_iter().map(|(id, _)| id).collect()
    }

    /// The names of all archived copies: files, and rows of the database of small ones.
    pub(crate) fn archived_copies(&self) -> Vec<String> {
        let files = list_files(&self.data.join("loci/archive")).into_iter();
        let copies = files.filter(|path| path.extension().is_some_and(|ending| ending == "loci"));
        let mut names: Vec<String> =
            copies.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        let database = self.small_copies();
        let mut rows = database.prepare("select lower(hex(name)) from copies").unwrap();
        names.extend(rows.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
        names.sort();
        names
    }

    /// Removes a small archived copy, as if it had never been written.
    pub(crate) fn remove_small_copy(&self, name: &str) {
        let sql = "delete from copies where lower(hex(name)) = ?1";
        assert_eq!(self.small_copies().execute(sql, [name]).unwrap(), 1);
        let sql = "update meta set value = value + 1 where name = 'revision'";
        self.small_copies().execute(sql, []).unwrap();
    }

    /// The database of small archived copies.
    pub(crate) fn small_copies(&self) -> db::Connection {
        db::Connection::open(self.data.join("loci/archive/packed.db")).unwrap()
    }
}

/// The session IDs of a search response, each with its snippets.
pub(crate) fn search_hits(response: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let hit = |chat: &Value| {
        let snippets = chat["snippets"].as_array().unwrap();
        (text(&chat["chatId"]), snippets.iter().map(|s| text(&s["text"])).collect())
    };
    response["results"].as_array().unwrap().iter().map(hit).collect()
}

/// Every regular file below a folder.
pub(crate) fn list_files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all.extend(list_files(&entry.path()));
        } else if kind.is_file() {
            all.push(entry.path());
        }
    }
    all.sort();
    all
}

fn copy_files(from: &Path, to: &Path) {
    for path in list_files(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&path, &target).unwrap();
    }
}

// ---- comparing two instances

/// Every view over the history, some with several parameter sets.
pub(crate) const VIEWS: &[&str] = &[
    "query tools --all-projects",
    "query errors --all-projects",
    "query messages --all-projects",
    "query user-messages --all-projects",
    "query assistant-messages --all-projects",
    "query sessions --all-projects",
    "query turns --all-projects",
    "query context --all-projects",
    "query file-access --all-projects --file main.rs",
    "query files --all-projects",
    "analyze sequences --all-projects --min-count 1",
    "analyze errors --all-projects",
    "analyze file-churn --all-projects --min-count 1",
    "analyze idle --all-projects",
    "stats --all-projects",
    "stats --all-projects --by session",
    "usage --all-projects",
    "usage --all-projects --explain",
];

/// A command line with its exit code and its output.
pub(crate) type Response = (String, Option<i32>, String);

/// The response of a view.
pub(crate) fn run_view(instance: &Instance, line: &str) -> Response {
    let ended = instance.run(line);
    assert!(matches!(ended.code, Some(0 | 2 | 3)), "{line}: {:?} {}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    (line.to_string(), ended.code, ended.text().to_string())
}

/// The made-up words differ by a letter, and a word that is not found is tried in other spellings unless it is quoted.
fn quote_word(words: &str) -> String {
    if words.contains(' ') { words.to_string() } else { format!("'\"{words}\"'") }
}

/// The response of a search, sorted, because its order depends on the order of indexing.
pub(crate) fn run_search(instance: &Instance, words: &str) -> Response {
    let quoted = quote_word(words);
    let line = format!("search {quoted} -o json --limit-chats 50 --limit-snippets-per-chat 20");
    let ended = instance.run(&line);
    assert!(matches!(ended.code, Some(0 | 2 | 3)), "{line}: {:?} {}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    let mut response = ended.records().remove(0);
    let mut chats = response["results"].take();
    for chat in chats.as_array_mut().unwrap() {
        let snippets = chat["snippets"].as_array_mut().unwrap();
        snippets.sort_by_key(Value::to_string);
    }
    chats.as_array_mut().unwrap().sort_by_key(Value::to_string);
    let lines: Vec<String> = chats.as_array().unwrap().iter().map(Value::to_string).collect();
    (line, ended.code, lines.join("\n"))
}

/// The list of sessions, without the time of the listing.
pub(crate) fn list_sessions(instance: &Instance) -> Response {
    let line = "sessions -o json --limit 1000";
    let ended = instance.run(line);
    assert!(matches!(ended.code, Some(0 | 2 | 3)), "{line}: {:?} {}", ended.code, ended.stderr);
    let response = ended.records().remove(0);
    let lines: Vec<String> = response["sessions"].as_array().unwrap().iter().map(Value::to_string).collect();
    (line.to_string(), ended.code, lines.join("\n"))
}

/// All responses that two instances over the same history must agree on.
pub(crate) fn collect_responses(instance: &Instance, views: &[&str], searches: &[String]) -> Vec<Response> {
    let mut all = vec![list_sessions(instance)];
    all.extend(searches.iter().map(|words| run_search(instance, words)));
    all.extend(views.iter().map(|line| run_view(instance, line)));
    all
}

/// Compares the responses of two instances and reports the first line that differs.
#[track_caller]
pub(crate) fn assert_same(label: &str, one: &[Response], other: &[Response]) {
    assert_eq!(one.len(), other.len());
    for ((line, code, text), (_, other_code, other_text)) in one.iter().zip(other) {
        if (code, text) == (other_code, other_text) {
            continue;
        }
        let (a, b): (Vec<&str>, Vec<&str>) = (text.lines().collect(), other_text.lines().collect());
        let at = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
        let differing_line =
            |lines: &[&str]| lines.get(at).map_or("(nothing)".to_string(), |l| l.chars().take(900).collect());
        panic!(
            "{label}: `{line}` differs (exit {code:?} and {other_code:?}, {} and {} lines), first in line {}:\n{}\n---\n{}",
            a.len(),
            b.len(),
            at + 1,
            differing_line(&a),
            differing_line(&b)
        );
    }
}
