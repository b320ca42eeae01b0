//! What a tree's own folder `.loci/` gets: packs, the prompt window, what is pinned and what was asked for; and what it never does.

use crate::code::tree;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use testutil::needs;
use testutil::{Finished, Home, binary, command, run_command, run_line, set_environment, write_file};

fn at(home: &Home, name: &str) -> PathBuf {
    home.path().join(".loci").join(name)
}

fn said(home: &Home, line: &str) -> Value {
    run_line(home, line).expect(0).records().remove(0)
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|each| each["path"].as_str().unwrap()).collect()
}

fn regions(window: &Value) -> Vec<(&str, &str)> {
    let shown = window["shown"].as_array().unwrap().iter();
    shown.map(|each| (each["region"].as_str().unwrap(), each["path"].as_str().unwrap())).collect()
}

const STORE: &str = "Memo.Core.NodeStore";
const NODE: &str = "Memo.Core.Node";

#[test]
fn a_pack_holds_what_its_filter_names_and_is_written_once() {
    let home = tree();
    let built = said(&home, "code pack core --filter type:NodeStore");
    assert_eq!(paths(&built["types"]), [NODE, STORE], "what is used stands first");
    assert_eq!((&built["path"], &built["budget"]), (&".loci/packs/core.md".into(), &8000.into()));
    let text = fs::read_to_string(at(&home, "packs/core.md")).unwrap();
    assert!(text.contains("Node Get(int id)") && !text.contains("n++"), "{text}");
    assert!(built.get("reused").is_none());
    assert_eq!(said(&home, "code pack core --filter type:NodeStore")["reused"], true);
    let small = said(&home, "code pack core --filter type:NodeStore --budget 52");
    assert_eq!((paths(&small["types"]), paths(&small["leftOut"])), (vec![STORE], vec![NODE]), "{small}");
    assert!(small["tokens"].as_u64() <= Some(52) && small.get("reused").is_none(), "{small}");
    let other = said(&home, "code pack engine.v2 --filter 'type:Engine OR type:Node'");
    assert_eq!(other["types"].as_array().unwrap().len(), 2);
    let listed = said(&home, "code packs");
    let packs = listed["packs"].as_array().unwrap();
    assert_eq!((&packs[0]["name"], &packs[1]["name"]), (&"core".into(), &"engine.v2".into()));
    assert_eq!((&packs[1]["types"], &packs[1]["filter"]), (&2.into(), &"type:Engine OR type:Node".into()));
    assert_eq!(packs[0]["tokens"], small["tokens"]);
    write_file(&home.path().join("other/One.cs"), b"class One { }");
    assert_eq!(
        run_line(&home, "code packs --root other").expect(2).records()[0]["packs"],
        Value::Array(vec![])
    );
    said(&home, "code pack one --filter type:One --root other");
    assert!(home.path().join("other/.loci/packs/one.md").exists());
}

/// What most rests on is kept to the end, and may be the largest.
#[test]
fn the_budget_that_a_refusal_names_works() {
    let home = tree();
    let members: String = (0..60).map(|n| format!("public int Count{n}(string name); ")).collect();
    write_file(
        &home.path().join("src/Base.cs"),
        format!("namespace Big {{ public class Base {{ {members} }} }}").as_bytes(),
    );
    for name in ["One", "Two"] {
        let text = format!("namespace Big {{ public class {name} {{ public Base B; }} }}");
        write_file(&home.path().join(format!("src/{name}.cs")), text.as_bytes());
    }
    let refused = run_line(&home, "code pack tiny --filter namespace:Big --budget 60").expect(1);
    let hint = refused.records()[0]["hints"][0].as_str().unwrap().to_string();
    let budget = hint.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    let built = said(&home, &format!("code pack tiny --filter namespace:Big --budget {budget}"));
    assert_eq!(paths(&built["types"]), ["Big.Base"], "{hint}");
    run_line(&home, &format!("code pack tiny --filter namespace:Big --budget {}", budget - 1)).expect(1);
}

