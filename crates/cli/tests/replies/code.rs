//! The code tools of MCP: the same responses as on the command line, and unlisted parameters are rejected.

use api::{Set, TOOLS, Tool};
use serde_json::json;
use testutil::McpClient;
use testutil::{Home, run_line, write_file};

fn source_tree() -> Home {
    let home = Home::new();
    let store = b"namespace Memo { public class Store { public Node Get(int id) { return new Node(); } } }";
    write_file(&home.path().join("src/Store.cs"), store);
    write_file(
        &home.path().join("src/Node.cs"),
        b"namespace Memo { public class Node { public string Name; } }",
    );
    home
}

#[test]
fn counts_are_of_all_usages_and_not_of_the_first_page() {
    let home = source_tree();
    let calls: Vec<String> = (0..70).map(|n| format!("void F{n}(Node node) {{ }}")).collect();
    let source = format!("namespace Memo {{ public class Many {{ {} }} }}", calls.join(" "));
    write_file(&home.path().join("src/Many.cs"), source.as_bytes());
    let listed = run_line(&home, "code usages Node").expect(0).records().remove(0);
    assert_eq!(listed["usages"].as_array().unwrap().len(), 50);
    let counted = run_line(&home, "code usages Node --stats-only").expect(0).records();
    let total: u64 = counted.iter().map(|kind| kind["count"].as_u64().unwrap()).sum();
    assert!(total >= 70, "{counted:?}");
    let page = run_line(&home, "code usages Node --stats-only --limit 3").expect(0).records();
    assert_eq!(page.iter().map(|kind| kind["count"].as_u64().unwrap()).sum::<u64>(), 3);
}

