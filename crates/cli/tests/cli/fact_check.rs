//! Facts about code that has changed since: a change of the contract or of visible behaviour makes a fact history; private code,
//! documentation, formatting and a moved file do not. In six languages.

use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use testutil::{Home, Session, command, git, run_command};

/// A language: the file, its text, and the same after one edit of each class.
struct Sample {
    file: &'static str,
    /// Ends the names of its symbols, so that each exists once.
    ending: &'static str,
    before: &'static str,
    after: &'static str,
}

const SAMPLES: &[Sample] = &[
    Sample {
        file: "src/shop.py",
        ending: "Py",
        before: "def alphaPy(n):\n    return n\n\ndef betaPy(n):\n    return n + 1\n\ndef _gammaPy(n):\n    return n + 2\n\ndef deltaPy(n):\n    \"\"\"Counts.\"\"\"\n    return n + 3\n\ndef epsilonPy(n):\n    return n + 4\n",
        after: "def alphaPy(n, m):\n    return n\n\ndef betaPy(n):\n    return n - 1\n\ndef _gammaPy(n):\n    return n - 2\n\ndef deltaPy(n):\n    \"\"\"Counts rows.\"\"\"\n    return n + 3\n\ndef epsilonPy(n):\n    return (n +\n            4)  # later\n",
    },
    Sample {
        file: "src/shop.rs",
        ending: "Rs",
        before: "pub fn alphaRs(n: u32) -> u32 {\n    n\n}\n\npub fn betaRs(n: u32) -> u32 {\n    n + 1\n}\n\nfn gammaRs(n: u32) -> u32 {\n    n + 2\n}\n\n/// Counts.\npub fn deltaRs(n: u32) -> u32 {\n    n + 3\n}\n\npub fn epsilonRs(n: u32) -> u32 {\n    n + 4\n}\n",
        after: "pub fn alphaRs(n: u64) -> u32 {\n    n\n}\n\npub fn betaRs(n: u32) -> u32 {\n    n - 1\n}\n\nfn gammaRs(n: u32) -> u32 {\n    n - 2\n}\n\n/// Counts rows.\npub fn deltaRs(n: u32) -> u32 {\n    n + 3\n}\n\npub fn epsilonRs(n: u32) -> u32 {\n    // later\n    n   +   4\n}\n",
    },
    Sample {
        file: "src/shop.ts",
        ending: "Ts",
        before: "export function alphaTs(n: number): number {\n  return n;\n}\n\nexport function betaTs(n: number): number {\n  return n + 1;\n}\n\nfunction gammaTs(n: number): number {\n  return n + 2;\n}\n\n/** Counts. */\nexport function deltaTs(n: number): number {\n  return n + 3;\n}\n\nexport function epsilonTs(n: number): number {\n  return n + 4;\n}\n",
        after: "export function alphaTs(n: string): number {\n  return n;\n}\n\nexport function betaTs(n: number): number {\n  return n - 1;\n}\n\nfunction gammaTs(n: number): number {\n  return n - 2;\n}\n\n/** Counts rows. */\nexport function deltaTs(n: number): number {\n  return n + 3;\n}\n\nexport function epsilonTs(n: number): number {\n  // later\n  return n   +   4;\n}\n",
    },
    Sample {
        file: "src/shop.go",
        ending: "Go",
        before: "package shop\n\nfunc AlphaGo(n int) int {\n\treturn n\n}\n\nfunc BetaGo(n int) int {\n\treturn n + 1\n}\n\nfunc gammaGo(n int) int {\n\treturn n + 2\n}\n\n// DeltaGo counts.\nfunc DeltaGo(n int) int {\n\treturn n + 3\n}\n\nfunc EpsilonGo(n int) int {\n\treturn n + 4\n}\n",
        after: "package shop\n\nfunc AlphaGo(n string) int {\n\treturn n\n}\n\nfunc BetaGo(n int) int {\n\treturn n - 1\n}\n\nfunc gammaGo(n int) int {\n\treturn n - 2\n}\n\n// DeltaGo counts rows.\nfunc DeltaGo(n int) int {\n\treturn n + 3\n}\n\nfunc EpsilonGo(n int) int {\n\t// later\n\treturn n   +   4\n}\n",
    },
    Sample {
        file: "src/Shop.java",
        ending: "Java",
        before: "public class Shop {\n    public int alphaJava(int n) {\n        return n;\n    }\n\n    public int betaJava(int n) {\n        return n + 1;\n    }\n\n    private int gammaJava(int n) {\n        return n + 2;\n    }\n\n    /** Counts. */\n    public int deltaJava(int n) {\n        return n + 3;\n    }\n\n    public int epsilonJava(int n) {\n        return n + 4;\n    }\n}\n",
        after: "public class Shop {\n    public int alphaJava(long n) {\n        return n;\n    }\n\n    public int betaJava(int n) {\n        return n - 1;\n    }\n\n    private int gammaJava(int n) {\n        return n - 2;\n    }\n\n    /** Counts rows. */\n    public int deltaJava(int n) {\n        return n + 3;\n    }\n\n    public int epsilonJava(int n) {\n        // later\n        return n   +   4;\n    }\n}\n",
    },
    Sample {
        file: "src/Store.cs",
        ending: "Cs",
        before: "public class Store\n{\n    public int AlphaCs(int n) { return n; }\n\n    public int BetaCs(int n) { return n + 1; }\n\n    private int GammaCs(int n) { return n + 2; }\n\n    /// <summary>Counts.</summary>\n    public int DeltaCs(int n) { return n + 3; }\n\n    public int EpsilonCs(int n) { return n + 4; }\n}\n",
        after: "public class Store\n{\n    public int AlphaCs(long n) { return n; }\n\n    public int BetaCs(int n) { return n - 1; }\n\n    private int GammaCs(int n) { return n - 2; }\n\n    /// <summary>Counts rows.</summary>\n    public int DeltaCs(int n) { return n + 3; }\n\n    public int EpsilonCs(int n) { /* later */ return n   +   4; }\n}\n",
    },
];

