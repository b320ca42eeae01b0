//! Hostile source trees: a query still succeeds within bounds and reports which files were not read.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;
use testutil::{Home, can_run, command, peak_memory, run_command, run_line, write_file};

fn home_with_sound_type() -> Home {
    let home = Home::new();
    write_file(&home.path().join("src/Sound.cs"), b"public class Sound { public int Size; }");
    home
}

/// Outlines the type `Sound`, which must be found in any case, and returns the coverage.
fn outline_coverage(home: &Home) -> Value {
    let response = run_line(home, "code outline Sound --threads 2").expect(0).records().remove(0);
    assert!(response["outline"].as_str().unwrap().contains("Size"), "{response}");
    assert!(run_line(home, "code outline Sound -o text").expect(0).text().contains("Size"));
    response["coverage"].clone()
}

#[test]
fn special_files_are_not_opened() {
    let home = home_with_sound_type();
    let fifo = home.path().join("src/x.cs");
    assert!(can_run("mkfifo", &[fifo.to_str().unwrap()]), "`mkfifo` is part of coreutils");
    fs::create_dir_all(home.path().join("src/y.cs/inner")).unwrap();
    symlink("/dev/zero", home.path().join("src/z.cs")).unwrap();
    symlink(home.path().join("src"), home.path().join("src/again")).unwrap();
    symlink("loop", home.path().join("src/loop")).unwrap();
    let coverage = outline_coverage(&home);
    assert_eq!((&coverage["files"], &coverage["notRead"]), (&1.into(), &1.into()), "{coverage}");
    assert!(
        coverage["unread"][0].as_str().unwrap().starts_with("src/x.cs: not a regular file"),
        "{coverage}"
    );
}

#[test]
fn files_left_out_by_conditions_are_counted() {
    let home = home_with_sound_type();
    write_file(&home.path().join("src/Off.cs"), b"#if NOWHERE\npublic class Off { }\n#endif\n");
    assert_eq!(outline_coverage(&home)["inactive"], 1);
    let shown = run_line(&home, "code outline Sound -o text").expect(0);
    let text = shown.text();
    assert!(text.contains("of 2 files: 1 left out by conditions such as #if"), "{text}");
}

#[test]
fn an_oversized_file_is_reported_and_not_read() {
    let home = home_with_sound_type();
    let large = fs::File::create(home.path().join("src/Large.cs")).unwrap();
    large.set_len(200 << 20).unwrap();
    write_file(&home.path().join("src/Full.cs"), &b"// nothing but a comment that goes on\n".repeat(300_000));
    let coverage = outline_coverage(&home);
    assert_eq!((&coverage["files"], &coverage["notRead"]), (&1.into(), &2.into()), "{coverage}");
    let unread = coverage["unread"].to_string();
    assert!(unread.contains("src/Large.cs: too large: 200 MB, the limit is 8 MB"), "{unread}");
    let (code, peak, _) = peak_memory(command(home.path(), &["code", "outline", "Sound"]));
    assert_eq!(code, Some(0));
    // In kilobytes: the file itself is 200 MB.
    assert!(peak < 150_000, "{peak} KB");
}

#[test]
fn malformed_files_do_not_affect_other_files() {
    let home = home_with_sound_type();
    let deep = |open: &str, close: &str| [open.repeat(5000), close.repeat(5000)].concat();
    for (name, text) in [
        ("Blocks.cs", format!("class Blocks {{ void M() {} }}", deep("{", "}"))),
        ("Nested.cs", deep("class C { ", "}")),
        ("Spaces.cs", deep("namespace N { ", "}")),
        ("Brackets.cs", format!("class Brackets {{ int x = {}1{}; }}", "(".repeat(5000), ")".repeat(5000))),
        ("Open.cs", "class Open { void M() { ".to_string() + &"if (a) { ".repeat(5000)),
        ("Generic.cs", format!("class Generic {{ {}int{} x; }}", "List<".repeat(5000), ">".repeat(5000))),
        ("deep.rs", deep("mod m { ", "}")),
        ("deep.py", (0..5000).map(|n| format!("{}class C:\n", " ".repeat(n % 100))).collect()),
        ("deep.ts", deep("namespace n { ", "}")),
        ("deep.go", "package p\nvar x = ".to_string() + &deep("[]int{", "}")),
        ("Deep.java", deep("class C { ", "}")),
        ("nul.cs", "\0".repeat(100_000)),
    ] {
        write_file(&home.path().join("src").join(name), text.as_bytes());
    }
    write_file(&home.path().join("src/bytes.cs"), &[0xff, 0xfe, 0xfd, b'{', 0x80].repeat(1000));
    let coverage = outline_coverage(&home);
    assert_eq!(coverage["files"], 14, "{coverage}");
    run_line(&home, "code status").expect(0);
    run_line(&home, "code graph access:*").expect(0);
}

#[test]
fn file_names_may_contain_any_bytes() {
    let home = home_with_sound_type();
    write_file(&home.path().join("src/new\nline\x1b[31m.cs"), b"public class Newline { }");
    let odd = home.path().join("src").join(OsStr::from_bytes(b"\xff\xfe.cs"));
    fs::write(odd, b"public class Odd { }").unwrap();
    let coverage = outline_coverage(&home);
    assert_eq!((&coverage["files"], &coverage["notRead"]), (&2.into(), &1.into()), "{coverage}");
    let shown = run_line(&home, "code resolve Newline -o text").expect(0);
    assert!(!shown.text().contains('\x1b') && shown.lines().len() <= 3, "{}", shown.text());
}

#[test]
fn a_deleted_working_directory_is_reported() {
    let home = home_with_sound_type();
    let folder = home.path().join("gone");
    fs::create_dir(&folder).unwrap();
    let mut run = Command::new("sh");
    testutil::set_environment(&mut run, home.path());
    let script = "cd gone && rmdir ../gone && exec \"$LOCI\" code outline Sound";
    run.env("LOCI", testutil::binary()).args(["-c", script]);
    let refused = run_command(run).expect(1);
    assert_eq!(refused.records()[0]["code"], "NOT_FOUND", "{}", refused.stderr);
}
