//! Extracting an interface or a trait: what is declared, what the type says, and what is refused.

#![allow(clippy::unwrap_used, clippy::pedantic)] // a test may fail by panicking

use loci_edits::{EditError, SymbolPlace, Tree, plan_extraction};
use std::collections::BTreeMap;

fn extract(file: &str, text: &str, members: &[&str]) -> Result<BTreeMap<String, String>, EditError> {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(file), text).unwrap();
    let tree = Tree::open(home.path(), 1).unwrap();
    let at = syntax::whole_words(text, "Store")[0].from;
    let place = SymbolPlace { file: file.into(), at, name: "Store".into() };
    let members: Vec<String> = members.iter().map(|it| (*it).to_owned()).collect();
    let plan = plan_extraction(&tree, &place, "Reads", &members)?;
    plan.require_complete()?;
    let contents = plan.contents(&tree).unwrap();
    Ok(contents.into_iter().map(|(path, bytes)| (path, String::from_utf8(bytes.unwrap()).unwrap())).collect())
}

#[test]
fn java_gets_a_file_with_the_imports_it_needs() {
    let text = "package p;\n\nimport java.util.List;\nimport java.util.Map;\n\npublic class Store<T extends Number> extends Object {\n  private Map<String, T> all;\n\n  @Override\n  public final List<T> get(\n      String key) throws Exception {\n    return null;\n  }\n\n  public Item item() { return null; }\n\n  static void skip() {}\n\n  public static class Item {}\n}\n";
    let after = extract("Store.java", &text.replace(" extends Object", ""), &[]).unwrap();
    assert_eq!(
        after["Reads.java"],
        "package p;\n\nimport java.util.List;\n\npublic interface Reads<T extends Number> {\n  List<T> get(String key) throws Exception;\n  Store.Item item();\n}\n"
    );
    assert!(after["Store.java"].contains("class Store<T extends Number> implements Reads<T> {"), "{after:?}");
    let unknown =
        text.replace("extends Object", "implements A").replace("public Item item", "public Other item");
    let one = extract("Store.java", &unknown, &["item"]);
    assert!(matches!(one, Err(EditError::Incomplete(_))), "a base may have a type with the name");
}

#[test]
fn csharp_declares_methods_and_properties_before_the_class() {
    let text = "namespace P\n{\n    /// <summary>Stores.</summary>\n    public class Store<T> : Base where T : class\n    {\n        public int Count { get; private set; }\n        public async Task<T> Get(int id = 1)\n        {\n            return null;\n        }\n        public static void Skip() { }\n        internal void Hidden() { }\n    }\n}\n";
    let after = extract("Store.cs", text, &[]).unwrap();
    assert!(
        after["Store.cs"].starts_with(
            "namespace P\n{\n    public interface Reads<T> where T : class\n    {\n        int Count { get; }\n        Task<T> Get(int id = 1);\n    }\n\n    /// <summary>Stores.</summary>\n    public class Store<T> : Base, Reads<T> where T : class\n"
        ),
        "{}",
        after["Store.cs"]
    );
    let one = extract("Store.cs", text, &["Count"]).unwrap();
    assert!(!one["Store.cs"].contains("Task<T> Get(int id = 1);"));
}

#[test]
fn a_type_taken_from_this_stays_in_the_class() {
    let text = "class Store {\n  kept!: number;\n  read(): this[\"kept\"] { return this.kept; }\n  self(): this { return this; }\n}\n";
    let refused = extract("a.ts", text, &[]).unwrap_err();
    assert_eq!(refused.hint(), "--members kept,self", "{refused}");
    let after = extract("a.ts", text, &["self"]).unwrap();
    assert!(after["a.ts"].contains("self(): this;"), "{}", after["a.ts"]);
}

#[test]
fn typescript_needs_written_types() {
    let text = "export class Store<T> extends Base {\n  readonly size: number = 0;\n  private hidden = 1;\n  get(key: string, deep = false): T {\n    return null as T;\n  }\n  find(key: string, limit: number = 1): T[] { return []; }\n  plain() {}\n}\n";
    let refused = extract("a.ts", text, &[]).unwrap_err();
    assert_eq!(refused.hint(), "--members size,find", "{refused}");
    let after = extract("a.ts", text, &["size", "find"]).unwrap();
    assert!(
        after["a.ts"].starts_with(
            "export interface Reads<T> {\n  readonly size: number;\n  find(key: string, limit?: number): T[];\n}\n\nexport class Store<T> extends Base implements Reads<T> {\n"
        ),
        "{}",
        after["a.ts"]
    );
}

#[test]
fn a_rust_trait_calls_the_methods_of_the_type() {
    let text = "/// Stores.\npub struct Store<T>(T);\n\nimpl<T: Clone> Store<T> {\n    pub fn get(&self, mut n: usize) -> T {\n        n += 1;\n        self.0.clone()\n    }\n\n    fn hidden(&self) {}\n    pub fn new(t: T) -> Self { Store(t) }\n    pub async fn later(&self) {}\n}\n";
    let after = extract("a.rs", text, &["get"]).unwrap();
    assert!(
        after["a.rs"].starts_with(
            "pub trait Reads<T: Clone> {\n    fn get(&self, n: usize) -> T;\n}\n\n/// Stores.\npub struct"
        ),
        "{}",
        after["a.rs"]
    );
    assert!(
        after["a.rs"].ends_with(
            "}\n\nimpl<T: Clone> Reads<T> for Store<T> {\n    fn get(&self, n: usize) -> T {\n        Self::get(self, n)\n    }\n}\n"
        ),
        "{}",
        after["a.rs"]
    );
    assert_eq!(extract("a.rs", text, &[]).unwrap_err().hint(), "--members get");
}

#[test]
fn names_that_are_taken_and_members_that_are_not_there_are_refused() {
    let taken = extract("a.ts", "interface Reads {}\nclass Store { get(): number { return 1; } }\n", &[])
        .unwrap_err();
    assert!(matches!(&taken, EditError::Captured { places, .. } if places[0].line == 1), "{taken:?}");
    let missing = extract("a.ts", "class Store { get(): number { return 1; } }\n", &["put"]).unwrap_err();
    assert!(missing.to_string().contains("`put`") && missing.hint().contains("get"), "{missing}");
    let inner = "class Outer<K> { class Store { public K get() { return null; } } }\n";
    let outer = extract("Outer.java", inner, &[]).unwrap_err();
    assert!(outer.to_string().contains("type parameter `K` of `Outer`"), "{outer}");
    let python = extract("a.py", "class Store: pass\n", &[]).unwrap_err();
    assert!(python.hint().contains("TypeScript"), "{python}");
}
