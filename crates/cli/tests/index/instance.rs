//! A instance to work at: a home with histories in it, and directories of Loci's own, which can be thrown away, copied or
//! laid out anew. Two instances over one home must give the same answers.

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
    _own: TempDir,
}

impl Instance {
    /// Nothing kept, nothing derived.
    pub(crate) fn new(home: &Path) -> Instance {
        let own = TempDir::new().unwrap();
        let (data, cache) = (own.path().join("data"), own.path().join("cache"));
        fs::create_dir(&data).unwrap();
        fs::create_dir(&cache).unwrap();
        Instance { home: home.to_path_buf(), data, cache, _own: own }
    }

    /// What is kept is the same, what is derived is not there.
    pub(crate) fn with_empty_cache(&self) -> Instance {
        Instance { data: self.data.clone(), ..Instance::new(&self.home) }
    }

    /// A copy of everything, to do damage to.
    pub(crate) fn copied(&self) -> Instance {
        let copy = Instance::new(&self.home);
        copy_all(&self.data, &copy.data);
        copy_all(&self.cache, &copy.cache);
        copy
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = testutil::command(&self.home, args);
        command.env("XDG_DATA_HOME", &self.data).env("XDG_CACHE_HOME", &self.cache);
        command.env("XDG_CONFIG_HOME", self.home.join(".config"));
        command
    }

    /// A command line as a person types it, the program's name left out.
    pub(crate) fn run(&self, line: &str) -> Finished {
        let words = testutil::split_words(line);
        testutil::run_command(self.command(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    #[track_caller]
    pub(crate) fn index(&self) -> Value {
        self.run("index -o json").expect(0).records().remove(0)
    }

    pub(crate) fn catalogue(&self) -> PathBuf {
        self.cache.join("loci/catalogue.db")
    }

    /// The folder of the text index.
    pub(crate) fn words(&self) -> PathBuf {
        self.cache.join("loci/search")
    }

    /// Which conversations a search finds, by their ids, with the passages that are shown of each.
    #[track_caller]
    pub(crate) fn search(&self, words: &str) -> Vec<(String, Vec<String>)> {
        let ended = self.run(&format!("search {words} -o json"));
        assert!(matches!(ended.code, Some(0 | 2)), "search {words}: {:?} {}", ended.code, ended.stderr);
        let ended = Finished { code: Some(0), ..ended }.expect(0);
        found(&ended.records()[0])
    }

    /// The ids alone.
    #[track_caller]
    pub(crate) fn finds(&self, words: &str) -> Vec<String> {
        self.search(words).into_iter().map(|(id, _)| id).collect()
    }

    /// The names of everything that is kept.
    pub(crate) fn archived(&self) -> Vec<String> {
        let root = self.data.join("loci/archive");
        let mut names: Vec<String> = files(&root)
            .into_iter()
            .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn found(answer: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let one = |chat: &Value| {
        let snippets = chat["snippets"].as_array().unwrap();
        (text(&chat["chatId"]), snippets.iter().map(|s| text(&s["text"])).collect())
    };
    answer["results"].as_array().unwrap().iter().map(one).collect()
}

/// Every regular file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all.extend(files(&entry.path()));
        } else if kind.is_file() {
            all.push(entry.path());
        }
    }
    all.sort();
    all
}

fn copy_all(from: &Path, to: &Path) {
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&path, &target).unwrap();
    }
}

// ---- what two instances are compared by

/// Every question over the history, in a shape or two.
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

/// One question, with the bytes of its answer and its exit code.
pub(crate) type Answer = (String, Option<i32>, String);

/// What a question over records gives.
pub(crate) fn viewed(instance: &Instance, line: &str) -> Answer {
    let ended = instance.run(line);
    assert!(matches!(ended.code, Some(0 | 2 | 3)), "{line}: {:?} {}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    (line.to_string(), ended.code, ended.text().to_string())
}

/// What a search gives, but for what depends on the order in which the index heard of it.
pub(crate) fn searched(instance: &Instance, words: &str) -> Answer {
    let line = format!("search {words} -o json --limit-chats 50 --limit-snippets-per-chat 20");
    let ended = instance.run(&line);
    assert!(matches!(ended.code, Some(0 | 2)), "{line}: {:?} {}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    let mut told = ended.records().remove(0);
    let mut chats = told["results"].take();
    for chat in chats.as_array_mut().unwrap() {
        let snippets = chat["snippets"].as_array_mut().unwrap();
        snippets.sort_by_key(Value::to_string);
    }
    chats.as_array_mut().unwrap().sort_by_key(Value::to_string);
    let lines: Vec<String> = chats.as_array().unwrap().iter().map(Value::to_string).collect();
    (line, ended.code, lines.join("\n"))
}

/// The list of conversations, without the moment it was made.
pub(crate) fn listed(instance: &Instance) -> Answer {
    let line = "sessions -o json --limit 1000";
    let ended = instance.run(line);
    assert!(matches!(ended.code, Some(0 | 2)), "{line}: {:?} {}", ended.code, ended.stderr);
    let told = ended.records().remove(0);
    let lines: Vec<String> = told["sessions"].as_array().unwrap().iter().map(Value::to_string).collect();
    (line.to_string(), ended.code, lines.join("\n"))
}

/// Everything two instances over the same history must agree on.
pub(crate) fn answers(instance: &Instance, views: &[&str], searches: &[String]) -> Vec<Answer> {
    let mut all = vec![listed(instance)];
    all.extend(searches.iter().map(|words| searched(instance, words)));
    all.extend(views.iter().map(|line| viewed(instance, line)));
    all
}

/// Says where two instances part, and in which line.
#[track_caller]
pub(crate) fn assert_same(about: &str, one: &[Answer], other: &[Answer]) {
    assert_eq!(one.len(), other.len());
    for ((line, code, text), (_, other_code, other_text)) in one.iter().zip(other) {
        if (code, text) == (other_code, other_text) {
            continue;
        }
        let (a, b): (Vec<&str>, Vec<&str>) = (text.lines().collect(), other_text.lines().collect());
        let at = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
        let here =
            |lines: &[&str]| lines.get(at).map_or("(nothing)".to_string(), |l| l.chars().take(900).collect());
        panic!(
            "{about}: `{line}` differs (exit {code:?} and {other_code:?}, {} and {} lines), first in line {}:\n{}\n---\n{}",
            a.len(),
            b.len(),
            at + 1,
            here(&a),
            here(&b)
        );
    }
}
