//! What is kept of a code base: the same files whatever happened on the way, at the price of what changed.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use testutil::{Home, binary, run_line, set_environment, write_file};

const MANY: usize = 40;

fn class(n: usize, body: &str) -> String {
    let other = (n * 7 + 1) % MANY;
    format!(
        "namespace Far.N{} {{ /// <summary>Number {n}.</summary>\npublic class C{n} {{ Far.N{}.C{other} other; public int F{n}(int a) {{ return {body}; }} }} }}",
        n % 5,
        other % 5
    )
}

/// A tree of two projects and some dozens of types that use each other.
fn tree() -> Home {
    let home = Home::new();
    write_file(&home.path().join("A/A.csproj"), b"<Project Sdk=\"Microsoft.NET.Sdk\" />");
    write_file(&home.path().join("B/Cargo.toml"), b"[package]\nname = \"b\"\n");
    write_file(
        &home.path().join("B/src/lib.rs"),
        b"pub struct Engine;\nimpl Engine { pub fn run(&self) {} }\n",
    );
    for n in 0..MANY {
        write_file(&home.path().join(format!("A/D{}/C{n}.cs", n % 4)), class(n, "1").as_bytes());
    }
    home
}

fn index(home: &Home) -> Value {
    run_line(home, "code index -o json").expect(0).records().remove(0)
}

/// Every file of `.loci` but what is personal.
fn kept(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.file_name().is_some_and(|name| name != "lock" && name != "access.json") {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&home.path().join(".loci"), &mut found);
    found
        .into_iter()
        .map(|(path, bytes)| (path.strip_prefix(home.path()).unwrap().to_path_buf(), bytes))
        .collect()
}

#[test]
fn an_index_is_files_that_people_read_and_is_written_once() {
    let home = tree();
    let told = index(&home);
    assert_eq!((&told["typesIndexed"], &told["changes"]), (&(MANY + 1).into(), &Value::Array(Vec::new())));
    assert_eq!(
        (&told["work"]["filesParsed"], &told["coverage"]["files"]),
        (&(MANY + 1).into(), &(MANY + 1).into())
    );
    let first = kept(&home);
    let outlines = first.keys().filter(|path| path.to_string_lossy().ends_with(".outline.md")).count();
    assert_eq!(outlines, MANY + 1);
    let list = String::from_utf8(first[Path::new(".loci/index/A!D1.jsonl")].clone()).unwrap();
    assert!(list.lines().count() == MANY / 4 && list.contains("\"structureHash\""), "{list}");
    let again = index(&home);
    assert_eq!((&again["work"]["filesParsed"], &again["work"]["filesWritten"]), (&0.into(), &0.into()));
    assert_eq!(kept(&home), first);
    let other = home.path().join("B");
    let told = run_line(&home, "code index --root B -o json").expect(0).records().remove(0);
    assert_eq!((&told["typesIndexed"], other.join(".loci/index.json").is_file()), (&1.into(), true));
}

