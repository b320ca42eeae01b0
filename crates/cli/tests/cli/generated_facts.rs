//! Facts under generated edits in six languages: functions, members and members of nested types with other names, places and bodies in every
//! run. A change of the contract or of visible behaviour makes a fact history; private code, documentation and formatting do not;
//! a rename and a move carry it along. The long form asks about 10,000 of them:
//!
//!     LOCI_FACTS=10000 cargo test --release -p loci --test cli -- generated_facts --nocapture

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use testutil::{Home, command, git, run_command, write_file};

const BEFORE: &str = "2020-01-01T10:00:00Z";
/// After the facts, which are stated now.
const AFTER: &str = "2035-01-01T10:00:00Z";

/// What happens to a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Nothing,
    Structure,
    PublicBehavior,
    Internal,
    Docs,
    Cosmetic,
    /// Another name and nothing else.
    Renamed,
    /// Another name and another behaviour.
    RenamedAndChanged,
}

const CLASSES: [Class; 8] = [
    Class::Nothing,
    Class::Structure,
    Class::PublicBehavior,
    Class::Internal,
    Class::Docs,
    Class::Cosmetic,
    Class::Renamed,
    Class::RenamedAndChanged,
];

impl Class {
    fn makes_stale(self) -> bool {
        matches!(self, Class::Structure | Class::PublicBehavior | Class::RenamedAndChanged)
    }

    fn renames(self) -> bool {
        matches!(self, Class::Renamed | Class::RenamedAndChanged)
    }
}

/// Where a symbol is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Free,
    Member,
    /// A member of a type inside another one, or of a module.
    Nested,
}

/// A function, and the versions of its parts.
#[derive(Clone, Debug)]
struct Symbol {
    name: String,
    place: Place,
    is_public: bool,
    signature: usize,
    body: usize,
    documentation: usize,
    layout: usize,
}

/// How a language writes symbols.
struct Language {
    name: &'static str,
    file: &'static str,
    /// The name from a stem, for public and for private symbols.
    names: fn(&str, bool) -> String,
    render: fn(&[Symbol], usize) -> String,
}

/// Draws that depend on the seed alone.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

const VERBS: &[&str] = &["load", "count", "merge", "scan", "flush", "trim", "split", "pick", "bind", "order"];
const NOUNS: &[&str] =
    &["rows", "keys", "parts", "items", "pages", "leaves", "marks", "slots", "lanes", "sums"];

fn camel(stem: &str) -> String {
    let mut words = stem.split('_');
    let first = words.next().unwrap_or_default().to_string();
    words.fold(first, |name, word| name + &capital(word))
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// An expression of `n`; every version is another one, in the words of most languages.
fn expression(symbol: &Symbol) -> String {
    let k = symbol.body;
    match k % 4 {
        0 => format!("n + {k}"),
        1 => format!("n * {k} - 1"),
        2 => format!("(n - {k}) * 2"),
        _ => format!("n + n * {k}"),
    }
}

const DOCUMENTATION: &[&str] =
    &["Counts.", "Counts the rows of a page.", "Sums up what is there.", "See the manual."];

fn documentation(symbol: &Symbol) -> &'static str {
    DOCUMENTATION[symbol.documentation % DOCUMENTATION.len()]
}

/// A body in a language with braces: a comment and blanks are its layout.
fn braces(head: &str, symbol: &Symbol, indent: &str, ending: &str, result: &str) -> String {
    let said = expression(symbol);
    match symbol.layout % 3 {
        0 => format!("{indent}{head} {{\n{indent}    {result}{said}{ending}\n{indent}}}\n\n"),
        1 => format!(
            "{indent}{head} {{\n{indent}    // later\n{indent}    {result}{}{ending}\n{indent}}}\n\n",
            said.replace(' ', "  ")
        ),
        _ => format!(
            "{indent}{head} {{\n\n{indent}        {result}{said}{ending} // as before\n\n{indent}}}\n\n"
        ),
    }
}