/// The class of the edit of each symbol, if it makes a fact stale.
const EDITS: &[(&str, Option<&str>)] = &[
    ("alpha", Some("Structure")),
    ("beta", Some("PublicBehavior")),
    ("gamma", None),
    ("delta", None),
    ("epsilon", None),
];

/// Commits a version of every sample at a date.
fn commit(root: &Path, date: &str, text: impl Fn(&Sample) -> &'static str) {
    for sample in SAMPLES {
        std::fs::write(root.join(sample.file), text(sample)).unwrap();
    }
    git(root, date, &["add", "-A"]);
    git(root, date, &["commit", "-q", "-m", date]);
}

const BEFORE: &str = "2020-01-01T10:00:00Z";
/// After the facts, which are stated now.
const AFTER: &str = "2035-01-01T10:00:00Z";

fn new_repository() -> (Home, PathBuf) {
    let home = Home::new();
    let root = home.path().join("shop");
    std::fs::create_dir_all(root.join("src")).unwrap();
    git(&root, BEFORE, &["init", "-q", "-b", "main"]);
    commit(&root, BEFORE, |sample| sample.before);
    (home, root)
}

fn run(home: &Home, root: &Path, args: &[&str]) -> Value {
    let mut run = command(home.path(), args);
    run.current_dir(root);
    run_command(run).expect(0).records().remove(0)
}

fn add_fact(home: &Home, root: &Path, text: &str) {
    run(home, root, &["memory", "add", text, "--project", root.to_str().unwrap()]);
}

/// The name of a symbol as the language writes it.
fn name_of(sample: &Sample, stem: &str) -> String {
    let known = |name: &str| sample.before.contains(&format!("{name}{}(", sample.ending));
    let capital = format!("{}{}", stem[..1].to_uppercase(), &stem[1..]);
    let names = [format!("_{stem}"), capital, stem.to_string()];
    let name = names.iter().find(|name| known(name)).unwrap_or_else(|| panic!("{stem} in {}", sample.file));
    format!("{name}{}", sample.ending)
}

fn classes(found: &Value) -> Vec<&str> {
    found["stale"].as_array().into_iter().flatten().filter_map(|it| it["changeClass"].as_str()).collect()
}