#[test]
fn a_pack_that_cannot_be_is_refused_and_leaves_nothing() {
    let home = tree();
    for (line, code, words) in [
        ("code pack ../x --filter type:Node", "INVALID_ARGUMENT", "invalid pack name `../x`"),
        ("code pack .git --filter type:Node", "INVALID_ARGUMENT", "invalid pack name"),
        ("code pack core", "INVALID_ARGUMENT", "missing `filter`"),
        ("code pack core --filter type:Node --budget 0", "INVALID_ARGUMENT", "budget"),
        ("code pack core --filter 'type:Node AND size:3'", "INVALID_FILTER", "at character 15"),
        ("code pack core --filter '(type:Node'", "INVALID_FILTER", "at character"),
        ("code pack core --filter type:Node --budget 30", "INVALID_ARGUMENT", "no type fits into 30 tokens"),
        ("code pack core --filter type:Nobody", "NOT_FOUND", "no type matches"),
        ("code window --pack core", "NOT_FOUND", "no pack named `core`"),
        ("code context", "INVALID_ARGUMENT", "missing action: add name, clear or list"),
        ("code context drop", "INVALID_ARGUMENT", "unknown action `drop`: use add, clear, list"),
        ("code context add", "INVALID_ARGUMENT", "missing name"),
        ("code pin Nobody", "SYMBOL_NOT_FOUND", "no symbol is named"),
    ] {
        let refused = run_line(&home, line).expect(1);
        let record = &refused.records()[0];
        assert_eq!(record["code"], code, "{line}: {record}");
        assert!(record["error"].as_str().unwrap().to_lowercase().contains(words), "{line}: {record}");
        assert!(!record["hints"].as_array().unwrap().is_empty(), "{line}");
    }
    for line in ["code packs --budget 3", "code pin Node --minutes 3", "code status --limit 3"] {
        assert_eq!(run_line(&home, line).expect(1).records()[0]["code"], "INVALID_ARGUMENT", "{line}");
    }
    assert!(!home.path().join(".loci").exists());
}

/// A question leaves no trace in a tree that has no folder, and one in a tree that has.
#[test]
fn questions_are_remembered_only_where_there_is_a_folder() {
    let home = tree();
    for line in ["code outline Node", "code member Node.Name", "code status"] {
        run_line(&home, line).expect(0);
    }
    for line in ["code semantic Node", "code window", "code packs", "code context list", "code context clear"]
    {
        run_line(&home, line).expect(2);
    }
    assert_eq!(said(&home, "code unpin Node")["changed"], false);
    assert_eq!(said(&home, "code dismiss Node")["changed"], false);
    assert!(!home.path().join(".loci").exists());
    said(&home, "code pin NodeStore");
    let ignored = fs::read_to_string(at(&home, ".gitignore")).unwrap();
    for name in ["access.json", "lock", "prompt_window.md"] {
        assert!(ignored.contains(name), "{ignored}");
    }
    run_line(&home, "code outline Node").expect(0);
    run_line(&home, "code resolve Engine").expect(0);
    let access: Value = serde_json::from_slice(&fs::read(at(&home, "access.json")).unwrap()).unwrap();
    assert_eq!(access["recent"].as_array().unwrap().len(), 1);
    assert_eq!((&access["recent"][0]["name"], &access["pinned"][0]["name"]), (&NODE.into(), &STORE.into()));
}

#[test]
fn of_names_that_fit_alike_the_one_asked_for_last_comes_first() {
    let home = Home::new();
    for space in ["A", "B", "C"] {
        let text = format!("namespace {space} {{ public class Twin {{ }} public class Lone{space} {{ }} }}");
        write_file(&home.path().join(format!("src/{space}.cs")), text.as_bytes());
    }
    let first = || paths(&said(&home, "code resolve Twin")["candidates"])[0].to_string();
    said(&home, "code pin LoneA");
    assert_eq!(first(), "A.Twin");
    run_line(&home, "code outline C.Twin").expect(0);
    assert_eq!(first(), "C.Twin");
    run_line(&home, "code outline B.Twin").expect(0);
    assert_eq!(first(), "B.Twin");
    let hints = run_line(&home, "code outline Twin").expect(1).records().remove(0)["hints"].take();
    assert_eq!(hints, serde_json::json!(["B.Twin", "C.Twin", "A.Twin"]));
}