fn at(symbols: &[Symbol], place: Place) -> impl Iterator<Item = &Symbol> {
    symbols.iter().filter(move |symbol| symbol.place == place)
}

fn render_python(symbols: &[Symbol], seed: usize) -> String {
    let one = |symbol: &Symbol, indent: &str| {
        let own = if symbol.place == Place::Free { "" } else { "self, " };
        let more = ["", ", m=0"][symbol.signature % 2];
        let said = match symbol.layout % 3 {
            0 => format!("{indent}    return {}\n", expression(symbol)),
            1 => {
                format!("{indent}    # later\n{indent}    return {}\n", expression(symbol).replace(' ', "  "))
            }
            _ => format!("{indent}    return (\n{indent}        {})\n", expression(symbol)),
        };
        format!(
            "{indent}def {}({own}n{more}):\n{indent}    \"\"\"{}\"\"\"\n{said}\n",
            symbol.name,
            documentation(symbol)
        )
    };
    let part = |place, indent: &str| at(symbols, place).map(|symbol| one(symbol, indent)).collect::<String>();
    format!(
        "{}\nclass Store{seed}Py:\n    size = 1\n\n{}\n    class Inner{seed}Py:\n        size = 2\n\n{}",
        part(Place::Free, ""),
        part(Place::Member, "    "),
        part(Place::Nested, "        ")
    )
}

fn render_rust(symbols: &[Symbol], seed: usize) -> String {
    let one = |symbol: &Symbol, indent: &str| {
        let public = if symbol.is_public { "pub " } else { "" };
        let own = if symbol.place == Place::Member { "&self, " } else { "" };
        let kind = ["u32", "u64"][symbol.signature % 2];
        let head = format!("{public}fn {}({own}n: {kind}) -> {kind}", symbol.name);
        format!("{indent}/// {}\n{}", documentation(symbol), braces(&head, symbol, indent, "", ""))
    };
    let part = |place, indent: &str| at(symbols, place).map(|symbol| one(symbol, indent)).collect::<String>();
    format!(
        "{}pub struct Store{seed}Rs;\n\nimpl Store{seed}Rs {{\n{}}}\n\npub mod inner_{seed} {{\n{}}}\n",
        part(Place::Free, ""),
        part(Place::Member, "    "),
        part(Place::Nested, "    ")
    )
}

fn render_typescript(symbols: &[Symbol], seed: usize) -> String {
    let one = |symbol: &Symbol, indent: &str| {
        let public = match (symbol.place, symbol.is_public) {
            (Place::Free | Place::Nested, true) => "export function ",
            (Place::Free | Place::Nested, false) => "function ",
            (Place::Member, true) => "",
            (Place::Member, false) => "private ",
        };
        let more = ["", ", m: string"][symbol.signature % 2];
        let head = format!("{public}{}(n: number{more}): number", symbol.name);
        format!("{indent}/** {} */\n{}", documentation(symbol), braces(&head, symbol, indent, ";", "return "))
    };
    let part = |place, indent: &str| at(symbols, place).map(|symbol| one(symbol, indent)).collect::<String>();
    format!(
        "{}export class Store{seed}Ts {{\n{}}}\n\nexport namespace Inner{seed}Ts {{\n{}}}\n",
        part(Place::Free, ""),
        part(Place::Member, "  "),
        part(Place::Nested, "  ")
    )
}

fn render_go(symbols: &[Symbol], seed: usize) -> String {
    let one = |symbol: &Symbol| {
        let own = match symbol.place {
            Place::Free => String::new(),
            Place::Member => format!("(s *Store{seed}Go) "),
            Place::Nested => format!("(s Part{seed}Go) "),
        };
        let kind = ["int", "int64"][symbol.signature % 2];
        let head = format!("func {own}{}(n {kind}) {kind}", symbol.name);
        format!("// {} {}\n{}", symbol.name, documentation(symbol), braces(&head, symbol, "", "", "return "))
    };
    let part = |place| at(symbols, place).map(one).collect::<String>();
    format!(
        "package shop\n\n{}type Store{seed}Go struct{{}}\n\n{}type Part{seed}Go struct{{}}\n\n{}",
        part(Place::Free),
        part(Place::Member),
        part(Place::Nested)
    )
}