#[test]
fn what_an_edit_means_is_told_and_costs_what_it_touches() {
    let home = tree();
    index(&home);
    let first = kept(&home);
    write_file(&home.path().join("A/D1/C1.cs"), class(1, "2").as_bytes());
    let told = index(&home);
    assert_eq!(told["changes"][0]["changeClass"], "PublicBehavior", "{told}");
    assert_eq!(told["changes"][0]["members"][0], "F1(int): PublicBehavior Changed", "{told}");
    let work = &told["work"];
    assert_eq!((&work["filesParsed"], &work["typesHashed"]), (&1.into(), &1.into()), "{work}");
    assert_eq!(work["filesWritten"], 2, "its outline and the list of its folder: {work}");
    // What others rely on reaches them.
    write_file(&home.path().join("A/D1/C1.cs"), class(1, "2").replace("F1(int a)", "F1(long a)").as_bytes());
    let told = index(&home);
    let reached: Vec<(&str, &str)> = told["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["path"].as_str().unwrap(), it["changeClass"].as_str().unwrap()))
        .collect();
    assert_eq!(reached, [("Far.N1.C1", "Structure"), ("Far.N0.C0", "Structure-Dependency")], "{told}");
    // A question does the same, where the tree has an index.
    write_file(&home.path().join("A/D1/C1.cs"), class(1, "1").as_bytes());
    run_line(&home, "code outline C1").expect(0);
    assert_eq!(kept(&home), first);
    // A name that changes leads to the new one, and takes what was written about it along.
    let id =
        run_line(&home, "code outline C1 -o json").expect(0).records().remove(0)["resolved"]["typeId"].take();
    let note = |id: &Value| home.path().join(format!(".loci/types/{}.semantic.md", id.as_str().unwrap()));
    write_file(&note(&id), b"ROLE: counts\n");
    write_file(
        &home.path().join("A/D1/C1.cs"),
        class(1, "1").replace("class C1 ", "class Renamed ").as_bytes(),
    );
    let told = index(&home);
    assert_eq!(told["aliases"][0]["new"], "Far.N1.Renamed", "{told}");
    let outline = run_line(&home, "code outline Far.N1.C1 -o json").expect(0).records().remove(0);
    assert_eq!(outline["resolved"]["path"], "Far.N1.Renamed");
    assert!(
        outline["coverage"]["notes"][0].as_str().unwrap().contains("is `Far.N1.Renamed` now"),
        "{outline}"
    );
}

#[test]
fn the_same_files_come_back_whatever_was_taken_away() {
    let home = tree();
    index(&home);
    let first = kept(&home);
    let cache = home.path().join(".cache/loci/code");
    assert!(cache.is_dir(), "what is known is kept apart from the tree");
    fs::remove_dir_all(home.path().join(".loci/types")).unwrap();
    index(&home);
    assert_eq!(kept(&home), first, "a part of the folder");
    fs::remove_dir_all(home.path().join(".loci")).unwrap();
    index(&home);
    assert_eq!(kept(&home), first, "the folder");
    fs::remove_dir_all(&cache).unwrap();
    index(&home);
    assert_eq!(kept(&home), first, "what is kept apart");
    for entry in fs::read_dir(&cache).unwrap().flatten() {
        fs::write(entry.path(), "no database").unwrap();
    }
    run_line(&home, "code outline C1").expect(0);
    index(&home);
    assert_eq!(kept(&home), first, "damaged");
}

/// `LOCI_KILLS` asks for more: `LOCI_KILLS=200 cargo test -p loci --test cli -- code_store::`
#[test]
fn a_killed_index_is_finished_by_the_next() {
    let home = tree();
    index(&home);
    let whole = kept(&home);
    let kills: u64 = testutil::needs::number_variable("LOCI_KILLS", 24);
    for n in 0..kills {
        if n % 3 == 0 {
            let _ = fs::remove_dir_all(home.path().join(".cache/loci/code"));
        }
        if n % 2 == 0 {
            let _ = fs::remove_dir_all(home.path().join(".loci"));
        }
        let mut command = Command::new(binary());
        set_environment(&mut command, home.path());
        command.args(["code", "index"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(n * 7 % 150));
        let _ = child.kill();
        child.wait().unwrap();
        index(&home);
        assert_eq!(kept(&home), whole, "after kill {n}");
    }
}

#[test]
fn two_that_index_at_once_leave_what_one_would() {
    let home = tree();
    index(&home);
    let whole = kept(&home);
    for _ in 0..12 {
        fs::remove_dir_all(home.path().join(".loci")).unwrap();
        fs::remove_dir_all(home.path().join(".cache/loci/code")).unwrap();
        let start = || {
            let mut command = Command::new(binary());
            set_environment(&mut command, home.path());
            command.args(["code", "index"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        for child in [start(), start(), start()] {
            let ended = child.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        assert_eq!(kept(&home), whole);
    }
}

#[test]
fn what_is_kept_for_a_tree_that_is_gone_goes_with_it() {
    let home = tree();
    for name in ["one", "two", "three"] {
        write_file(&home.path().join(name).join("X.cs"), b"class X { }");
    }
    let kept = || {
        let listed = fs::read_dir(home.path().join(".cache/loci/code")).unwrap().flatten();
        listed.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "db")).count()
    };
    run_line(&home, "code outline X --root one").expect(0);
    run_line(&home, "code outline X --root two").expect(0);
    assert_eq!(kept(), 2);
    fs::remove_dir_all(home.path().join("one")).unwrap();
    run_line(&home, "code outline X --root two").expect(0);
    assert_eq!(kept(), 2, "nobody looks before something new is kept");
    run_line(&home, "code outline X --root three").expect(0);
    assert_eq!(kept(), 2);
}

#[test]
fn no_secret_is_written_into_a_tree() {
    let home = tree();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text = format!(
        "export const token = \"{secret}\";\nexport class Holder {{ url = \"https://bob:{secret}@host\"; }}\n"
    );
    write_file(&home.path().join("web/a.ts"), text.as_bytes());
    write_file(&home.path().join(format!("web/{secret}.ts")), b"export class Named { }\n");
    index(&home);
    run_line(&home, "code pack all --filter 'type:*'").expect(0);
    run_line(&home, "code pin Named").expect(0);
    for (path, bytes) in kept(&home) {
        assert!(!String::from_utf8_lossy(&bytes).contains(&secret), "{}", path.display());
    }
}

#[test]
fn without_a_place_to_keep_anything_the_answer_is_the_same() {
    let home = tree();
    let outline = |home: &Home| run_line(home, "code outline C3 -o json").expect(0).records().remove(0);
    let kept = outline(&home);
    fs::remove_dir_all(home.path().join(".cache/loci/code")).unwrap();
    // a file where the folder should be
    fs::write(home.path().join(".cache/loci/code"), "").unwrap();
    let read = outline(&home);
    assert_eq!(read["outline"], kept["outline"]);
    assert!(read["coverage"]["notes"][0].as_str().unwrap().contains("read whole"), "{read}");
}

#[test]
fn what_a_compiler_said_outranks_what_names_mean() {
    let home = Home::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../code/testdata/scip/typescript");
    for name in ["package.json", "tsconfig.json", "src/index.ts", "src/store.ts", "src/use.ts", "index.scip"]
    {
        write_file(&home.path().join(name), &fs::read(fixture.join(name)).unwrap());
    }
    let used = run_line(&home, "code usages Store -o json").expect(0).records().remove(0);
    let sure: Vec<&str> =
        used["usages"].as_array().unwrap().iter().map(|it| it["certainty"].as_str().unwrap()).collect();
    assert!(!sure.is_empty() && sure.iter().all(|it| *it == "exact"), "{used}");
    write_file(&home.path().join("index.scip"), b"\xff\xffnot an index");
    let used = run_line(&home, "code usages Store -o json").expect(0).records().remove(0);
    assert!(used["usages"][0]["certainty"] == "certain" && !used["coverage"]["notes"].is_null(), "{used}");
}
