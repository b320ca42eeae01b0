//! Measures the cost of indexing and refreshing real code, and checks that a refreshed index equals a freshly built one:
//!
//!     cargo run --release -p loci-code-index --example store -- FOLDER [EDITS]
//!
//! The folder is copied to the system's temporary folder, edited there, and the copy removed.

#![allow(clippy::print_stdout)] // a tool for the terminal

use code::RefreshOptions;
use loci_code_index::{Refreshed, Store};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let edits = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(20);
    let outcome = args
        .first()
        .ok_or_else(|| "usage: store FOLDER [EDITS]".into())
        .and_then(|folder| run(Path::new(folder), edits));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// CPU time of answers from the stored index, for types spread over the tree.
fn measure_answers(store: &Store) -> Result<(), Box<dyn Error>> {
    const ASKED: usize = 100;
    let types = store.types()?;
    let mut spent = [0.0; 4];
    let mut sites = 0;
    for (id, name) in types.iter().step_by((types.len() / ASKED).max(1)) {
        let mut start = cpu_seconds();
        let mut note = |at: usize| {
            let now = cpu_seconds();
            spent[at] += now - start;
            start = now;
        };
        let _ = store.types_named(name)?;
        note(0);
        let Some(summary) = store.type_summary(*id)? else { continue };
        let _ = store.outline_text(&summary)?;
        note(1);
        sites += store.type_usages(&summary)?.sites.len();
        note(2);
        if let Some(member) = summary.members.first() {
            sites += store.member_usages(&summary, member)?.sites.len();
        }
        note(3);
    }
    let [names, outlines, usages, members] = spent;
    println!(
        "answers: names {names:.3} s, outlines {outlines:.3} s, usages of types {usages:.3} s, of members {members:.3} s; {sites} usages"
    );
    Ok(())
}

fn run(folder: &Path, edits: usize) -> Result<bool, Box<dyn Error>> {
    let copy = tempfile::tempdir()?;
    let root = copy.path().join("tree");
    let files = copy_tree(folder, &root)?;
    let kept = copy.path().join("kept.db");
    let mut store = Store::open(&kept, &root)?;
    let start = cpu_seconds();
    let first = store.refresh(refresh_options())?;
    let size = fs::metadata(&kept)?.len();
    println!(
        "first: {:.2} s CPU, {} bytes stored; {}",
        cpu_seconds() - start,
        size,
        describe_refresh(&first)
    );
    println!("{:?}; peak {}", store.extent()?, peak_memory());
    measure_answers(&store)?;
    let mut passed = true;
    let chosen: Vec<&PathBuf> = files.iter().step_by((files.len() / edits.max(1)).max(1)).collect();
    for (n, path) in chosen.iter().enumerate() {
        let text = fs::read_to_string(path).unwrap_or_default();
        fs::write(path, edit_text(&text, n))?;
        let start = cpu_seconds();
        let done = store.refresh(refresh_options())?;
        println!(
            "edit {} of {}: {:.3} s; {}",
            n % KINDS,
            path.display(),
            cpu_seconds() - start,
            describe_refresh(&done)
        );
        if n % 5 == 4 || n + 1 == chosen.len() {
            let mut fresh = Store::in_memory(&root)?;
            fresh.refresh(refresh_options())?;
            let same = fresh.fingerprint()? == store.fingerprint()?;
            println!("  equals a fresh index: {same}");
            if !same {
                print_differences(&store, &fresh)?;
            }
            passed &= same;
        }
    }
    let start = cpu_seconds();
    let done = store.refresh(refresh_options())?;
    println!("unchanged: {:.3} s; {}", cpu_seconds() - start, describe_refresh(&done));
    Ok(passed)
}

fn print_differences(one: &Store, other: &Store) -> Result<(), Box<dyn Error>> {
    let mut shown = 0;
    for (id, name) in other.types()? {
        let (a, b) = (one.type_summary(id)?, other.type_summary(id)?);
        if a != b && shown < 5 {
            shown += 1;
            println!("    {name}");
            if let (Some(a), Some(b)) = (a, b) {
                println!(
                    "      {:?}\n      {:?}\n{}\n{}",
                    a.hashes.hashes, b.hashes.hashes, a.outline, b.outline
                );
            }
        }
        let (a, b) = (one.uses(id)?, other.uses(id)?);
        if a != b && shown < 5 {
            shown += 1;
            println!("    edges of {name}: {} {}", a.len(), b.len());
        }
    }
    Ok(())
}

const KINDS: usize = 4;

/// Edits a body, adds a public member, renames a type or adds a type.
fn edit_text(text: &str, n: usize) -> String {
    match n % KINDS {
        0 => text.replacen("return ", "return  /* x */ ", 1),
        1 => match text.rfind('}').and_then(|end| text[..end].rfind('}')) {
            Some(end) => format!("{} public int Zz{n}() {{ return {n}; }} {}", &text[..end], &text[end..]),
            None => format!("{text}\n"),
        },
        2 => match text.find("class ") {
            Some(at) => {
                let name: String =
                    text[at + 6..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if name.is_empty() { format!("{text}\n") } else { text.replace(&name, &format!("{name}Q")) }
            }
            None => format!("{text}\n"),
        },
        _ => format!("{text}\npublic class Added{n} {{ public Added{n}(string s) {{ }} }}\n"),
    }
}

fn describe_refresh(done: &Refreshed) -> String {
    format!(
        "{} parsed, {} hashed, {} bytes of source, {} read, {} written, whole {}, {} changes, {} aliases",
        done.parsed,
        done.hashed,
        done.source_bytes,
        done.read_bytes,
        done.written_bytes,
        done.joined_whole,
        done.changes.len(),
        done.aliases.len()
    )
}

fn refresh_options() -> RefreshOptions<'static> {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as i64);
    RefreshOptions { now, threads: 2, progress: &|_, _| true }
}

fn copy_tree(from: &Path, to: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    fs::create_dir_all(to)?;
    let mut files = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(from)?.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != ".git" {
            files.extend(copy_tree(&path, &target)?);
        } else if kind.is_file() {
            fs::copy(&path, &target)?;
            if syntax::language_of(&target).is_some() {
                files.push(target);
            }
        }
    }
    Ok(files)
}

/// CPU time of this process, in seconds.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// Peak memory of this process.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_once(':')).map_or_else(String::new, |(_, value)| value.trim().to_owned())
}