/// Java and C# have no free functions: those are members of the outer type too.
fn render_class(symbols: &[Symbol], seed: usize, ending: &str, doc: (&str, &str)) -> String {
    let one = |symbol: &Symbol, indent: &str| {
        let access = if symbol.is_public { "public" } else { "private" };
        let kind = ["int", "long"][symbol.signature % 2];
        let head = format!("{access} {kind} {}({kind} n)", symbol.name);
        let said = format!("{indent}{}{}{}\n", doc.0, documentation(symbol), doc.1);
        said + &braces(&head, symbol, indent, ";", "return ")
    };
    let part = |place, indent: &str| at(symbols, place).map(|symbol| one(symbol, indent)).collect::<String>();
    let is_static = if ending == "Java" { "static " } else { "" };
    format!(
        "public class Store{seed}{ending} {{\n{}{}    public {is_static}class Inner{seed}{ending} {{\n{}    }}\n}}\n",
        part(Place::Free, "    "),
        part(Place::Member, "    "),
        part(Place::Nested, "        ")
    )
}

const LANGUAGES: &[Language] = &[
    Language {
        name: "Py",
        file: "shop.py",
        names: |stem, public| if public { stem.to_string() } else { format!("_{stem}") },
        render: render_python,
    },
    Language { name: "Rs", file: "shop.rs", names: |stem, _| stem.to_string(), render: render_rust },
    Language { name: "Ts", file: "shop.ts", names: |stem, _| camel(stem), render: render_typescript },
    Language {
        name: "Go",
        file: "shop.go",
        names: |stem, public| if public { capital(&camel(stem)) } else { camel(stem) },
        render: render_go,
    },
    Language {
        name: "Java",
        file: "Shop.java",
        names: |stem, _| camel(stem),
        render: |symbols, seed| render_class(symbols, seed, "Java", ("/** ", " */")),
    },
    Language {
        name: "Cs",
        file: "Shop.cs",
        names: |stem, _| capital(&camel(stem)),
        render: |symbols, seed| render_class(symbols, seed, "Cs", ("/// <summary>", "</summary>")),
    },
];

/// A symbol before and after its edit.
struct Case {
    class: Class,
    language: usize,
    before: Symbol,
    after: Symbol,
    is_moved: bool,
}

fn draw_cases(seed: usize) -> Vec<Case> {
    let mut draw = Draw(seed as u64 + 1);
    let mut cases = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        let is_moved = draw.below(3) == 0;
        let mut classes: Vec<Class> = CLASSES.to_vec();
        for left in (1..classes.len()).rev() {
            classes.swap(left, draw.below(left + 1));
        }
        for class in classes {
            let is_public = class != Class::Internal
                && (class == Class::PublicBehavior || class.makes_stale() || draw.below(5) > 0);
            let place = [Place::Free, Place::Member, Place::Nested][draw.below(3)];
            let stem = |draw: &mut Draw, at: usize| {
                let (verb, noun) = (VERBS[draw.below(VERBS.len())], NOUNS[draw.below(NOUNS.len())]);
                (language.names)(&format!("{verb}_{noun}_{}{at}", language.name.to_lowercase()), is_public)
            };
            let name = stem(&mut draw, 2 * cases.len());
            let (body, documentation, layout) = (draw.below(90) + 2, draw.below(9), draw.below(9));
            let before = Symbol { name, place, is_public, signature: 0, body, documentation, layout };
            let mut after = before.clone();
            after.signature += usize::from(class == Class::Structure);
            after.body += usize::from(matches!(
                class,
                Class::PublicBehavior | Class::Internal | Class::RenamedAndChanged
            )) * (1 + draw.below(5));
            after.documentation += usize::from(class == Class::Docs);
            after.layout += usize::from(class == Class::Cosmetic);
            if class.renames() {
                after.name = stem(&mut draw, 2 * cases.len() + 1);
            }
            cases.push(Case { class, language: number, before, after, is_moved });
        }
    }
    cases
}

