//! `cargo xtask bench code`: the cost of an operation on an indexed codebase, and of an edit.
//!
//! The long form, whose figures are in docs/performance.md:
//!
//!     cargo build --release
//!     cargo xtask bench code --files 6000 --rounds 9
//!
//! It generates a small tree of C# and one four times as large. An operation is compared with a program that only
//! reads as many bytes of the stored data; the work of an edit is counted in both trees and must be the same, except
//! for the check of every file.

use super::measure::{Case, Results, measure_cases};
use super::workspace::{self, Binaries, Workspace};
use crate::Outcome;
use crate::args::Args;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Limit for the cost of an operation, relative to the program that only reads.
const MAX_RATIO: f64 = 3.0;
/// Factor by which an edit in the large tree may read and write more: the numbers of files and types get longer.
const SIZE_FACTOR: f64 = 1.1;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["files", "rounds", "loci", "root"], &["smoke", "strict"])?;
    let smoke = args.has_switch("smoke");
    let binaries = Binaries::find(args.path_value("loci").as_deref(), None, smoke)?;
    let work = Workspace::new(None)?;
    let files = args.number_value("files", if smoke { 400 } else { 3000 })?.max(40);
    let rounds = args.number_value("rounds", if smoke { 1 } else { 5 })?.max(1) as usize;
    println!("{}", workspace::describe_machine());
    let small = Tree::generate(&work.corpus_folder("small"), files)?;
    let large = Tree::generate(&work.corpus_folder("large"), files * 4)?;
    let mut passed = true;
    let costs = [small.measure_edit(&binaries)?, large.measure_edit(&binaries)?];
    passed &= is_same_work(&costs);
    passed &= measure_operations(&binaries, &small, rounds)?;
    if let Some(root) = args.path_value("root") {
        let tree = Tree { root, home: work.corpus_folder("home"), files: 0 };
        fs::create_dir_all(&tree.home).map_err(|error| error.to_string())?;
        passed &= measure_operations(&binaries, &tree, rounds)?;
    }
    Ok(passed || !(smoke || args.has_switch("strict")))
}

struct Tree {
    root: PathBuf,
    home: PathBuf,
    files: u64,
}

impl Tree {
    /// Generates folders of forty files, each of which uses three others.
    fn generate(at: &Path, files: u64) -> Result<Tree, String> {
        let tree = Tree { root: at.join("tree"), home: at.join("home"), files };
        fs::create_dir_all(&tree.home).map_err(|error| error.to_string())?;
        for n in 0..files {
            write_file(&tree.file_path(n), &class_source(n, files, "1"))?;
        }
        write_file(&tree.root.join("All.csproj"), "<Project Sdk=\"Microsoft.NET.Sdk\" />")?;
        Ok(tree)
    }

    fn file_path(&self, n: u64) -> PathBuf {
        self.root.join(format!("F{}/Type{n}.cs", n / 40))
    }

    fn operation_case(&self, name: &str, binaries: &Binaries, words: &[&str]) -> Case {
        let root = self.root.to_string_lossy();
        let mut args = vec!["code"];
        args.extend(words);
        args.extend(["--root", &root, "-o", "json"]);
        Case::new(name, &binaries.loci, &self.home, &args)
    }

    fn run_index(&self, binaries: &Binaries) -> Result<Value, String> {
        let printed = self.operation_case("index", binaries, &["index"]).run_for_output()?;
        serde_json::from_str(&printed).map_err(|error| error.to_string())
    }

    /// The cost of editing one body, beyond checking every file.
    fn measure_edit(&self, binaries: &Binaries) -> Result<[u64; 6], String> {
        self.run_index(binaries)?;
        // A file that was written just before is read once more.
        std::thread::sleep(std::time::Duration::from_millis(50));
        self.run_index(binaries)?;
        let check_bytes = field_number(&self.run_index(binaries)?["work"], "keptBytesRead");
        write_file(&self.file_path(7), &class_source(7, self.files, "2"))?;
        let work = self.run_index(binaries)?["work"].take();
        println!("an edit in {} files: {work}; checking the files reads {check_bytes}", self.files);
        Ok([
            field_number(&work, "filesParsed"),
            field_number(&work, "typesHashed"),
            field_number(&work, "sourceBytesRead"),
            field_number(&work, "keptBytesRead").saturating_sub(check_bytes),
            field_number(&work, "keptBytesWritten"),
            field_number(&work, "fileBytesWritten"),
        ])
    }
}