#[test]
fn usages_are_selected_by_place_and_counted_by_file() {
    let home = source_tree();
    let many = |class: &str, count: usize| {
        let calls: String = (0..count).map(|n| format!("void F{n}(Node node) {{ }} ")).collect();
        format!("namespace Memo {{ public class {class} {{ {calls} }} }}").into_bytes()
    };
    write_file(&home.path().join("tests/NodeTest.cs"), &many("NodeTest", 9));
    write_file(&home.path().join("srcs/Other.cs"), &many("Other", 3));
    let files = |line: &str| {
        let found = run_line(&home, line).expect(0).records().remove(0);
        assert_eq!(found["usages"], json!([]), "{line}");
        found["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["file"].clone(), it["usages"].clone()))
            .collect::<Vec<_>>()
    };
    let all = files("code usages Node --by-file");
    assert_eq!(
        all[..2],
        [(json!("tests/NodeTest.cs"), json!(9)), (json!("srcs/Other.cs"), json!(3))],
        "{all:?}"
    );
    assert_eq!(files("code usages Node --by-file --limit 1"), all[..1]);
    assert_eq!(files("code usages Node --by-file --without-tests"), all[1..]);
    assert_eq!(
        files("code usages Node --by-file --under src"),
        all[2..],
        "the folder, not what begins like it"
    );
    assert_eq!(files("code usages Node --by-file --under ./src/"), all[2..]);
    let listed = run_line(&home, "code usages Node --under srcs/Other.cs").expect(0).records().remove(0);
    assert_eq!((listed["total"].as_u64(), listed.get("files")), (Some(3), None));
    let listed = run_line(&home, "code usages Node --without-tests").expect(0).records().remove(0);
    assert!(
        listed["usages"].as_array().unwrap().iter().all(|it| it["file"] != "tests/NodeTest.cs"),
        "{listed}"
    );
    let text = run_line(&home, "code usages Node --by-file --limit 1 -o text").expect(0).text().to_owned();
    assert!(text.contains("9  tests/NodeTest.cs") && text.contains("in total"), "{text}");
    run_line(&home, "code usages Node --under nowhere").expect(1);
}

#[test]
fn the_code_toolset_gives_the_same_responses_as_the_command_line() {
    let home = source_tree();
    let mut agent = McpClient::start_with_args(home.path(), &["mcp", "--toolsets", "code"], &[]);
    assert_eq!(agent.call("pin", json!({"path": "Node"}))["data"]["changed"], true);
    let added = agent.call("code_context", json!({"action": "add", "path": "Store", "minutes": 5}));
    assert_eq!(added["data"]["context"][0]["path"], "Memo.Store");
    let pack = json!({"name": "core", "filter": "type:Store", "budget": 900});
    assert_eq!(agent.call("build_pack", pack)["data"]["budget"], 900);
    for (tool, params, line) in [
        ("get_outline", json!({"path": "Store"}), "code outline Store"),
        ("get_member_outline", json!({"path": "Store.Get"}), "code member Store.Get"),
        (
            "find_symbols",
            json!({"query": "node name", "kind": "property"}),
            "code find node name --kind property",
        ),
        ("code_map", json!({"budget": 300}), "code map --budget 300"),
        ("resolve_symbol", json!({"path": "Memo.*"}), "code resolve Memo.*"),
        ("search_symbols", json!({"query": "o", "limit": 2}), "code search o --limit 2"),
        ("find_usages", json!({"path": "Node", "max_results": 1}), "code usages Node --max-results 1"),
        (
            "find_usages",
            json!({"path": "Node", "certainty": "likely"}),
            "code usages Node --certainty likely",
        ),
        ("code_graph", json!({"filter": "type:*", "form": "dot"}), "code graph type:* --form dot"),
        ("get_semantic", json!({"path": "Node"}), "code semantic Node"),
        ("list_packs", json!({"root": "."}), "code packs"),
        ("code_context", json!({"action": "list"}), "code context list"),
        ("unpin", json!({"path": "Store"}), "code unpin Store"),
    ] {
        let data = agent.call(tool, params)["data"].take();
        assert_eq!(data, run_line(&home, line).records()[0], "{line}");
    }
    // The first request creates the prompt window.
    agent.call("get_prompt_window", json!({"budget": 500}));
    let window = agent.call("get_prompt_window", json!({"budget": 500, "pack": "core"}));
    assert_eq!(
        window["data"],
        run_line(&home, "code window --budget 500 --pack core").expect(0).records()[0]
    );
    assert_eq!(agent.call("code_status", json!({}))["data"]["pinned"], 1);
    // A long investigation continues in the background; without a model it is done at once.
    let started =
        agent.call("investigate", json!({"question": "who keeps nodes?", "scope": ["Memo"]}))["data"].take();
    assert_eq!(
        (&started["state"], &started["answer"]["by"]),
        (&json!("done"), &json!("evidence")),
        "{started}"
    );
    let op = started["op"].as_str().unwrap();
    let followed = agent.call("stream_op", json!({"op": op, "from": 1, "wait": 1}))["data"].take();
    assert_eq!((&followed["answer"], &followed["events"]), (&started["answer"], &json!([])), "{followed}");
    assert_eq!(run_line(&home, &format!("code op {op}")).expect(0).records()[0]["answer"], started["answer"]);
    assert_eq!(agent.call("dismiss", json!({"path": "Store"}))["data"]["changed"], true);
    let in_code_set = |tool: &&Tool| tool.sets.contains(&Set::Code);
    for tool in TOOLS.iter().filter(in_code_set) {
        assert_eq!(agent.refused(tool.name, json!({"nope": 1})), "INVALID_ARGUMENT", "{}", tool.name);
    }
    for (tool, params, code) in [
        ("build_pack", json!({"name": "../x", "filter": "type:A"}), "INVALID_ARGUMENT"),
        ("build_pack", json!({"name": "x", "filter": "size:3"}), "INVALID_FILTER"),
        ("code_context", json!({"action": "drop"}), "INVALID_ARGUMENT"),
        ("find_symbols", json!({"query": "Store", "kind": "verb"}), "INVALID_ARGUMENT"),
        ("code_map", json!({"budget": 0}), "INVALID_ARGUMENT"),
        ("pin", json!({"path": "Nobody"}), "SYMBOL_NOT_FOUND"),
        ("code_status", json!({"root": "/"}), "INVALID_ARGUMENT"),
    ] {
        assert_eq!(agent.refused(tool, params), code, "{tool}");
    }
}