fn commit(root: &Path, date: &str, cases: &[Case], seed: usize, is_after: bool) {
    for (number, language) in LANGUAGES.iter().enumerate() {
        let of: Vec<&Case> = cases.iter().filter(|case| case.language == number).collect();
        let symbols: Vec<Symbol> =
            of.iter().map(|case| if is_after { &case.after } else { &case.before }).cloned().collect();
        let (old, moved) = (root.join("src").join(language.file), root.join("lib").join(language.file));
        let _ = std::fs::remove_file(&old);
        let path = if is_after && of.iter().any(|case| case.is_moved) { moved } else { old };
        write_file(&path, (language.render)(&symbols, seed).as_bytes());
    }
    git(root, date, &["add", "-A"]);
    git(root, date, &["commit", "-q", "-m", date]);
}

fn run(home: &Home, root: &Path, args: &[&str]) -> Value {
    let mut run = command(home.path(), args);
    run.current_dir(root);
    run_command(run).expect(0).records().remove(0)
}

/// By class and language: facts, and those that `about` offers as current and as history.
type Counts = BTreeMap<(Class, &'static str), [usize; 3]>;

fn ask_about(seed: usize, counts: &mut Counts) {
    let (home, cases) = (Home::new(), draw_cases(seed));
    let root = home.path().join("shop");
    std::fs::create_dir_all(&root).unwrap();
    git(&root, BEFORE, &["init", "-q", "-b", "main"]);
    commit(&root, BEFORE, &cases, seed, false);
    for case in &cases {
        let text = format!("`{}` must not round, whatever it is given", case.before.name);
        run(&home, &root, &["memory", "add", &text, "--project", root.to_str().unwrap()]);
    }
    commit(&root, AFTER, &cases, seed, true);
    for case in &cases {
        let found = run(&home, &root, &["about", &case.after.name]);
        let has = |list: &str| {
            let mut facts = found[list].as_array().into_iter().flatten();
            facts.any(|fact| {
                fact["text"].as_str().unwrap_or_default().contains(&format!("`{}`", case.before.name))
            })
        };
        let (current, stale) = (has("facts"), has("stale"));
        let count = counts.entry((case.class, LANGUAGES[case.language].name)).or_default();
        *count = [count[0] + 1, count[1] + usize::from(current), count[2] + usize::from(stale)];
    }
}

#[test]
#[allow(clippy::print_stdout)] // the figures of the long form
fn generated_edits_make_the_right_facts_stale() {
    let wanted = testutil::needs::number_variable("LOCI_FACTS", 96) as usize;
    let mut counts = Counts::new();
    for seed in 0..usize::div_ceil(wanted, CLASSES.len() * LANGUAGES.len()) {
        ask_about(seed, &mut counts);
    }
    println!("{counts:?}");
    let sum = |is_meant: &dyn Fn(Class) -> bool, at: usize| {
        counts.iter().filter(|((class, _), _)| is_meant(*class)).map(|(_, count)| count[at]).sum::<usize>()
    };
    let is_changed = |class: Class| class.makes_stale() && !class.renames();
    let is_kept = |class: Class| !class.makes_stale() && !class.renames();
    assert!(sum(&|_| true, 0) >= wanted);
    assert_eq!(sum(&Class::makes_stale, 1), 0, "stale facts offered as current: {counts:?}");
    assert_eq!(sum(&is_changed, 2), sum(&is_changed, 0), "{counts:?}");
    assert_eq!(sum(&is_kept, 1), sum(&is_kept, 0), "{counts:?}");
    let (renamed, carried) = (sum(&|it| it == Class::Renamed, 0), sum(&|it| it == Class::Renamed, 1));
    assert!(100 * carried >= 95 * renamed, "{carried} of {renamed}: {counts:?}");
}
