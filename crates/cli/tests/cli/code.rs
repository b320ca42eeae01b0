//! Operations on a codebase: outlines, members, name resolution, usages, graphs, status, and their errors.

use testutil::{Home, run_line, write_file};

pub(crate) fn home_with_code() -> Home {
    let home = Home::new();
    write_file(
        &home.path().join("src/Store.cs"),
        b"namespace Memo.Core { /// <summary>Keeps nodes.</summary>\npublic class NodeStore { private int n;\n public Node Get(int id) { n++; return new Node(); } } }",
    );
    write_file(
        &home.path().join("src/Node.cs"),
        b"namespace Memo.Core { public class Node { public string Name; } }",
    );
    write_file(
        &home.path().join("src/lib.rs"),
        b"pub struct Engine;\nimpl Engine { pub fn run(&self) {} }\n",
    );
    home
}

#[test]
fn types_of_any_language_have_outlines_with_token_counts() {
    let home = home_with_code();
    let response = run_line(&home, "code outline NodeStore -o json").expect(0).records().remove(0);
    let outline = response["outline"].as_str().unwrap();
    assert!(
        outline.contains("Node Get(int id)") && outline.contains("Keeps nodes.") && !outline.contains("n++"),
        "{outline}"
    );
    assert!(response["outlineTokens"].as_u64() > Some(0) && response["sourceTokens"].as_u64() > Some(0));
    assert_eq!(
        (&response["resolved"]["file"], &response["resolved"]["line"]),
        (&"src/Store.cs".into(), &2.into())
    );
    let by_id = format!("code outline {} -o json", response["resolved"]["typeId"].as_str().unwrap());
    assert_eq!(run_line(&home, &by_id).expect(0).records()[0]["outline"], response["outline"]);
    assert!(run_line(&home, "code outline Engine -o text").expect(0).text().contains("run"));
    // A cached outline is not returned once the file has changed.
    write_file(
        &home.path().join("src/Node.cs"),
        b"namespace Memo.Core { public class Node { public string Title; } }",
    );
    assert!(run_line(&home, "code outline Node -o text").expect(0).text().contains("Title"));
}

#[test]
fn resolve_usages_and_graph_report_certainty_and_error_codes() {
    let home = home_with_code();
    let run = |line: &str| run_line(&home, line).expect(0).records().remove(0);
    assert_eq!(run("code resolve node.name")["resolved"]["path"], "Memo.Core.Node.Name");
    assert_eq!(run("code resolve NodeStroe")["nearly"], true);
    assert_eq!(run("code search node --limit 1")["candidates"].as_array().unwrap().len(), 1);
    let used = run("code usages Node");
    assert_eq!((&used["total"], &used["usages"][0]["certainty"]), (&2.into(), &"certain".into()));
    assert_eq!(run("code usages Node --max-results 1")["usages"].as_array().unwrap().len(), 1);
    let none = run_line(&home, "code usages Node --certainty exact").expect(2).records().remove(0);
    assert_eq!(none["total"], 0, "`exact` needs a SCIP index: {none}");
    let used = run("code usages NodeStore.n");
    assert_eq!((&used["total"], &used["usages"][0]["line"]), (&1.into(), &3.into()), "{used}");
    assert_eq!(used["usages"][0]["certainty"], "certain");
    assert!(run("code graph namespace:Memo.*")["picture"].as_str().unwrap().contains("-->"));
    assert!(run("code graph type:Node --form svg")["picture"].as_str().unwrap().starts_with("<svg"));
    for (line, code, name) in [
        ("code outline Nothing", "SYMBOL_NOT_FOUND", "SymbolNotFound"),
        ("code pin *", "AMBIGUOUS_SYMBOL", "AmbiguousSymbol"),
        ("code graph type:", "INVALID_FILTER", "InvalidFilter"),
        ("code outline Node --root nowhere", "NOT_FOUND", "NotFound"),
        ("code outline Node --root .claude", "NOT_FOUND", "NotFound"),
        ("code outline ''", "INVALID_ARGUMENT", "InvalidArgument"),
        ("code outline Node --nope", "INVALID_ARGUMENT", "InvalidArgument"),
        ("edit rename Nothing Something", "SYMBOL_NOT_FOUND", "SymbolNotFound"),
    ] {
        let refused = run_line(&home, line).expect(1).records().remove(0);
        assert_eq!((&refused["code"], &refused["error"]["code"]), (&code.into(), &name.into()), "{line}");
    }
    // A private field and its public getter share a name: the name resolves to the getter.
    write_file(
        &home.path().join("src/both.rs"),
        b"pub struct Both { name: String }\nimpl Both { pub fn name(&self) -> &str { &self.name } }\n",
    );
    assert_eq!(run("code resolve Both.name")["resolved"]["kind"], "method");
    let near = run_line(&home, "code outline NodeStroe").expect(1);
    assert!(near.stderr.contains("Memo.Core.NodeStore"), "{}", near.stderr);
}