fn field_number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// A type of some forty lines that uses others in its folder.
fn class_source(n: u64, of: u64, value: &str) -> String {
    let (first, many) = (n / 40 * 40, (of - n / 40 * 40).min(40));
    let other = |step: u64| format!("Type{}", first + (n - first + step) % many);
    let base = if n.is_multiple_of(3) { "object".to_owned() } else { other(3) };
    let member = |m: u64| {
        let (gives, takes) = (other(m + 1), other(m + 2));
        format!(
            "        public {gives} M{m}({takes} a, int b)\n        {{\n            var c = b + {value};\n            return c > {m} ? null : null;\n        }}\n"
        )
    };
    let members: String = (0..8).map(member).collect();
    format!(
        "namespace Made.Up\n{{\n    /// <summary>Number {n}.</summary>\n    public class Type{n} : {base}\n    {{\n{members}    }}\n}}\n"
    )
}

/// Everything except the number of checked files must be the same.
fn is_same_work([small, large]: &[[u64; 6]; 2]) -> bool {
    let fits = |(one, other): (&u64, &u64)| *other as f64 <= *one as f64 * SIZE_FACTOR;
    let same = small.iter().zip(large).all(fits) && small[..2] == [1, 1] && large[..2] == [1, 1];
    println!("the work of an edit is independent of the size of the tree: {same}");
    same
}

/// Measures operations that are answered from stored data.
fn measure_operations(binaries: &Binaries, tree: &Tree, rounds: usize) -> Outcome {
    tree.run_index(binaries)?;
    std::thread::sleep(std::time::Duration::from_millis(50));
    tree.run_index(binaries)?;
    let bytes = field_number(&tree.run_index(binaries)?["work"], "keptBytesRead");
    let store = fs::read_dir(tree.home.join(".cache/loci/code")).map_err(|error| error.to_string())?;
    let store =
        store.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|it| it == "db"));
    let store = store.ok_or("no stored index found")?;
    let name = first_type(tree, binaries)?;
    let bare = Case::new("noop", &binaries.noop, &tree.home, &[&store.to_string_lossy(), &bytes.to_string()]);
    let mut cases = vec![
        bare,
        tree.operation_case("outline", binaries, &["outline", &name]),
        tree.operation_case("resolve", binaries, &["resolve", &name]),
        tree.operation_case("usages", binaries, &["usages", &name]),
    ];
    for case in &mut cases {
        case.rounds = rounds;
    }
    let mut results = Results::default();
    measure_cases(&cases, &mut results)?;
    println!("\n{}: reads {bytes} bytes of stored data", tree.root.display());
    let mut passed = true;
    for name in ["outline", "resolve", "usages"] {
        let ratio = results.median_ratio(name, "noop", |sample| sample.cpu).unwrap_or(f64::NAN);
        let wall = results.median_ratio(name, "noop", |sample| sample.wall).unwrap_or(f64::NAN);
        let fine = name == "usages" || ratio <= MAX_RATIO;
        passed &= fine;
        println!("{name:8} CPU ratio {ratio:6.2}, wall ratio {wall:6.2}{}", if fine { "" } else { "  MISS" });
    }
    // On a busy machine a ratio of some milliseconds means nothing; it is only printed.
    Ok(passed || rounds == 1)
}

fn first_type(tree: &Tree, binaries: &Binaries) -> Result<String, String> {
    let printed =
        tree.operation_case("search", binaries, &["search", "e", "--limit", "1"]).run_for_output()?;
    let response: Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
    response["candidates"][0]["path"].as_str().map(str::to_owned).ok_or_else(|| "no type found".to_owned())
}
