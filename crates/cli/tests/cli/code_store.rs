//! The stored index of a codebase: incremental updates, and identical files after deletion, damage, kills and
//! concurrent runs.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use testutil::{Home, binary, run_line, set_environment, without_last_change, write_file};

const CLASS_COUNT: usize = 40;

fn class_source(n: usize, body: &str) -> String {
    let other = (n * 7 + 1) % CLASS_COUNT;
    format!(
        "namespace Far.N{} {{ /// <summary>Number {n}.</summary>\npublic class C{n} {{ Far.N{}.C{other} other; public int F{n}(int a) {{ return {body}; }} }} }}",
        n % 5,
        other % 5
    )
}

/// Two projects with a few dozen types that use each other.
fn home_with_projects() -> Home {
    let home = Home::new();
    write_file(&home.path().join("A/A.csproj"), b"<Project Sdk=\"Microsoft.NET.Sdk\" />");
    write_file(&home.path().join("B/Cargo.toml"), b"[package]\nname = \"b\"\n");
    write_file(
        &home.path().join("B/src/lib.rs"),
        b"pub struct Engine;\nimpl Engine { pub fn run(&self) {} }\n",
    );
    for n in 0..CLASS_COUNT {
        write_file(&home.path().join(format!("A/D{}/C{n}.cs", n % 4)), class_source(n, "1").as_bytes());
    }
    home
}

fn index_code(home: &Home) -> Value {
    run_line(home, "code index -o json").expect(0).records().remove(0)
}