/// On a receiver of unknown type, a common method matches by name only.
#[test]
fn matches_by_name_only_can_be_excluded_and_are_summarized() {
    let home = home_with_code();
    let calls =
        "pub fn go() {\n    let x = other::make();\n".to_string() + &"    x.run();\n".repeat(9) + "}\n";
    let typed_call = "pub fn sure() {\n    crate::Engine::run(&crate::Engine);\n}\n";
    write_file(&home.path().join("src/go.rs"), (calls + typed_call).as_bytes());
    write_file(
        &home.path().join("src/lib.rs"),
        b"mod go;\npub struct Engine;\nimpl Engine { pub fn run(&self) {} }\n",
    );
    write_file(&home.path().join("Cargo.toml"), b"[package]\nname = \"engine\"\n");
    let run = |line: &str| run_line(&home, line).expect(0).records().remove(0);
    let all = run("code usages Engine.run");
    assert_eq!((&all["total"], &all["possible"]), (&10.into(), &9.into()), "{all}");
    let first = &all["usages"][0];
    assert!(
        first["certainty"] != "possible" && first["line"] == 14,
        "the most certain usage comes first: {all}"
    );
    let likely = run("code usages Engine.run --certainty likely");
    assert_eq!(
        (&likely["total"], &likely["possible"], &likely["usages"][0]),
        (&1.into(), &0.into(), first),
        "{likely}"
    );
    assert_eq!(likely["coverage"]["notes"][0], "9 more places are less certain than `likely`");
    let shown = run_line(&home, "code usages Engine.run -o text").expect(0);
    let text = shown.text();
    let position = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(position("Engine::run(&") < position("x.run()"), "{text}");
    assert_eq!(text.matches("(possible)\n").count(), 5, "{text}");
    assert!(text.contains("… 4 more matches by name only"), "{text}");
}

#[test]
fn a_module_of_the_same_name_does_not_hide_a_type() {
    let home = Home::new();
    write_file(&home.path().join("Cargo.toml"), b"[package]\nname = \"shop\"\n");
    write_file(&home.path().join("src/lib.rs"), b"pub mod kept;\npub mod mail;\n");
    write_file(&home.path().join("src/kept.rs"), b"pub struct Store;\n");
    write_file(&home.path().join("src/mail.rs"), b"pub struct Store;\n");
    write_file(&home.path().join("examples/store.rs"), b"fn main() {}\n");
    let response = run_line(&home, "code resolve Store").expect(0).records().remove(0);
    let paths: Vec<&str> =
        response["candidates"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["shop.kept.Store", "shop.mail.Store"], "{response}");
    assert_eq!(run_line(&home, "code outline Store").expect(1).records()[0]["code"], "AMBIGUOUS_SYMBOL");
    let named = run_line(&home, "code outline mail.Store").expect(0).records().remove(0);
    assert_eq!(named["resolved"]["path"], "shop.mail.Store");
}

