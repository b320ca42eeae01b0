//! Trees that nobody should have to read: the answer still comes, within bounds, and says what was not read.

use crate::builder::{Home, put};
use crate::run::{can, command, ended, peak, typed};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

fn sound() -> Home {
    let home = Home::new();
    put(&home.path().join("src/Sound.cs"), b"public class Sound { public int Size; }");
    home
}

/// What is told of a tree whose one sound type must be found in any case.
fn told(home: &Home) -> Value {
    let told = typed(home, "code outline Sound --threads 2").expect(0).records().remove(0);
    assert!(told["outline"].as_str().unwrap().contains("Size"), "{told}");
    assert!(typed(home, "code outline Sound -o text").expect(0).text().contains("Size"));
    told["coverage"].clone()
}

#[test]
fn what_is_no_plain_file_is_not_opened() {
    let home = sound();
    let fifo = home.path().join("src/x.cs");
    if !can("mkfifo", &[fifo.to_str().unwrap()]) {
        println!("skipped: there is no mkfifo");
        return;
    }
    fs::create_dir_all(home.path().join("src/y.cs/inner")).unwrap();
    symlink("/dev/zero", home.path().join("src/z.cs")).unwrap();
    symlink(home.path().join("src"), home.path().join("src/again")).unwrap();
    symlink("loop", home.path().join("src/loop")).unwrap();
    let coverage = told(&home);
    assert_eq!((&coverage["files"], &coverage["notRead"]), (&1.into(), &1.into()), "{coverage}");
    assert!(coverage["unread"][0].as_str().unwrap().starts_with("src/x.cs: not a plain file"), "{coverage}");
}

#[test]
fn a_file_that_is_too_large_is_told_and_not_read() {
    let home = sound();
    let large = fs::File::create(home.path().join("src/Large.cs")).unwrap();
    large.set_len(200 << 20).unwrap();
    put(&home.path().join("src/Full.cs"), &b"// nothing but a comment that goes on\n".repeat(300_000));
    let coverage = told(&home);
    assert_eq!((&coverage["files"], &coverage["notRead"]), (&1.into(), &2.into()), "{coverage}");
    let unread = coverage["unread"].to_string();
    assert!(unread.contains("src/Large.cs: 200 MB; up to 8 MB are read"), "{unread}");
    let (code, most, _) = peak(command(home.path(), &["code", "outline", "Sound"]));
    assert_eq!(code, Some(0));
    // In kilobytes: the file itself is 200 MB.
    assert!(most < 150_000, "{most} KB");
}

#[test]
fn what_no_compiler_takes_costs_itself_alone() {
    let home = sound();
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
        put(&home.path().join("src").join(name), text.as_bytes());
    }
    put(&home.path().join("src/bytes.cs"), &[0xff, 0xfe, 0xfd, b'{', 0x80].repeat(1000));
    let coverage = told(&home);
    assert_eq!(coverage["files"], 14, "{coverage}");
    typed(&home, "code status").expect(0);
    typed(&home, "code graph access:*").expect(0);
}

#[test]
fn names_of_files_may_be_anything() {
    let home = sound();
    put(&home.path().join("src/new\nline\x1b[31m.cs"), b"public class Newline { }");
    let odd = home.path().join("src").join(OsStr::from_bytes(b"\xff\xfe.cs"));
    fs::write(odd, b"public class Odd { }").unwrap();
    let coverage = told(&home);
    assert_eq!((&coverage["files"], &coverage["notRead"]), (&2.into(), &1.into()), "{coverage}");
    let shown = typed(&home, "code resolve Newline -o text").expect(0);
    assert!(!shown.text().contains('\x1b') && shown.lines().len() <= 3, "{}", shown.text());
}

/// Where the working directory itself is gone or closed.
#[test]
fn a_working_directory_that_cannot_be_read_is_told() {
    let home = sound();
    let gone = home.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut run = Command::new("sh");
    crate::run::dress(&mut run, home.path());
    let script = "cd gone && rmdir ../gone && exec \"$LOCI\" code outline Sound";
    run.env("LOCI", crate::run::EXE).args(["-c", script]);
    let refused = ended(run).expect(1);
    assert_eq!(refused.records()[0]["code"], "NOT_FOUND", "{}", refused.stderr);
}