#[test]
fn the_window_shows_what_is_pinned_in_focus_and_asked_for_lately() {
    let home = tree();
    write_file(
        &home.path().join("src/Far.cs"),
        b"namespace Memo.Far { public class Island { public int Size; } }",
    );
    said(&home, "code pin Engine");
    assert_eq!(regions(&said(&home, "code window")), [("Pinned", "crate.Engine")]);
    run_line(&home, "code outline Island").expect(0);
    run_line(&home, "code outline NodeStore").expect(0);
    let window = said(&home, "code window");
    assert_eq!(
        regions(&window),
        [("Pinned", "crate.Engine"), ("Focus", STORE), ("Focus", NODE), ("Recent", "Memo.Far.Island")]
    );
    assert_eq!((&window["path"], &window["changed"]), (&".loci/prompt_window.md".into(), &true.into()));
    let text = fs::read_to_string(at(&home, "prompt_window.md")).unwrap();
    assert_eq!(text, window["window"].as_str().unwrap());
    assert!(text.contains("## Focus") && text.contains("Node Get(int id)"), "{text}");
    assert!(said(&home, "code window").get("changed").is_none(), "the same bytes are not written again");
    // A budget keeps the lead of the work longest, and is kept to.
    for budget in [30, 45, 60, 75, 90, 300] {
        let window = said(&home, &format!("code window --budget {budget} --json"));
        assert!(window["tokens"].as_u64() <= Some(budget), "{budget}: {window}");
    }
    let small = said(&home, "code window --budget 66");
    assert!(regions(&small).contains(&("Focus", STORE)), "{small}");
    assert!(!regions(&small).contains(&("Recent", "Memo.Far.Island")), "{small}");
    assert!(run_line(&home, "code window -o text").expect(0).text().contains("## Recent"));
    // What is dismissed is gone until somebody asks for it.
    assert_eq!(said(&home, "code dismiss Island")["changed"], true);
    assert!(!regions(&said(&home, "code window")).contains(&("Recent", "Memo.Far.Island")));
    run_line(&home, "code outline Island").expect(0);
    assert!(regions(&said(&home, "code window")).contains(&("Focus", "Memo.Far.Island")));
    let pinned = said(&home, "code dismiss Engine");
    assert!(pinned["notes"][0].as_str().unwrap().contains("is pinned and stays in the window"), "{pinned}");
    assert_eq!(said(&home, "code unpin engine")["changed"], true);
    assert!(!regions(&said(&home, "code window")).iter().any(|(region, _)| *region == "Pinned"));
}