#[test]
fn a_member_is_shown_alone_by_name_and_by_id() {
    let home = home_with_code();
    let response = run_line(&home, "code member NodeStore.Get").expect(0).records().remove(0);
    let outline = response["outline"].as_str().unwrap();
    assert!(outline.contains("Node Get(int id)") && !outline.contains("NodeStore {"), "{outline}");
    assert!(response["outlineTokens"].as_u64() > Some(0), "{response}");
    assert_eq!(response["resolved"]["path"], "Memo.Core.NodeStore.Get(int)");
    let by_id = format!("code member {}", response["resolved"]["memberId"].as_str().unwrap());
    assert_eq!(run_line(&home, &by_id).expect(0).records()[0], response);
    assert_eq!(run_line(&home, "code outline NodeStore.Get").expect(0).records()[0], response);
    assert_eq!(
        run_line(&home, "code member NodeStore.Gte").expect(1).records()[0]["code"],
        "SYMBOL_NOT_FOUND"
    );
}

#[test]
fn find_takes_a_name_a_part_of_one_or_several_words() {
    let home = home_with_code();
    let find = |line: &str| {
        let response = run_line(&home, &format!("code find {line}")).records().remove(0);
        let all = response["candidates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["path"].as_str().unwrap().to_owned());
        (response["resolved"]["path"].as_str().map(str::to_owned), all.collect::<Vec<String>>())
    };
    let (resolved, found) = find("NodeStore");
    assert_eq!(
        (resolved.as_deref(), found[0].as_str()),
        (Some("Memo.Core.NodeStore"), "Memo.Core.NodeStore")
    );
    let (_, words) = find("store get");
    assert!(words.iter().any(|it| it == "Memo.Core.NodeStore.Get(int)"), "{words:?}");
    let (_, types) = find("node --kind type");
    assert!(types.iter().all(|it| !it.contains('(')) && types.len() > 1, "{types:?}");
    assert_eq!(find("node --limit 1").1.len(), 1);
    assert!(find("get --kind type").1.is_empty() && !find("get --kind function").1.is_empty());
}

#[test]
fn a_map_keeps_to_its_budget_and_folder() {
    let home = home_with_code();
    let map = |line: &str| run_line(&home, &format!("code map {line}")).records().remove(0);
    let whole = map("");
    assert!(whole["map"].as_str().unwrap().contains("class NodeStore"), "{whole}");
    assert!(whole["tokens"].as_u64() <= Some(2000) && whole["shown"] == whole["total"], "{whole}");
    let small = map("--budget 40");
    assert!(
        small["tokens"].as_u64() <= Some(40) && small["shown"].as_u64() < whole["shown"].as_u64(),
        "{small}"
    );
    assert_eq!(map("no/such/folder")["code"], "NOT_FOUND");
    run_line(&home, "code map --budget 0").expect(1);
}

#[test]
fn a_map_has_functions_of_packages_and_examples_last() {
    let home = Home::new();
    write_file(&home.path().join("go.mod"), b"module m\n");
    write_file(&home.path().join("a.go"), b"package m\n\ntype Store struct{ N int }\n\nvar _ = 1\n");
    write_file(
        &home.path().join("b.go"),
        b"package m\n\nfunc Rare() {}\n\nfunc New() *Store { return nil }\n",
    );
    write_file(
        &home.path().join("examples/e.go"),
        b"package main\n\nimport \"m\"\n\ntype Shown struct{ A, B, C int }\n\nfunc Run() { m.New() }\n",
    );
    let run = run_line(&home, "code map --root . -o text").expect(0);
    let map = run.text();
    let at = |word: &str| map.find(word).unwrap_or_else(|| panic!("{word}: {map}"));
    assert!(at("func Rare") < at("Shown"), "{map}");
    assert!(at("type Store") < at("func Run") && !map.contains("var _"), "{map}");
    let run = run_line(&home, "code map --root . --budget 34 -o text").expect(0);
    let small = run.text();
    assert!(small.contains("func New") && !small.contains("Rare") && !small.contains("Shown"), "{small}");
    let run = run_line(&home, "code map b.go --root . -o text").expect(0);
    assert!(run.text().contains("func New") && !run.text().contains("Store struct"), "{}", run.text());
}

#[test]
fn context_shows_the_window_and_changes_it() {
    let home = home_with_code();
    let run = |line: &str| run_line(&home, line).records().remove(0);
    assert_eq!(run("code context pin NodeStore")["pinned"][0]["path"], "Memo.Core.NodeStore");
    assert_eq!(run("code context")["window"]["window"], run("code window")["window"]);
    assert_eq!(run("code context --budget 1")["window"]["shown"], serde_json::json!([]));
    assert_eq!(run("code context unpin NodeStore")["changed"], true);
    assert!(run("code context").get("pinned").is_none());
    for line in ["code context pin", "code context show --minutes 5", "code context clear --budget 5"] {
        run_line(&home, line).expect(1);
    }
}

#[test]
fn an_error_has_what_belongs_to_its_code() {
    let home = home_with_code();
    let error = |line: &str| run_line(&home, line).expect(1).records().remove(0)["error"].take();
    assert_eq!(error("code outline NodeStroe")["suggestions"], serde_json::json!(["Memo.Core.NodeStore"]));
    assert_eq!(error("code outline Nothing")["suggestions"], serde_json::json!([]));
    let ambiguous = error("code pin *");
    assert!(ambiguous["candidates"].as_array().unwrap().contains(&"Memo.Core.Node".into()), "{ambiguous}");
    let filter = error("code graph '(type:Node'");
    assert_eq!(filter["position"], 11, "{filter}");
    assert!(filter["hint"].as_str().is_some_and(|hint| filter["message"].as_str().unwrap().ends_with(hint)));
}

#[test]
fn status_counts_files_lines_types_and_notes() {
    let home = home_with_code();
    let response = run_line(&home, "code status").expect(0).records().remove(0);
    for (name, n) in [("files", 3), ("lines", 6), ("gaps", 0), ("notes", 0), ("packs", 0), ("pinned", 0)] {
        assert_eq!(response[name], n, "{name}: {response}");
    }
    assert_eq!(response["languages"][0]["name"], "C#");
    assert!(
        response["typesIndexed"].as_u64() >= Some(3) && response["edges"].as_u64() >= Some(1),
        "{response}"
    );
    assert!(response["memoryMB"].as_u64() > Some(0));
    assert_eq!(response["alerts"], serde_json::json!([]));
    // Values that only the daemon knows are omitted.
    for name in ["uptimeSec", "p95ResolveMs", "outlineHitRatio", "promptBudgetRatio"] {
        assert!(response.get(name).is_none(), "{name}");
    }
    write_file(&home.path().join("other/One.cs"), b"class One { }");
    assert_eq!(run_line(&home, "code status --root other").expect(0).records()[0]["files"], 1);
    assert!(run_line(&home, "code status -o text").expect(0).text().contains("types"));
}

#[test]
fn an_invalid_root_is_refused_with_a_hint() {
    let home = home_with_code();
    for (root, code, hint) in [
        ("src/Node.cs", "NOT_FOUND", "--root "),
        ("nowhere", "NOT_FOUND", "--root selects the source tree"),
        ("/", "INVALID_ARGUMENT", "--root selects the source tree"),
    ] {
        for command in ["outline Node", "status", "packs", "window", "pin Node", "context list"] {
            let refused = run_line(&home, &format!("code {command} --root {root}")).expect(1);
            let record = &refused.records()[0];
            assert_eq!(record["code"], code, "{command} {root}: {record}");
            assert!(record["hints"][0].as_str().unwrap().starts_with(hint), "{command} {root}: {record}");
        }
    }
}

#[test]
fn source_is_shown_by_name_and_by_place() {
    let home = home_with_code();
    let run = |line: &str| run_line(&home, line).expect(0).records().remove(0);
    let by_name = run("code source NodeStore.Get");
    assert_eq!(by_name["source"][0]["line"], 3, "{by_name}");
    assert!(by_name["source"][0]["text"].as_str().unwrap().contains("n++"), "{by_name}");
    assert_eq!(run("code source src/Store.cs:3"), by_name);
    let cut = run("code source NodeStore --max-lines 1");
    assert_eq!((cut["source"][0]["text"].as_str().unwrap().lines().count(), &cut["leftOut"]), (1, &1.into()));
    let outline = run("code outline src/Store.cs");
    assert_eq!(outline["resolved"]["kind"], "file");
    assert!(outline["outline"].as_str().unwrap().contains("3-3    public Node Get(int id)"), "{outline}");
    let text = run_line(&home, "code source NodeStore.Get -o text").expect(0);
    assert!(text.text().contains("    3   public Node Get"), "{}", text.text());
}

#[test]
fn usages_can_be_callers_callees_or_subtypes() {
    let home = home_with_code();
    write_file(
        &home.path().join("src/Sub.cs"),
        b"namespace Memo.Core { public class Sub : Node { public Node Make(NodeStore s) { return s.Get(1); } } }",
    );
    let run = |line: &str| run_line(&home, line).expect(0).records().remove(0);
    let within = |response: &serde_json::Value| response["usages"][0]["within"].as_str().unwrap().to_owned();
    assert_eq!(within(&run("code usages Node --relation subtypes")), "Memo.Core.Sub");
    assert_eq!(within(&run("code usages NodeStore.Get --relation callers --depth 2")), "Memo.Core.Sub.Make");
    assert_eq!(within(&run("code usages Sub.Make --relation callees")), "Memo.Core.NodeStore.Get(int)");
    let text = |line: &str| run_line(&home, &format!("{line} -o text")).expect(0).text().to_owned();
    let callers = text("code usages NodeStore.Get --relation callers --depth 2");
    assert!(callers.contains("  in Sub.Make\n") && !callers.contains("T_"), "{callers}");
    let callees = text("code usages Sub.Make --relation callees");
    assert!(callees.contains("src/Store.cs\n") && callees.contains(" Get(int id)"), "{callees}");
    assert!(!text("code usages NodeStore.Get").contains("  in Sub"));
    let found = run("code usages *.Make --relation callees");
    assert_eq!(
        (within(&found), found["relation"].as_str()),
        ("Memo.Core.NodeStore.Get(int)".into(), Some("callees"))
    );
    let node = run("code usages Node");
    assert!(node.get("relation").is_none() && node["symbols"] == 1, "{node}");
    let many = run("code usages Memo.Core.N*");
    assert!(many["symbols"].as_u64() > Some(1), "{many}");
    assert!(text("code usages Memo.Core.N*").contains("more symbol"));
    run_line(&home, "code pin *.Make").expect(0);
    run_line(&home, "code usages NodeStore.Get --relation tests").expect(2);
    run_line(&home, "code usages Node --relation friends").expect(1);
}

fn run_git(home: &Home, args: &[&str]) {
    let done = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(args)
        .current_dir(home.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn commit_sources(home: &Home) {
    run_git(home, &["init", "-q"]);
    run_git(home, &["add", "src"]);
    run_git(home, &["commit", "-qm", "one"]);
}

#[test]
fn changes_run_no_program_that_a_repository_names() {
    let home = home_with_code();
    commit_sources(&home);
    for setting in
        ["filter.own.clean", "filter.own.process", "diff.own.command", "diff.own.textconv", "core.fsmonitor"]
    {
        run_git(&home, &["config", setting, "touch ran; cat"]);
    }
    write_file(&home.path().join(".gitattributes"), b"*.cs filter=own diff=own\n");
    write_file(
        &home.path().join("src/Node.cs"),
        b"namespace Memo.Core { public class Node { public string Title; } }",
    );
    let found = run_line(&home, "code changes --since HEAD").expect(0).records().remove(0);
    assert_eq!(found["changes"][0]["path"], "Memo.Core.Node", "{found}");
    assert!(!home.path().join("ran").exists());
}

#[test]
fn changes_since_a_commit_do_not_depend_on_earlier_requests() {
    let home = home_with_code();
    commit_sources(&home);
    write_file(
        &home.path().join("src/Node.cs"),
        b"namespace Memo.Core { public class Node { public string Title; } }",
    );
    let run = |line: &str| run_line(&home, line).expect(0).records().remove(0);
    run("code outline Node");
    run("code index");
    let found = run("code changes --since HEAD");
    assert_eq!(found["changes"][0]["path"], "Memo.Core.Node", "{found}");
    assert_eq!(found["changes"][0]["changeClass"], "Structure");
    assert_eq!(found["dependents"], serde_json::json!(["Memo.Core.NodeStore"]));
    assert_eq!(run("code changes HEAD")["changes"], found["changes"]);
    assert_eq!(run_line(&home, "code changes nowhere").expect(1).records()[0]["code"], "NOT_FOUND");
}

#[test]
fn a_name_that_lacks_its_last_letter_is_found_with_those_that_contain_it() {
    let home = Home::new();
    write_file(
        &home.path().join("src/a.cs"),
        b"class NodeStore { NodeStore() { } } class NodeStoreTests { }",
    );
    let found = run_line(&home, "code find NodeStor").expect(0).records().remove(0);
    let names: Vec<&str> =
        found["candidates"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert!(names.contains(&"NodeStore") && names.contains(&"NodeStoreTests"), "{names:?}");
}

/// The full names of what a search finds.
fn found_names(home: &Home, line: &str) -> Vec<String> {
    let found = run_line(home, line).records().remove(0);
    let all = found["candidates"].as_array().cloned().unwrap_or_default();
    all.iter().map(|one| one["path"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_folder_that_is_not_in_the_tree_is_an_error_with_the_nearest_folders() {
    let home = home_with_code();
    write_file(&home.path().join("src/inner/deep.py"), b"def deep():\n    pass\n");
    commit_sources(&home);
    for line in [
        "code usages Node --under scr",
        "code map scr",
        "code find Node --under scr",
        "code changes --under scr",
    ] {
        let refused = run_line(&home, line).expect(1);
        assert_eq!(refused.records()[0]["code"], "NOT_FOUND", "{line}");
        assert!(refused.stderr.contains("--under src"), "{line}: {}", refused.stderr);
    }
    let refused = run_line(&home, "code usages Node --under src/elsewhere").expect(1);
    assert!(refused.stderr.contains("--under src/inner"), "next to where it leaves: {}", refused.stderr);
    run_line(&home, "code usages Node --under ./src/").expect(0);
    run_line(&home, "code changes --under src/inner").expect(0);
}

#[test]
fn find_selects_by_folder_and_leaves_out_tests() {
    let home = Home::new();
    write_file(&home.path().join("app/store.py"), b"class Store:\n    def load_all(self):\n        pass\n");
    write_file(&home.path().join("pkg/store.py"), b"class Store:\n    pass\n");
    write_file(&home.path().join("pkg/tests/test_store.py"), b"class StoreTest:\n    pass\n");
    assert_eq!(found_names(&home, "code find Store --under app --kind class"), ["app.store.Store"]);
    let below = found_names(&home, "code find Store --under pkg --kind class");
    assert_eq!(below, ["pkg.store.Store", "pkg.tests.test_store.StoreTest"]);
    let plain = found_names(&home, "code find Store --under pkg --kind class --without-tests");
    assert_eq!(plain, ["pkg.store.Store"]);
    // a pattern without a dot fits members as well as types
    assert_eq!(found_names(&home, "code find *oad_a*"), ["app.store.Store.load_all"]);
    assert_eq!(found_names(&home, "code find *toretes?"), ["pkg.tests.test_store.StoreTest"]);
}

#[test]
fn find_takes_several_names_that_no_symbol_has_together() {
    let home = home_with_code();
    let names = found_names(&home, "code find Engine NodeStore.Get");
    assert!(names.len() == 2 && names[0].ends_with("Engine") && names[1].ends_with("Get(int)"), "{names:?}");
    assert_eq!(found_names(&home, "code find node store")[0], "Memo.Core.NodeStore");
}

#[test]
fn changes_name_the_places_of_symbols_below_a_folder() {
    let home = home_with_code();
    commit_sources(&home);
    write_file(
        &home.path().join("src/Node.cs"),
        b"namespace Memo.Core {\n [Old]\n public class Node {\n  public string Name;\n  [Old]\n  public int Size() { return 1; }\n } }",
    );
    write_file(&home.path().join("more/new.py"), b"# new\nclass New:\n    def go(self):\n        pass\n");
    let run = |line: &str| run_line(&home, line).expect(0).records().remove(0);
    let node = run("code changes --under src");
    assert_eq!(node["changes"].as_array().map(Vec::len), Some(1), "{node}");
    assert_eq!(node["files"], serde_json::json!(["src/Node.cs"]));
    let change = &node["changes"][0];
    assert_eq!((&change["file"], &change["line"]), (&"src/Node.cs".into(), &3.into()), "{change}");
    let member = &change["members"][0];
    assert_eq!((&member["key"], &member["change"]), (&"Size()".into(), &"Added".into()), "{change}");
    assert_eq!((&member["file"], &member["line"]), (&"src/Node.cs".into(), &6.into()), "{change}");
    let added = run("code changes --under more");
    let added = added["changes"].as_array().unwrap();
    let class = added.iter().find(|it| it["path"].as_str().unwrap().ends_with("New")).unwrap();
    assert_eq!((&class["changeClass"], &class["line"]), (&"Added".into(), &2.into()), "{class}");
    assert_eq!(class["members"][0]["line"], 3, "{class}");
    let text = run_line(&home, "code changes -o text").expect(0).text().to_owned();
    assert!(text.contains("Memo.Core.Node  src/Node.cs:3\n"), "{text}");
    assert!(text.contains("Size(): Structure Added  :6\n"), "{text}");
    assert!(text.contains("New  more/new.py:2\n"), "{text}");
}

#[test]
fn writes_are_told_from_reads() {
    let home = Home::new();
    write_file(
        &home.path().join("a.cs"),
        b"class A { public int n;\n void Set() { n = 1; }\n int Get() { return n; }\n static A Make() { return new A { n = 2 }; } }",
    );
    let run = |line: &str| run_line(&home, line).expect(0).records().remove(0);
    let lines = |found: &serde_json::Value, wanted: bool| -> Vec<u64> {
        let all = found["usages"].as_array().unwrap().iter();
        all.filter(|it| it["write"].as_bool().unwrap_or(false) == wanted)
            .map(|it| it["line"].as_u64().unwrap())
            .collect()
    };
    let all = run("code usages A.n");
    assert_eq!((lines(&all, true), lines(&all, false)), (vec![2, 4], vec![3]), "{all}");
    let writes = run("code usages A.n --relation writes");
    assert_eq!((lines(&writes, true), lines(&writes, false)), (vec![2, 4], vec![]), "{writes}");
    let text = run_line(&home, "code usages A.n -o text").expect(0).text().to_owned();
    assert_eq!(text.matches("(write)").count(), 2, "{text}");
    run_line(&home, "code usages A.Get --relation writes").expect(2);
}
