//! `cargo xtask quality map FILE FOLDER`: how many of the symbols that a reader of a repository would put first are on the map of it.
//!
//! FILE lists such symbols, `xtask/data/map-*.json`; FOLDER contains the source trees that it names. Does not know how the map is
//! made: it asks the program.

use crate::Outcome;
use crate::args::Args;
use crate::quality::names::{beside_this_program, check_commit};
use crate::quality::set::Scratch;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The symbols of one repository.
struct Wanted {
    repo: String,
    commit: String,
    /// The files of the symbols, and their names.
    symbols: Vec<(String, String)>,
}

impl Wanted {
    fn read(of: &Value) -> Option<Wanted> {
        let text = |of: &Value| of.as_str().map(str::to_owned);
        let symbols = of["symbols"].as_array()?.iter().map(|it| Some((text(&it[0])?, text(&it[1])?)));
        let symbols = symbols.collect::<Option<_>>()?;
        Some(Wanted { repo: text(&of["repo"])?, commit: text(&of["commit"])?, symbols })
    }
}

const BUDGET: &str = "2000";
/// Of the symbols, this share has to be on the map.
const MINIMUM: f64 = 0.55;
/// The words before a declared name.
const WORDS: &[&str] = &[
    "class",
    "struct",
    "trait",
    "enum",
    "interface",
    "@interface",
    "record",
    "delegate",
    "fn",
    "def",
    "func",
    "type",
    "function",
    "const",
];

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["loci"], &["misses"])?;
    let [file, folder] = &args.positional[..] else { return Err("name a list and a folder".to_owned()) };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let all: Vec<Value> = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let all: Option<Vec<Wanted>> = all.iter().map(Wanted::read).collect();
    let all = all.ok_or_else(|| format!("{file}: a repository without its symbols"))?;
    let scratch = Scratch::new();
    let home = scratch.subfolder("home");
    std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let loci = args.path_value("loci").map_or_else(beside_this_program, Ok)?;
    let (mut found, mut total) = (0, 0);
    for wanted in &all {
        let tree = Path::new(folder).join(&wanted.repo);
        check_commit(&tree, &wanted.commit)?;
        let map = ask(&loci, &home, &tree)?;
        let (shown, missing): (Vec<_>, Vec<_>) =
            wanted.symbols.iter().partition(|(file, name)| declares(&map, file, name));
        println!("{}: {} of {}", wanted.repo, shown.len(), wanted.symbols.len());
        for (file, name) in missing.iter().filter(|_| args.has_switch("misses")) {
            println!("  {file}: {name}");
        }
        found += shown.len();
        total += wanted.symbols.len();
    }
    println!("{found} of {total} symbols are on the maps of {BUDGET} tokens");
    Ok(total > 0 && f64::from(found as u32) >= MINIMUM * f64::from(total as u32))
}

fn ask(loci: &Path, home: &Path, tree: &Path) -> Result<String, String> {
    let mut command = Command::new(loci);
    testutil::set_environment(&mut command, home);
    command.args(["code", "map", "--budget", BUDGET, "-o", "text"]).current_dir(tree);
    let answer = command.output().map_err(|error| format!("{}: {error}", loci.display()))?;
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

/// Whether a map has a declaration: below the name of its file, a line with a word and the name.
fn declares(map: &str, file: &str, name: &str) -> bool {
    let below = map.lines().skip_while(|line| *line != file).skip(1);
    below.take_while(|line| line.starts_with(' ')).any(|line| {
        let words = line.split(|c: char| !(c.is_alphanumeric() || "_$@".contains(c)));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.windows(2).any(|pair| WORDS.contains(&pair[0]) && pair[1] == name)
    })
}

#[cfg(test)]
mod tests {
    use super::declares;

    #[test]
    fn a_declaration_is_found_below_its_file() {
        let map =
            "a.rs\n     1  pub struct Store\n     2    fn get(key: Key) -> Value\nb.rs\n     9  enum Key\n";
        assert!(declares(map, "a.rs", "Store") && declares(map, "b.rs", "Key"));
        assert!(!declares(map, "b.rs", "Store") && !declares(map, "a.rs", "Value"));
    }
}
