//! What the operations on a code base answer: outlines, members, names, usages, graphs, and what they refuse.

use crate::builder::{Home, put};
use crate::run::typed;

pub(crate) fn tree() -> Home {
    let home = Home::new();
    put(
        &home.path().join("src/Store.cs"),
        b"namespace Memo.Core { /// <summary>Keeps nodes.</summary>\npublic class NodeStore { private int n;\n public Node Get(int id) { n++; return new Node(); } } }",
    );
    put(
        &home.path().join("src/Node.cs"),
        b"namespace Memo.Core { public class Node { public string Name; } }",
    );
    put(&home.path().join("src/lib.rs"), b"pub struct Engine;\nimpl Engine { pub fn run(&self) {} }\n");
    home
}

#[test]
fn a_type_is_outlined_in_any_language_and_says_what_it_costs() {
    let home = tree();
    let told = typed(&home, "code outline NodeStore -o json").expect(0).records().remove(0);
    let outline = told["outline"].as_str().unwrap();
    assert!(
        outline.contains("Node Get(int id)") && outline.contains("Keeps nodes.") && !outline.contains("n++"),
        "{outline}"
    );
    assert!(told["outlineTokens"].as_u64() > Some(0) && told["sourceTokens"].as_u64() > Some(0));
    assert_eq!((&told["resolved"]["file"], &told["resolved"]["line"]), (&"src/Store.cs".into(), &2.into()));
    let by_id = format!("code outline {} -o json", told["resolved"]["typeId"].as_str().unwrap());
    assert_eq!(typed(&home, &by_id).expect(0).records()[0]["outline"], told["outline"]);
    assert!(typed(&home, "code outline Engine -o text").expect(0).text().contains("run"));
    // What is kept is not what is told: what changes is seen.
    put(
        &home.path().join("src/Node.cs"),
        b"namespace Memo.Core { public class Node { public string Title; } }",
    );
    assert!(typed(&home, "code outline Node -o text").expect(0).text().contains("Title"));
}

#[test]
fn names_usages_and_graphs_are_answered_and_doubts_are_told() {
    let home = tree();
    let found = |line: &str| typed(&home, line).expect(0).records().remove(0);
    assert_eq!(found("code resolve node.name")["resolved"]["path"], "Memo.Core.Node.Name");
    assert_eq!(found("code resolve NodeStroe")["nearly"], true);
    assert_eq!(found("code search node --limit 1")["candidates"].as_array().unwrap().len(), 1);
    let used = found("code usages Node");
    assert_eq!((&used["total"], &used["usages"][0]["certainty"]), (&2.into(), &"certain".into()));
    assert_eq!(found("code usages Node --max-results 1")["usages"].as_array().unwrap().len(), 1);
    let used = found("code usages NodeStore.n");
    assert_eq!((&used["total"], &used["usages"][0]["line"]), (&1.into(), &3.into()), "{used}");
    assert_eq!(used["usages"][0]["certainty"], "certain");
    assert!(found("code graph namespace:Memo.*")["picture"].as_str().unwrap().contains("-->"));
    assert!(found("code graph type:Node --form svg")["picture"].as_str().unwrap().starts_with("<svg"));
    for (line, code) in [
        ("code outline Nothing", "SYMBOL_NOT_FOUND"),
        ("code outline *", "AMBIGUOUS_SYMBOL"),
        ("code graph type:", "INVALID_FILTER"),
        ("code outline Node --root nowhere", "NOT_FOUND"),
        ("code outline Node --root .claude", "NOT_FOUND"),
        ("code outline ''", "INVALID_ARGUMENT"),
    ] {
        let refused = typed(&home, line).expect(1);
        assert_eq!(refused.records()[0]["code"], code, "{line}");
    }
    // A field and its getter: what others may use is meant.
    put(
        &home.path().join("src/both.rs"),
        b"pub struct Both { name: String }\nimpl Both { pub fn name(&self) -> &str { &self.name } }\n",
    );
    assert_eq!(found("code resolve Both.name")["resolved"]["kind"], "method");
    let near = typed(&home, "code outline NodeStroe").expect(1);
    assert!(near.stderr.contains("Memo.Core.NodeStore"), "{}", near.stderr);
}

#[test]
fn a_member_is_shown_alone_by_name_and_by_id() {
    let home = tree();
    let told = typed(&home, "code member NodeStore.Get").expect(0).records().remove(0);
    let outline = told["outline"].as_str().unwrap();
    assert!(outline.contains("Node Get(int id)") && !outline.contains("NodeStore {"), "{outline}");
    assert!(told["outlineTokens"].as_u64() > Some(0), "{told}");
    assert_eq!(told["resolved"]["path"], "Memo.Core.NodeStore.Get(int)");
    let by_id = format!("code member {}", told["resolved"]["memberId"].as_str().unwrap());
    assert_eq!(typed(&home, &by_id).expect(0).records()[0], told);
    assert_eq!(typed(&home, "code outline NodeStore.Get").expect(0).records()[0], told);
    let refused = typed(&home, "code member NodeStore").expect(1);
    assert_eq!(refused.records()[0]["code"], "INVALID_ARGUMENT");
    assert_eq!(refused.records()[0]["hints"][0], "loci code outline Memo.Core.NodeStore");
    assert_eq!(typed(&home, "code member NodeStore.Gte").expect(1).records()[0]["code"], "SYMBOL_NOT_FOUND");
}

#[test]
fn a_status_counts_what_is_there() {
    let home = tree();
    let told = typed(&home, "code status").expect(0).records().remove(0);
    for (name, n) in [("files", 3), ("lines", 6), ("gaps", 0), ("notes", 0), ("packs", 0), ("pinned", 0)] {
        assert_eq!(told[name], n, "{name}: {told}");
    }
    assert_eq!(told["languages"][0]["name"], "C#");
    assert!(told["typesIndexed"].as_u64() >= Some(3) && told["edges"].as_u64() >= Some(1), "{told}");
    assert!(told["memoryMB"].as_u64() > Some(0));
    // What only a daemon could know is not made up.
    for name in ["uptimeSec", "p95ResolveMs", "recentSemanticFailures"] {
        assert!(told.get(name).is_none(), "{name}");
    }
    put(&home.path().join("other/One.cs"), b"class One { }");
    assert_eq!(typed(&home, "code status --root other").expect(0).records()[0]["files"], 1);
    assert!(typed(&home, "code status -o text").expect(0).text().contains("types"));
}

#[test]
fn a_root_that_is_no_tree_is_refused_with_what_to_type() {
    let home = tree();
    for (root, code, hint) in [
        ("src/Node.cs", "NOT_FOUND", "--root "),
        ("nowhere", "NOT_FOUND", "--root names the source tree"),
        ("/", "INVALID_ARGUMENT", "--root names the source tree"),
    ] {
        for command in ["outline Node", "status", "packs", "window", "pin Node", "context list"] {
            let refused = typed(&home, &format!("code {command} --root {root}")).expect(1);
            let record = &refused.records()[0];
            assert_eq!(record["code"], code, "{command} {root}: {record}");
            assert!(record["hints"][0].as_str().unwrap().starts_with(hint), "{command} {root}: {record}");
        }
    }
}