/// Every file in `.loci` except the personal ones, `lock` and `access.json`.
fn stored_files(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
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
fn indexing_writes_readable_files_and_skips_unchanged_ones() {
    let home = home_with_projects();
    let response = index_code(&home);
    assert_eq!(
        (&response["typesIndexed"], &response["changes"]),
        (&(CLASS_COUNT + 1).into(), &Value::Array(Vec::new()))
    );
    assert_eq!(
        (&response["work"]["filesParsed"], &response["coverage"]["files"]),
        (&(CLASS_COUNT + 1).into(), &(CLASS_COUNT + 1).into())
    );
    let first = stored_files(&home);
    let outlines = first.keys().filter(|path| path.to_string_lossy().ends_with(".outline.md")).count();
    assert_eq!(outlines, CLASS_COUNT + 1);
    let list = String::from_utf8(first[Path::new(".loci/index/A!D1.jsonl")].clone()).unwrap();
    assert!(list.lines().count() == CLASS_COUNT / 4 && list.contains("\"structureHash\""), "{list}");
    let again = index_code(&home);
    assert_eq!((&again["work"]["filesParsed"], &again["work"]["filesWritten"]), (&0.into(), &0.into()));
    assert_eq!(stored_files(&home), first);
    let other = home.path().join("B");
    let response = run_line(&home, "code index --root B -o json").expect(0).records().remove(0);
    assert_eq!((&response["typesIndexed"], other.join(".loci/index.json").is_file()), (&1.into(), true));
}

#[test]
fn an_edit_is_classified_and_only_affected_files_are_reindexed() {
    let home = home_with_projects();
    index_code(&home);
    let first = stored_files(&home);
    write_file(&home.path().join("A/D1/C1.cs"), class_source(1, "2").as_bytes());
    let response = index_code(&home);
    assert_eq!(response["changes"][0]["changeClass"], "PublicBehavior", "{response}");
    let member = &response["changes"][0]["members"][0];
    let facts = ["key", "changeClass", "change"].map(|field| member[field].as_str().unwrap_or_default());
    assert_eq!(facts, ["F1(int)", "PublicBehavior", "Changed"], "{response}");
    let work = &response["work"];
    assert_eq!((&work["filesParsed"], &work["typesHashed"]), (&1.into(), &1.into()), "{work}");
    assert_eq!(work["filesWritten"], 2, "the outline of the type and the list of its folder: {work}");
    // A structural change also reaches the types that depend on it.
    write_file(
        &home.path().join("A/D1/C1.cs"),
        class_source(1, "2").replace("F1(int a)", "F1(long a)").as_bytes(),
    );
    let response = index_code(&home);
    let reached: Vec<(&str, &str)> = response["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["path"].as_str().unwrap(), it["changeClass"].as_str().unwrap()))
        .collect();
    assert_eq!(reached, [("Far.N1.C1", "Structure"), ("Far.N0.C0", "Structure-Dependency")], "{response}");
    // A query updates an existing index in the same way.
    write_file(&home.path().join("A/D1/C1.cs"), class_source(1, "1").as_bytes());
    run_line(&home, "code outline C1").expect(0);
    let now = stored_files(&home);
    assert_ne!(now, first, "rows tell the class of the last change");
    assert_eq!(without_last_change(now), without_last_change(first));
    // The old name of a renamed type resolves to the new one.
    let id =
        run_line(&home, "code outline C1 -o json").expect(0).records().remove(0)["resolved"]["typeId"].take();
    let note = |id: &Value| home.path().join(format!(".loci/types/{}.semantic.md", id.as_str().unwrap()));
    write_file(&note(&id), b"ROLE: counts\n");
    write_file(
        &home.path().join("A/D1/C1.cs"),
        class_source(1, "1").replace("class C1 ", "class Renamed ").as_bytes(),
    );
    let response = index_code(&home);
    assert_eq!(response["aliases"][0]["new"], "Far.N1.Renamed", "{response}");
    let outline = run_line(&home, "code outline Far.N1.C1 -o json").expect(0).records().remove(0);
    assert_eq!(outline["resolved"]["path"], "Far.N1.Renamed");
    assert!(
        outline["coverage"]["notes"][0].as_str().unwrap().contains("was renamed to `Far.N1.Renamed`"),
        "{outline}"
    );
}

#[test]
fn deleted_or_damaged_files_are_rebuilt_identically() {
    let home = home_with_projects();
    index_code(&home);
    let first = stored_files(&home);
    let cache = home.path().join(".cache/loci/code");
    assert!(cache.is_dir(), "the cache is outside the tree");
    fs::remove_dir_all(home.path().join(".loci/types")).unwrap();
    index_code(&home);
    assert_eq!(stored_files(&home), first, "`.loci/types` deleted");
    fs::remove_dir_all(home.path().join(".loci")).unwrap();
    index_code(&home);
    assert_eq!(stored_files(&home), first, "`.loci` deleted");
    fs::remove_dir_all(&cache).unwrap();
    index_code(&home);
    assert_eq!(stored_files(&home), first, "cache deleted");
    for entry in fs::read_dir(&cache).unwrap().flatten() {
        fs::write(entry.path(), "no database").unwrap();
    }
    run_line(&home, "code outline C1").expect(0);
    index_code(&home);
    assert_eq!(stored_files(&home), first, "cache damaged");
}

/// `LOCI_KILLS` sets the number of kills: `LOCI_KILLS=200 cargo test -p loci --test cli -- code_store::`
#[test]
fn a_killed_index_run_is_completed_by_the_next() {
    let home = home_with_projects();
    index_code(&home);
    let expected = stored_files(&home);
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
        index_code(&home);
        assert_eq!(stored_files(&home), expected, "after kill {n}");
    }
}

#[test]
fn concurrent_index_runs_leave_the_same_files_as_one() {
    let home = home_with_projects();
    index_code(&home);
    let expected = stored_files(&home);
    for _ in 0..12 {
        fs::remove_dir_all(home.path().join(".loci")).unwrap();
        fs::remove_dir_all(home.path().join(".cache/loci/code")).unwrap();
        let start = || {
            let mut command = Command::new(binary());
            set_environment(&mut command, home.path());
            command.args(["code", "index"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        for child in [start(), start(), start()] {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(stored_files(&home), expected);
    }
}

#[test]
fn the_cache_of_a_deleted_tree_is_removed() {
    let home = home_with_projects();
    for name in ["one", "two", "three"] {
        write_file(&home.path().join(name).join("X.cs"), b"class X { }");
    }
    let count_caches = || {
        let listed = fs::read_dir(home.path().join(".cache/loci/code")).unwrap().flatten();
        listed.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "db")).count()
    };
    run_line(&home, "code outline X --root one").expect(0);
    run_line(&home, "code outline X --root two").expect(0);
    assert_eq!(count_caches(), 2);
    fs::remove_dir_all(home.path().join("one")).unwrap();
    run_line(&home, "code outline X --root two").expect(0);
    assert_eq!(count_caches(), 2, "caches are only cleaned up when a new one is created");
    run_line(&home, "code outline X --root three").expect(0);
    assert_eq!(count_caches(), 2);
}

#[test]
fn no_secret_is_written_into_a_tree() {
    let home = home_with_projects();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text = format!(
        "export const token = \"{secret}\";\nexport class Holder {{ url = \"https://bob:{secret}@host\"; }}\n"
    );
    write_file(&home.path().join("web/a.ts"), text.as_bytes());
    write_file(&home.path().join(format!("web/{secret}.ts")), b"export class Named { }\n");
    index_code(&home);
    run_line(&home, "code pack all --filter 'type:*'").expect(0);
    run_line(&home, "code pin Named").expect(0);
    for (path, bytes) in stored_files(&home) {
        assert!(!String::from_utf8_lossy(&bytes).contains(&secret), "{}", path.display());
    }
}

#[test]
fn without_a_writable_cache_the_outline_is_the_same() {
    let home = home_with_projects();
    let outline = |home: &Home| run_line(home, "code outline C3 -o json").expect(0).records().remove(0);
    let cached = outline(&home);
    fs::remove_dir_all(home.path().join(".cache/loci/code")).unwrap();
    // A file takes the place of the folder.
    fs::write(home.path().join(".cache/loci/code"), "").unwrap();
    let uncached = outline(&home);
    assert_eq!(uncached["outline"], cached["outline"]);
    assert!(uncached["coverage"]["notes"][0].as_str().unwrap().contains("built in memory"), "{uncached}");
}

#[test]
fn a_scip_index_outranks_name_resolution() {
    let home = Home::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../code/testdata/scip/typescript");
    for name in ["package.json", "tsconfig.json", "src/index.ts", "src/store.ts", "src/use.ts", "index.scip"]
    {
        write_file(&home.path().join(name), &fs::read(fixture.join(name)).unwrap());
    }
    let used = run_line(&home, "code usages Store -o json").expect(0).records().remove(0);
    let certainties: Vec<&str> =
        used["usages"].as_array().unwrap().iter().map(|it| it["certainty"].as_str().unwrap()).collect();
    assert!(!certainties.is_empty() && certainties.iter().all(|it| *it == "exact"), "{used}");
    write_file(&home.path().join("index.scip"), b"\xff\xffnot an index");
    let used = run_line(&home, "code usages Store -o json").expect(0).records().remove(0);
    assert!(used["usages"][0]["certainty"] == "certain" && !used["coverage"]["notes"].is_null(), "{used}");
}