#[test]
fn the_types_of_a_pack_come_first_among_the_recent() {
    let home = Home::new();
    for name in ["One", "Two", "Three", "Four"] {
        write_file(&home.path().join(format!("{name}.cs")), format!("public class {name} {{ }}").as_bytes());
    }
    said(&home, "code pack mine --filter type:One");
    for name in ["One", "Two", "Three", "Four"] {
        run_line(&home, &format!("code outline {name}")).expect(0);
    }
    let recent = |line: &str| {
        let window = said(&home, line);
        let all = regions(&window).into_iter().filter(|(region, _)| *region == "Recent");
        all.map(|(_, path)| path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(recent("code window"), ["Three", "Two", "One"]);
    assert_eq!(recent("code window --pack mine"), ["Three", "One", "Two"]);
}

#[test]
fn what_the_work_is_about_is_said_listed_and_cleared() {
    let home = tree();
    let added = said(&home, "code context add NodeStore");
    assert_eq!((paths(&added["context"]), &added["changed"]), (vec![STORE], &true.into()));
    let until = |focus: &Value| focus["context"][0]["until"].as_str().unwrap().to_string();
    let longer = said(&home, "code context add NodeStore --minutes 600");
    assert!(until(&longer) > until(&added), "{longer}");
    assert_eq!(until(&said(&home, "code context list")), until(&longer));
    assert_eq!(regions(&said(&home, "code window")), [("Focus", STORE), ("Focus", NODE)]);
    assert_eq!(said(&home, "code context clear")["changed"], true);
    run_line(&home, "code context list").expect(2);
    run_line(&home, "code window").expect(2);
}

#[test]
fn a_note_is_told_with_its_state() {
    let home = tree();
    let none = run_line(&home, "code semantic Node").expect(2).records().remove(0);
    assert_eq!(none["state"], "none");
    assert!(
        none["next"].as_str().unwrap().contains("`StructureHash: ") && none.get("text").is_none(),
        "{none}"
    );
    let path = home.path().join(none["path"].as_str().unwrap());
    write_file(
        &path,
        b"# Semantic: Memo.Core.Node\nStructureHash: 00000000\nImplHash: 00000000\n\nROLE: holds a name\n",
    );
    let stale = said(&home, "code semantic Node");
    assert_eq!((&stale["state"], stale["why"].as_array().unwrap().len()), (&"stale".into(), 2));
    assert!(stale["text"].as_str().unwrap().contains("ROLE: holds a name"));
    let hash = |n: usize| {
        let why = stale["why"][n].as_str().unwrap();
        why.rsplit_once(", ").unwrap().1.trim_end_matches(" now").to_string()
    };
    let head = format!("StructureHash: {}\nImplHash: {}\n\nROLE: holds a name\n", hash(0), hash(1));
    write_file(&path, head.as_bytes());
    let cached = said(&home, "code semantic Node");
    assert_eq!(cached["state"], "cached");
    assert!(cached.get("why").is_none() && cached.get("next").is_none());
    assert_eq!(said(&home, "code status")["semanticQueueLength"], 0);
    // It stands in the window and in packs beside the outline.
    assert!(said(&home, "code window")["window"].as_str().unwrap().contains("ROLE: holds a name"));
    said(&home, "code pack p --filter type:Node");
    assert!(fs::read_to_string(at(&home, "packs/p.md")).unwrap().contains("ROLE: holds a name"));
    write_file(
        &home.path().join("src/Node.cs"),
        b"namespace Memo.Core { public class Node { public string Name; public int Age; } }",
    );
    let stale = said(&home, "code semantic Node");
    assert!(stale["why"][0].as_str().unwrap().starts_with("its structure has changed"), "{stale}");
    let status = said(&home, "code status");
    assert_eq!((&status["notes"], &status["semanticQueueLength"]), (&1.into(), &1.into()));
    assert!(run_line(&home, "code semantic Node -o text").expect(0).text().contains("note: stale"));
}

#[test]
fn a_note_ages_by_what_its_type_uses_and_not_by_what_nobody_can_see() {
    let home = Home::new();
    let file =
        |name: &str, text: &str| write_file(&home.path().join(format!("src/{name}.cs")), text.as_bytes());
    file("Leaf", "namespace N { public class Leaf { public int A; } }");
    let user = |body: &str| {
        let text = "namespace N { public class User { Leaf leaf; public int Ask() { return One(); } int One() { return BODY; } } }";
        file("User", &text.replace("BODY", body));
    };
    user("1");
    let note = run_line(&home, "code semantic User").expect(2).records().remove(0);
    let path = home.path().join(note["path"].as_str().unwrap());
    write_file(&path, b"StructureHash: 0\nImplHash: 0\n\nROLE: asks\n");
    let why = said(&home, "code semantic User")["why"].clone();
    let hash =
        |n: usize| why[n].as_str().unwrap().rsplit_once(", ").unwrap().1.trim_end_matches(" now").to_string();
    write_file(
        &path,
        format!("StructureHash: {}\nImplHash: {}\n\nROLE: asks\n", hash(0), hash(1)).as_bytes(),
    );
    assert_eq!(said(&home, "code semantic User")["state"], "cached");
    user("2");
    let inside = said(&home, "code semantic User");
    assert_eq!(inside["state"], "cached", "{inside}");
    assert!(inside["why"][0].as_str().unwrap().contains("nobody else can see"), "{inside}");
    user("1");
    file("Leaf", "namespace N { public class Leaf { public int A; public int B; } }");
    let reached = said(&home, "code semantic User");
    assert_eq!(reached["state"], "stale", "{reached}");
    assert!(reached["why"].to_string().contains("something it uses has changed"), "{reached}");
}

#[test]
fn a_damaged_file_is_put_aside_and_told_and_costs_no_answer() {
    let home = tree();
    said(&home, "code pin Node");
    fs::write(at(&home, "access.json"), "{\"recent\": [").unwrap();
    let told = said(&home, "code resolve Node");
    assert!(told["coverage"]["notes"][0].as_str().unwrap().contains("cannot be understood"), "{told}");
    let told = said(&home, "code outline Node");
    assert!(told["coverage"]["notes"].to_string().contains("access.json.damaged"), "{told}");
    assert_eq!(fs::read_to_string(at(&home, "access.json.damaged")).unwrap(), "{\"recent\": [");
    assert!(said(&home, "code outline Node")["coverage"].get("notes").is_none());
}

#[test]
fn nothing_is_written_through_a_link() {
    let home = tree();
    let elsewhere = Home::new();
    std::os::unix::fs::symlink(elsewhere.path(), home.path().join(".loci")).unwrap();
    for line in ["code pin Node", "code context add Node", "code pack core --filter type:Node"] {
        let refused = run_line(&home, line).expect(1).records().remove(0);
        assert!(refused["error"].as_str().unwrap().contains(".loci` is a symbolic link"), "{refused}");
    }
    let told = said(&home, "code outline Node");
    assert!(told["coverage"]["notes"][0].as_str().unwrap().contains("is a symbolic link"), "{told}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// Twelve processes at once, each with another type: none forgets what another noted.
#[test]
fn several_at_once_lose_nothing() {
    let home = Home::new();
    let names: Vec<String> = (0..12).map(|n| format!("Type{n}")).collect();
    for name in &names {
        write_file(&home.path().join(format!("{name}.cs")), format!("public class {name} {{ }}").as_bytes());
    }
    said(&home, "code pin Type0");
    let run = |name: &String| {
        let verb = if name.ends_with('1') { "outline" } else { "pin" };
        let (path, args) = (home.path().to_path_buf(), ["code".to_string(), verb.to_string(), name.clone()]);
        std::thread::spawn(move || -> Finished {
            run_command(command(&path, &args.iter().map(String::as_str).collect::<Vec<_>>()))
        })
    };
    let running: Vec<_> = names.iter().map(run).collect();
    running.into_iter().for_each(|thread| drop(thread.join().unwrap().expect(0)));
    let access: Value = serde_json::from_slice(&fs::read(at(&home, "access.json")).unwrap()).unwrap();
    let noted = |list: &str| access[list].as_array().unwrap().len();
    assert_eq!((noted("pinned"), noted("recent")), (10, 2), "{access}");
}

#[test]
fn secrets_in_source_come_into_no_answer_and_no_file() {
    let home = tree();
    let mut known = mask::specimen::generate_secrets(1).into_iter();
    let secret = known.find(|one| one.kind.starts_with("github")).unwrap().secret.concat();
    let source =
        format!("/// <summary>Opens with {secret} today.</summary>\npublic class Vault {{ Node n; }}");
    write_file(&home.path().join("src/Vault.cs"), source.as_bytes());
    said(&home, "code pin Vault");
    said(&home, "code pack vault --filter type:Vault");
    let outline = said(&home, "code outline Vault").to_string();
    let window = said(&home, "code window").to_string();
    let pack = fs::read_to_string(at(&home, "packs/vault.md")).unwrap();
    let kept = fs::read_to_string(at(&home, "prompt_window.md")).unwrap();
    for text in [outline, window, pack, kept] {
        assert!(text.contains("Opens with") && !text.contains(&secret), "{text}");
    }
}

/// A disk of 200 KB, full and then read-only: what is to be kept is refused in plain words, what is asked is still answered.
#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_full_or_read_only_disk_is_told_and_questions_are_answered() {
    needs::mount_namespace();
    let home = Home::new();
    fs::create_dir(home.path().join("box")).unwrap();
    let script = "mount -t tmpfs -o size=200k tmpfs box && cd box && echo 'public class A { }' >a.cs && \"$LOCI\" code pin A
        head -c 300000 /dev/zero >fill 2>/dev/null; \"$LOCI\" code pack core --filter type:A; \"$LOCI\" code outline A
        mount -o remount,ro \"$HOME/box\"; \"$LOCI\" code pin A; \"$LOCI\" code outline A";
    let mut run = Command::new("unshare");
    set_environment(&mut run, home.path());
    run.env("LOCI", binary()).env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").args(["-Urm", "sh", "-c", script]);
    let told = run_command(run).expect(0).records();
    assert_eq!((&told[0]["changed"], &told[1]["code"]), (&true.into(), &"DISK_FULL".into()), "{told:?}");
    assert!(told[2]["coverage"]["notes"][0].as_str().unwrap().contains("no room left"), "{}", told[2]);
    assert_eq!(told[3]["code"], "READ_ERROR", "{}", told[3]);
    assert!(told[3]["error"].as_str().unwrap().contains("read-only"), "{}", told[3]);
    assert_eq!(told[4]["outline"], told[2]["outline"]);
}
