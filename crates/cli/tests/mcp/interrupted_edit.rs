//! An edit that was killed when half of its files were written: everything that reads names it and both ways out, and writes nothing.

use crate::raw_client::RawClient;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use testutil::{Home, run_line, write_file};

const FILES: [(&str, &str); 3] = [
    ("pkg/a.py", "def get():\n    return 1\n"),
    ("pkg/b.py", "from pkg.a import get\n\ndef use():\n    return get()\n"),
    ("pkg/c.py", "from pkg.a import get\n\ndef more():\n    return get()\n"),
];

/// A home with a repository in which renaming `get` ended after the first file, as a kill between two renames leaves it.
struct HalfRenamed {
    home: Home,
    id: String,
}

impl HalfRenamed {
    fn new() -> HalfRenamed {
        let home = Home::new();
        for (path, text) in FILES {
            write_file(&home.path().join("work").join(path), text.as_bytes());
        }
        write_file(&home.path().join("work/pkg/__init__.py"), b"");
        let git = std::process::Command::new("git")
            .args(["init", "-q", "work"])
            .current_dir(home.path())
            .status()
            .unwrap();
        assert!(git.success());
        let plan = run_line(&home, "edit rename get fetch --root work -o json").expect(0).records().remove(0);
        assert!(plan["complete"] == true && plan["files"].as_array().unwrap().len() == 3, "{plan}");
        let half = HalfRenamed { id: plan["id"].as_str().unwrap().to_owned(), home };
        half.run(&format!("edit apply {}", half.id), 0);
        half.take_back(&["pkg/b.py", "pkg/c.py"]);
        half
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn run(&self, line: &str, code: i32) -> String {
        let ran = run_line(&self.home, &format!("{line} --root work")).expect(code);
        format!("{}{}", ran.text(), ran.stderr)
    }

    /// Brings files to where they are before their rename: staged, and named by the journal.
    fn take_back(&self, paths: &[&str]) {
        let edits = self.home.path().join(".local/state/loci/edits");
        let folder = fs::read_dir(edits).unwrap().next().unwrap().unwrap().path();
        let journal = folder.join(format!("{}.json", self.id));
        let mut entry: Value = serde_json::from_slice(&fs::read(&journal).unwrap()).unwrap();
        entry["state"] = json!("applying");
        for file in entry["files"].as_array().unwrap() {
            let path = file["path"].as_str().unwrap();
            if paths.contains(&path) {
                let staged = Path::new(file["staged"].as_str().unwrap()).to_owned();
                assert!(staged.starts_with(self.root().canonicalize().unwrap().join(".git")), "{staged:?}");
                fs::create_dir_all(staged.parent().unwrap()).unwrap();
                fs::rename(self.root().join(path), staged).unwrap();
                let before = FILES.iter().find(|(name, _)| *name == path).unwrap().1;
                fs::write(self.root().join(path), before).unwrap();
            }
        }
        fs::write(&journal, entry.to_string()).unwrap();
        let running = json!({"id": self.id, "root": self.root().canonicalize().unwrap()});
        fs::write(folder.join("running"), running.to_string()).unwrap();
    }

    /// Every file of the tree, those of git too.
    fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut files, mut folders) = (BTreeMap::new(), vec![self.root()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    fn sources(&self) -> Vec<String> {
        FILES.iter().map(|(path, _)| fs::read_to_string(self.root().join(path)).unwrap()).collect()
    }
}

#[test]
fn reading_commands_name_an_interrupted_edit_and_leave_it() {
    let half = HalfRenamed::new();
    let before = half.snapshot();
    let (finish, roll_back) = (format!("loci edit apply {}", half.id), format!("loci edit undo {}", half.id));
    let message = format!("edit `{}` was interrupted: 1 of 3 files are written, 2 temporary files", half.id);
    let assert_named = |said: &str, line: &str| {
        for part in [&message, &finish, &roll_back] {
            assert!(said.contains(part.as_str()), "{line}: {part}: {said}");
        }
        assert_eq!(half.snapshot(), before, "{line}");
    };
    for line in ["edit list", "code status", "code outline use", "code map"] {
        assert_named(&half.run(&format!("{line} -o text"), 0), line);
        assert_named(&half.run(&format!("{line} -o json"), 0), line);
    }
    assert_named(&half.run(&format!("edit show {} -o text", half.id), 0), "edit show");
    assert_named(&half.run("edit rename use take", 1), "edit rename");
    assert_named(run_line(&half.home, "status -o text").expect(0).text(), "status");
    assert_named(run_line(&half.home, "doctor -o text").expect(1).text(), "doctor");
}

#[test]
fn an_interrupted_edit_is_finished_or_rolled_back_by_its_own_command() {
    let half = HalfRenamed::new();
    half.run(&format!("edit apply {}", half.id), 0);
    assert!(half.sources().iter().all(|text| text.contains("fetch") && !text.contains("get")));
    assert!(!half.root().join(".git/loci").exists());
    half.run(&format!("edit undo {}", half.id), 0);
    let half = HalfRenamed::new();
    half.run(&format!("edit undo {}", half.id), 0);
    assert_eq!(half.sources(), FILES.map(|(_, text)| text.to_owned()));
    assert!(!half.root().join(".git/loci").exists());
    assert!(!run_line(&half.home, "status -o text").expect(0).text().contains("interrupted"));
}

#[test]
fn a_file_that_changed_since_is_kept_and_named() {
    let half = HalfRenamed::new();
    fs::write(half.root().join("pkg/c.py"), "mine = 1\n").unwrap();
    let before = half.snapshot();
    let refused = half.run(&format!("edit apply {}", half.id), 1);
    assert!(refused.contains("changed since: pkg/c.py") && refused.contains("loci edit undo"), "{refused}");
    assert_eq!(half.snapshot(), before);
    let done = half.run(&format!("edit undo {} -o text", half.id), 0);
    assert!(done.contains("left as they are, because they have changed since:\n  pkg/c.py"), "{done}");
    assert_eq!(half.sources()[2], "mine = 1\n");
    assert_eq!(half.sources()[0], FILES[0].1);
}

/// Every tool that says of itself that it only reads.
#[test]
fn no_read_only_tool_writes_a_tree_with_an_interrupted_edit() {
    let half = HalfRenamed::new();
    let before = half.snapshot();
    let mut client = RawClient::initialized(
        half.home.path(),
        &["--toolsets", "chat,history,code,edit,agents,memory,core"],
    );
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let mut called = 0;
    for tool in tools.iter().filter(|tool| tool["annotations"]["readOnlyHint"] == true) {
        let name = tool["name"].as_str().unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let mut arguments = serde_json::Map::new();
        for (parameter, schema) in properties {
            let is_required =
                tool["inputSchema"]["required"].as_array().is_some_and(|all| all.contains(&json!(parameter)));
            let value = match parameter.as_str() {
                "root" => json!("work"),
                "id" => json!(half.id),
                "path" | "query" | "name" | "q" if is_required => json!("use"),
                _ if !is_required => continue,
                _ => match schema["type"].as_str() {
                    Some("array") => json!(["use"]),
                    Some("integer" | "number") => json!(1),
                    Some("boolean") => json!(true),
                    _ => json!("use"),
                },
            };
            arguments.insert(parameter.clone(), value);
        }
        let answer = client.call_tool(name, Value::Object(arguments)).to_string();
        assert_eq!(half.snapshot(), before, "{name}");
        if ["list_edits", "show_edit", "code_status"].contains(&name) {
            assert!(answer.contains("was interrupted"), "{name}: {answer}");
        }
        called += 1;
    }
    assert!(called > 20, "{called} tools");
}