#[test]
fn contract_and_behaviour_make_a_fact_stale_and_nothing_else_does() {
    let (home, root) = new_repository();
    let symbols =
        || SAMPLES.iter().flat_map(|it| EDITS.iter().map(move |(stem, class)| (name_of(it, stem), class)));
    for (name, _) in symbols() {
        add_fact(&home, &root, &format!("`{name}` must not round"));
        let fresh = run(&home, &root, &["about", &name]);
        assert_eq!((fresh["facts"].as_array().unwrap().len(), classes(&fresh).len()), (1, 0), "{fresh:#}");
    }
    commit(&root, AFTER, |sample| sample.after);
    for (name, class) in symbols() {
        let found = run(&home, &root, &["about", &name]);
        let holding = found["facts"].as_array().unwrap().len();
        assert_eq!(classes(&found), class.iter().copied().collect::<Vec<_>>(), "{name}: {found:#}");
        assert_eq!(holding, usize::from(class.is_none()), "{name}: {found:#}");
    }
}

#[test]
fn a_moved_file_keeps_its_facts_and_a_change_after_the_move_is_seen() {
    let (home, root) = new_repository();
    for name in ["alphaPy", "betaPy"] {
        add_fact(&home, &root, &format!("{name} must not round"));
    }
    std::fs::create_dir_all(root.join("lib")).unwrap();
    git(&root, AFTER, &["mv", "src/shop.py", "lib/shop.py"]);
    git(&root, AFTER, &["commit", "-q", "-m", "move"]);
    let moved = run(&home, &root, &["about", "betaPy"]);
    assert_eq!((moved["file"].as_str(), classes(&moved)), (Some("lib/shop.py"), vec![]), "{moved:#}");
    let text = SAMPLES[0].before.replace("n + 1", "n - 1");
    std::fs::write(root.join("lib/shop.py"), text).unwrap();
    git(&root, AFTER, &["commit", "-q", "-am", "change"]);
    assert_eq!(classes(&run(&home, &root, &["about", "betaPy"])), ["PublicBehavior"]);
    assert_eq!(classes(&run(&home, &root, &["about", "alphaPy"])), Vec::<&str>::new());
}

#[test]
fn a_stale_fact_is_shown_as_history_with_what_changed() {
    let (home, root) = new_repository();
    add_fact(&home, &root, "betaPy must not round");
    add_fact(&home, &root, "the rows in shop.py are counted from 1");
    commit(&root, AFTER, |sample| sample.after);
    let mut text = command(home.path(), &["about", "betaPy", "-o", "text"]);
    text.current_dir(&root);
    let text = run_command(text).expect(0).text().to_string();
    assert!(text.contains("Said before the code changed\n- betaPy must not round"), "{text}");
    assert!(text.contains("betaPy behaves differently since "), "{text}");
    // A fact about the file names no symbol that changed.
    assert!(text.contains("What holds\n- the rows in shop.py"), "{text}");
}

/// The session edits and decides; the person commits afterwards, and somebody else changes the code later.
#[test]
fn a_commit_of_the_sessions_own_work_does_not_make_its_facts_stale() {
    let (home, root) = new_repository();
    let path = root.join("src/shop.py");
    let mut session =
        Session::new("dddd4444-0000-4000-8000-000000000004", root.to_str().unwrap(), "2026-02-01T09:00:00Z");
    session.prompt("make betaPy count down").reply(&["With a floor?"]);
    session.prompt("No. We decided that `betaPy` must never round its result.");
    let edit = json!({"file_path": path, "old_string": "    return n + 1\n", "new_string": "    return count_down_from(n)\n"});
    session.did("Edit", edit, "edited").reply(&["Done."]);
    home.add(&session);
    run_command(command(home.path(), &["memory", "consolidate", "--no-model"])).expect(0);
    let text = SAMPLES[0].before.replace("n + 1", "count_down_from(n)");
    std::fs::write(&path, &text).unwrap();
    git(&root, "2026-02-02T09:00:00Z", &["commit", "-q", "-am", "count down"]);
    // A small budget leaves out steps, and must not make the answer wrong.
    for budget in ["100", "2000"] {
        let held = run(&home, &root, &["about", "betaPy", "--budget", budget]);
        assert_eq!((held["facts"].as_array().unwrap().len(), classes(&held).len()), (1, 0), "{held:#}");
    }
    std::fs::write(&path, text.replace("count_down_from(n)", "count_down_from(n) - 1")).unwrap();
    git(&root, AFTER, &["commit", "-q", "-am", "off by one"]);
    for budget in ["100", "2000"] {
        let changed = run(&home, &root, &["about", "betaPy", "--budget", budget]);
        assert_eq!(
            (changed["facts"].as_array().unwrap().len(), classes(&changed)),
            (0, vec!["PublicBehavior"]),
            "{changed:#}"
        );
    }
}

