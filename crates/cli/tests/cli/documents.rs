//! Every command in the README and the guides is run, on a made-up history; where a document shows output, it is compared. In
//! a document `…` stands for what varies: a part of a line, or as a line of its own any number of lines. Commands about code run in a
//! copy of the source tree that the document names last (`<!-- tree: docs/examples/memo -->`). An edit has another ID each time: the
//! one that is printed takes the place of the one that is shown.

use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use testutil::{Home, Rollout, Session, binary, set_environment, write_file};

/// Documents with commands, relative to the repository.
const FOLDERS: &[&str] = &[".", "docs", "docs/tutorials", "docs/guides", "docs/concepts"];

/// Commands that are not run, each with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("loci daemon ", "starts a process that outlives the test; the suite `daemon` runs it"),
    ("loci import FILE", "needs a file; `import` runs it"),
    ("loci agent add", "starts a real agent"),
    ("loci dispatch", "starts a real agent"),
    ("loci setup", "changes agents' files; the suite `agents` runs it"),
    ("loci resume the flaky", "starts a real agent"),
    ("loci mcp", "waits for messages"),
    ("loci ui", "needs a terminal; the suite `terminal` runs it"),
    ("loci show \"$(loci pick", "needs a terminal; the suite `terminal` runs it"),
    ("loci export \"$(loci pick", "needs a terminal; the suite `terminal` runs it"),
    ("loci shell-init fish | source", "needs fish; the suite `terminal` runs it"),
    (
        "loci edit rename Node.Title Heading --check",
        "needs the .NET SDK; the suite `edit_safety` runs made-up compilers, the examples of the crate `edits` real ones",
    ),
    ("loci sync", "needs two machines; `sync` and `team` follow the guides"),
    ("loci sessions --device work", "needs two machines; `sync` follows the guide"),
    ("loci memory accept FACT", "what another person has shared; `team` follows the guide"),
    ("loci search the walrus labels", "what another person has shared; `team` follows the guide"),
    ("loci code index --scip", "needs an indexer; `code_scip` runs a made-up one"),
    ("loci code notes", "needs a model; the suite `models` runs it"),
    ("loci about", "needs the repository that the page is about; `why` runs these"),
    ("loci handoff", "needs the session that the page is about; `why` runs these"),
    ("loci why Store.flush", "a made-up name that shows the form"),
    ("loci why src/store.rs", "a made-up name that shows the form"),
    ("loci why 1a2b3c4", "a made-up name that shows the form"),
];

/// The source tree of documents that name none.
const DEFAULT_TREE: &str = "docs/examples/memo";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command in a document, with the output that the document shows; empty if it shows none.
struct Block {
    place: String,
    command: String,
    output: Vec<String>,
    /// The source tree named last, and how many were named before it.
    tree: (usize, String),
}

fn blocks_of(name: &str, text: &str) -> Vec<Block> {
    let (mut found, mut in_console): (Vec<Block>, bool) = (Vec::new(), false);
    let mut tree = (0, DEFAULT_TREE.to_string());
    for (at, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", at + 1);
        if let Some(named) = line.strip_prefix("<!-- tree: ").and_then(|rest| rest.strip_suffix(" -->")) {
            tree = (tree.0 + 1, named.to_string());
        }
        if line.starts_with("```") {
            in_console = line == "```console";
            continue;
        }
        let indented = line.strip_prefix("    ").filter(|rest| rest.starts_with("loci ") && !in_console);
        match (line.strip_prefix("$ ").filter(|_| in_console), indented) {
            (Some(command), _) => {
                let (command, tree) = (command.to_string(), tree.clone());
                found.push(Block { place, command, output: Vec::new(), tree })
            }
            (None, Some(command)) => {
                let command = command.split("  #").next().unwrap_or(command).trim_end().to_string();
                found.push(Block { place, command, output: Vec::new(), tree: tree.clone() });
            }
            (None, None) if in_console => {
                if let Some(block) = found.last_mut() {
                    block.output.push(line.to_string());
                }
            }
            _ => {}
        }
    }
    found
}

