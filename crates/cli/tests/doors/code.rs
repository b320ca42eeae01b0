//! What the operations on a code base answer: outlines, names, usages, graphs, and what they refuse.

use crate::builder::{Home, put};
use crate::run::typed;

fn tree() -> Home {
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
    // Nothing is kept: what changes is seen.
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
    assert!(found("code graph namespace:Memo.*")["picture"].as_str().unwrap().contains("-->"));
    assert!(found("code graph type:Node --form svg")["picture"].as_str().unwrap().starts_with("<svg"));
    for (line, code) in [
        ("code outline Nothing", "SYMBOL_NOT_FOUND"),
        ("code outline *", "AMBIGUOUS_SYMBOL"),
        ("code graph type:", "INVALID_FILTER"),
        ("code outline Node --root nowhere", "NOT_FOUND"),
        ("code outline Node --root .claude", "NOT_FOUND"),
        ("code usages NodeStore.Get", "INVALID_ARGUMENT"),
        ("code outline ''", "INVALID_ARGUMENT"),
    ] {
        let refused = typed(&home, line).expect(1);
        assert_eq!(refused.records()[0]["code"], code, "{line}");
    }
    let near = typed(&home, "code outline NodeStroe").expect(1);
    assert!(near.stderr.contains("Memo.Core.NodeStore"), "{}", near.stderr);
}