/// The states of the facts in `memory list`, by text.
fn listed_states(home: &Home, root: &Path, args: &[&str]) -> Vec<(String, String)> {
    let mut run =
        command(home.path(), &[&["memory", "list", "--kind", "facts", "--limit", "100"], args].concat());
    run.current_dir(root);
    let found = run_command(run).records().remove(0);
    let lines = found["memories"].as_array().unwrap().iter();
    let text = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_string();
    lines.map(|line| (text(line, "text"), text(line, "state"))).collect()
}

/// What a starting session is told.
fn told_at_start(home: &Home, root: &Path) -> String {
    let input = json!({"session_id": "s", "cwd": std::fs::canonicalize(root).unwrap(), "source": "startup"});
    let mut hook = command(home.path(), &["hook", "session-start"]);
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_list_and_a_starting_session_know_which_facts_are_stale() {
    let (home, root) = new_repository();
    let symbols =
        || SAMPLES.iter().flat_map(|it| EDITS.iter().map(move |(stem, class)| (name_of(it, stem), class)));
    for (name, _) in symbols() {
        add_fact(&home, &root, &format!("`{name}` must not round"));
    }
    let states = listed_states(&home, &root, &[]);
    assert!(states.len() == 30 && states.iter().all(|(_, state)| state == "fresh"), "{states:?}");
    commit(&root, AFTER, |sample| sample.after);
    let states = listed_states(&home, &root, &[]);
    for (name, class) in symbols() {
        let text = format!("`{name}` must not round");
        let (_, state) = states.iter().find(|(known, _)| *known == text).unwrap();
        assert_eq!(state, if class.is_some() { "stale" } else { "fresh" }, "{name}");
    }
    assert_eq!(listed_states(&home, &root, &["--state", "stale"]).len(), 12);
    assert_eq!(listed_states(&home, &root, &["--state", "fresh"]).len(), 18);
    // A hook on a busy machine may miss its deadline.
    let told = (0..20).map(|_| told_at_start(&home, &root)).find(|told| !told.is_empty()).unwrap();
    for (name, class) in symbols().filter(|(name, _)| told.contains(name)) {
        assert!(class.is_none(), "{name}: {told}");
    }
    assert!(told.contains("must not round"), "{told}");
    // As it was, it holds again.
    commit(&root, AFTER, |sample| sample.before);
    assert!(listed_states(&home, &root, &[]).iter().all(|(_, state)| state == "fresh"));
}

#[test]
fn a_list_tells_the_work_of_the_session_from_that_of_others() {
    let (home, root) = new_repository();
    let path = root.join("src/shop.py");
    let mut session =
        Session::new("dddd4444-0000-4000-8000-000000000004", root.to_str().unwrap(), "2026-02-01T09:00:00Z");
    session.prompt("make betaPy count down").reply(&["With a floor?"]);
    session.prompt("No. We decided that `betaPy` must never round its result.");
    let edit = json!({"file_path": path, "old_string": "    return n + 1\n", "new_string": "    return count_down_from(n)\n"});
    session.did("Edit", edit, "edited").reply(&["Done."]);
    home.add(&session);
    run_command(command(home.path(), &["index"])).expect(0);
    run_command(command(home.path(), &["memory", "consolidate", "--no-model"])).expect(0);
    let states = || listed_states(&home, &root, &[]).into_iter().map(|(_, state)| state).collect::<Vec<_>>();
    let text = SAMPLES[0].before.replace("n + 1", "count_down_from(n)");
    std::fs::write(&path, &text).unwrap();
    git(&root, "2026-02-02T09:00:00Z", &["commit", "-q", "-am", "count down"]);
    assert_eq!(states(), ["fresh"], "the session's own work");
    std::fs::create_dir_all(root.join("lib")).unwrap();
    git(&root, AFTER, &["mv", "src/shop.py", "lib/shop.py"]);
    git(&root, AFTER, &["commit", "-q", "-m", "move"]);
    assert_eq!(states(), ["fresh"], "a moved file");
    std::fs::write(root.join("lib/shop.py"), text.replace("count_down_from(n)", "count_down_from(n) - 1"))
        .unwrap();
    git(&root, AFTER, &["commit", "-q", "-am", "off by one"]);
    assert_eq!(states(), ["stale"]);
}