fn all_blocks() -> Vec<Block> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let mut files: Vec<PathBuf> = std::fs::read_dir(repository().join(folder))
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
        files.retain(|path| !path.ends_with("CHANGELOG.md"));
        files.sort();
        for path in files {
            let name = format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
            found.extend(blocks_of(name.trim_start_matches("./"), &std::fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

/// The history that the documents are about.
fn demo_home() -> Home {
    let home = Home::new();
    let shop = "/home/dev/work/shop";
    let mut helper = Session::new("505e9438-b658-4593-90bc-b7ae879d6fe4", shop, "2026-11-14T22:58:00Z");
    helper.prompt("Please add a helper and test it.").reply(&["I will add a helper."]);
    helper.did("Write", json!({"file_path": "/home/dev/work/shop/src/main.rs", "content": "x"}), "written");
    for _ in 0..3 {
        helper.failed(
            "Bash",
            json!({"command": "pytest"}),
            "Exit code 3\nAssertionError: expected 42 got 41",
        );
    }
    helper.failed("Read", json!({"file_path": "/home/dev/work/shop/gone.py"}), "File does not exist.");
    let edit = json!({"file_path": "/home/dev/work/shop/src/main.rs", "old_string": "a", "new_string": "b"});
    helper.failed("Edit", edit, "String to replace not found in file.\nString: NOT THERE");
    helper.reply(&["The helper is there and tested."]);
    home.add(&helper);
    for (id, day, prompt, reply) in [
        (
            "7f3a0000",
            "2026-11-12",
            "why did we drop the retry in fetchUser?",
            "Because the socket retries by itself.",
        ),
        ("91bc0000", "2026-11-13", "the daemon loses its socket", "It is rebound now."),
        ("975e66ab", "2026-11-13", "make the parser faster", "It is twice as fast."),
    ] {
        let id = format!("{id}-0000-4000-8000-000000000001");
        home.add(Session::new(&id, shop, &format!("{day}T09:00:00Z")).prompt(prompt).reply(&[reply]));
    }
    let mut codex = Rollout::new("0199a213-81c0-7800-8aa1-bbab2a035a53", shop, "2026-11-14T20:30:00Z");
    codex.prompt("list the files").did("c1", "ls", 0).reply("Three files.");
    home.add_codex(&codex);
    write_file(&home.path().join("work/src/main.rs"), b"fn main() {}\n");
    home
}

/// The history of the README's source tree: one session that made `Put` write in batches.
fn home_of_tree() -> Home {
    let home = Home::new();
    let project = home.path().join("trees/README.md-0/project");
    let (id, project) = ("986afb8d-6242-401f-a8cf-93370607a2be", project.to_string_lossy());
    let mut session = Session::new(id, &project, "2026-11-12T09:00:00Z");
    session.prompt("Saving a note takes 40 ms because Put writes to disk. Write in batches of 100.");
    session.reply(&["I will count unsaved notes and flush when a batch is full."]);
    let old = "            items[node.Id] = node;\n        }\n";
    let new = "            items[node.Id] = node;\n            unsaved++;\n            if (unsaved >= BatchWriter.Size)\n            {\n                Flush();\n            }\n        }\n";
    let file = format!("{project}/src/Core/NodeStore.cs");
    session.did("Edit", json!({"file_path": file, "old_string": old, "new_string": new}), "updated");
    session.did("Bash", json!({"command": "dotnet test"}), "Passed: 12");
    session.reply(&["Put now flushes every 100 notes."]);
    home.add(&session);
    home
}

/// The directory in which a block's command runs: for commands about code, a copy of its tree under version control, made once.
fn working_folder(home: &Home, block: &Block) -> PathBuf {
    if !["loci code", "loci edit", "loci why"].iter().any(|start| block.command.contains(start)) {
        return home.path().join("work");
    }
    let document = block.place.split(':').next().unwrap_or_default().replace('/', "-");
    let folder = home.path().join(format!("trees/{document}-{}/project", block.tree.0));
    if !folder.exists() {
        std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
        let copied = Command::new("cp").arg("-r").arg(repository().join(&block.tree.1)).arg(&folder).status();
        assert!(copied.unwrap().success(), "{}: no tree {}", block.place, block.tree.1);
        let script =
            "git init -qb main && git add . && git -c user.name=a -c user.email=a@b commit -qm first";
        let (code, _, errors) = run(home, script, &folder);
        assert_eq!(code, 0, "{errors}");
    }
    folder
}

/// Runs a command as a shell does, as on a terminal of 100 columns where the document shows text.
fn run(home: &Home, command: &str, folder: &Path) -> (i32, String, String) {
    let programs = Path::new(binary()).parent().unwrap().display().to_string();
    let is_piped = command.contains('|') || command.contains("--json") || command.contains("--hybrid");
    let mut shell = Command::new(if is_piped { "sh" } else { "script" });
    if is_piped {
        shell.args(["-c", command]);
    } else {
        shell.args(["-qec", &format!("stty cols 100 rows 500; {command}"), "/dev/null"]);
    }
    set_environment(&mut shell, home.path());
    shell.env("PATH", format!("{programs}:/usr/bin:/bin")).env("LOCI_PAGER", "cat").env("NO_COLOR", "1");
    shell.env("TERM", "dumb").current_dir(folder).stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    (output.status.code().unwrap_or(-1), text, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The ID of the edit that an output says how to apply.
fn edit_id(output: &str) -> Option<String> {
    let (_, rest) = output.split_once("`loci edit apply ")?;
    rest.split('`').next().filter(|id| *id != "…").map(str::to_string)
}

fn renumber_edits(line: &str, edits: &[(String, String)]) -> String {
    edits.iter().fold(line.to_string(), |line, (shown, printed)| line.replace(shown, printed))
}

/// Whether printed lines are what a document shows.
fn is_shown(shown: &[String], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((line, rest)), _) if line.trim() == "…" => {
            (0..=printed.len()).any(|at| is_shown(rest, &printed[at..]))
        }
        (Some((line, rest)), Some((first, others))) => is_line_shown(line, first) && is_shown(rest, others),
        _ => false,
    }
}

fn is_line_shown(shown: &str, printed: &str) -> bool {
    let mut parts = shown.trim_end().split('…');
    let Some(mut rest) = printed.trim_end().strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn every_command_in_the_documents_works_and_prints_what_they_show() {
    let (home, of_tree) = (demo_home(), home_of_tree());
    std::fs::create_dir_all(home.path().join("work")).unwrap();
    run(&home, "loci memory consolidate --no-model", &home.path().join("work"));
    let (mut wrong, mut ran) = (Vec::new(), 0);
    let (mut edits, mut first_minute): (Vec<(String, String)>, _) = (Vec::new(), Duration::ZERO);
    for mut block in all_blocks() {
        if NOT_RUN.iter().any(|(start, _)| block.command.starts_with(start))
            || !block.command.contains("loci ")
        {
            continue;
        }
        ran += 1;
        block.command = renumber_edits(&block.command, &edits);
        let home = if block.command.starts_with("loci why") { &of_tree } else { &home };
        let folder = working_folder(home, &block);
        let started = Instant::now();
        let (code, text, errors) = run(home, &block.command, &folder);
        if block.place.starts_with("README") {
            first_minute += started.elapsed();
        }
        edits.extend(edit_id(&block.output.join("\n")).zip(edit_id(&text)));
        block.output = block.output.iter().map(|line| renumber_edits(line, &edits)).collect();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("loci: times in")).collect();
        if ![0, 2, 3].contains(&code) {
            wrong.push(format!("{}: {} ends with {code}\n{text}{errors}", block.place, block.command));
        } else if !block.output.is_empty() && !is_shown(&block.output, &lines) {
            let shown = block.output.join("\n");
            wrong
                .push(format!("{}: {}\n--- shown\n{shown}\n--- printed\n{text}", block.place, block.command));
        }
    }
    println!("{ran} commands of the documents were run, those of the README in {first_minute:.1?}");
    assert!(ran > 50, "only {ran} commands were found");
    assert!(wrong.is_empty(), "{} of {ran}:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn an_ellipsis_stands_for_what_varies() {
    let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<String>>();
    for (shown, printed, is_same) in [
        ("a\n…\nb", "a\nx\ny\nb", true),
        ("a … c", "a b c", true),
        ("a … c", "a b d", false),
        ("a…", "abc", true),
        ("a", "ab", false),
        ("a\nb", "a", false),
        ("…", "", true),
    ] {
        assert_eq!(
            is_shown(&lines(shown), &printed.lines().collect::<Vec<_>>()),
            is_same,
            "{shown} {printed}"
        );
    }
}
