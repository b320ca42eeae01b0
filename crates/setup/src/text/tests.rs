//! Inserting and removing entries, over every style people write their settings in.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn claude() -> Vec<Entry> {
    let source =
        json!({"source": {"source": "directory", "path": "/home/dev/.local/share/loci/agents/claude-code"}});
    vec![
        Entry::member(&["extraKnownMarketplaces", "loci"], source),
        Entry::member(&["enabledPlugins", "loci@loci"], json!(true)),
    ]
}

fn codex() -> Vec<Entry> {
    let hook = |line: &str| json!({"hooks": [{"type": "command", "command": line, "timeout": 1}]});
    vec![
        Entry::member(&["mcp_servers", "loci"], json!({"command": "/usr/bin/loci", "args": ["mcp"]})),
        Entry::element(
            &["hooks", "SessionStart"],
            "loci hook session-start",
            hook("/usr/bin/loci hook session-start"),
        ),
        Entry::element(&["hooks", "UserPromptSubmit"], "loci hook prompt", hook("/usr/bin/loci hook prompt")),
    ]
}

fn spots(entries: &[Entry]) -> Vec<Spot> {
    entries.iter().map(|entry| entry.spot.clone()).collect()
}

/// The parents that had to be created, as the plan computes them.
fn made(form: Form, text: &str, entries: &[Entry]) -> Vec<Vec<String>> {
    let tree = form.tree(text).unwrap();
    let around = entries.iter().map(|entry| entry.spot.keys[..1].to_vec());
    around.filter(|keys| tree.get(&keys[0]).is_none()).collect()
}

/// Inserts and removes: reverting restores the former bytes, and removing by location restores the same settings.
fn goes_and_comes(form: Form, text: &str, entries: &[Entry]) -> String {
    let (after, stitches) = form.put_in(text, entries).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    let tree = form.tree(&after).unwrap();
    for entry in entries {
        assert_eq!(entry.spot.find(&tree), Some(&entry.value), "{after}");
    }
    assert_eq!(stitches.undone(&after).as_deref(), Some(text), "{after}");
    let found = form.take_out(&after, &spots(entries), &made(form, text, entries)).unwrap();
    assert_eq!(form.tree(&found).unwrap(), form.tree(text).unwrap(), "{after}\n{found}");
    assert_eq!(form.take_out(&found, &spots(entries), &[]).unwrap(), found);
    found
}

#[test]
fn json_in_every_style_is_restored_byte_for_byte() {
    for text in [
        "{\n  \"a\": 1\n}\n",
        "{\n  \"a\": 1\n}",
        "{\r\n\t\"a\": 1,\r\n\t\"b\": [1, 2]\r\n}\r\n",
        "{\"a\":1}",
        "{ \"a\": { \"b\": [] } }",
        "\u{feff}{\n    \"a\": \"ü\"\n}\n",
        "{\n  \"enabledPlugins\": {\n    \"x@y\": true\n  },\n  \"z\": null\n}\n",
        "{\"enabledPlugins\": {\"x\": true}, \"extraKnownMarketplaces\": {\"y\": {\"source\": {}}}}",
        "{\n  \"a\": 1 // why\n}\n",
        "{\n  \"a\": 1, // why\n  // \"b\": 2\n}\n",
        "{\n  /* all of it */\n  \"a\": \"}{\\\"//\", /* b */\n}\n",
    ] {
        let found = goes_and_comes(Form::Json, text, &claude());
        assert_eq!(found, text, "removing by location leaves nothing either");
    }
    let hollow = "{\n  \"enabledPlugins\": {},\n  \"extraKnownMarketplaces\": {\n  }\n}\n";
    for text in [
        hollow,
        "",
        "\n",
        "{}",
        "{}\n",
        "{ }\n",
        "{\n}\n",
        "{\n\n}",
        "{ /* nothing */ }",
        "{\n  // nothing\n}\n",
    ] {
        goes_and_comes(Form::Json, text, &claude());
    }
}

#[test]
fn an_entry_is_written_in_the_style_of_the_file() {
    let one = &[Entry::member(&["mcp", "loci"], json!({"command": ["loci", "mcp"]}))];
    for (text, after) in [
        ("", "{\n  \"mcp\": {\n    \"loci\": {\n      \"command\": [\"loci\", \"mcp\"]\n    }\n  }\n}\n"),
        ("{}", "{\n  \"mcp\": {\n    \"loci\": {\n      \"command\": [\"loci\", \"mcp\"]\n    }\n  }\n}"),
        ("{\"a\":1}", "{\"a\":1, \"mcp\": {\"loci\":{\"command\":[\"loci\",\"mcp\"]}}}"),
        (
            "{\r\n\t\"mcp\": {},\r\n\t\"a\": 1\r\n}",
            "{\r\n\t\"mcp\": {\r\n\t\t\"loci\": {\r\n\t\t\t\"command\": [\"loci\", \"mcp\"]\r\n\t\t}\r\n\t},\r\n\t\"a\": 1\r\n}",
        ),
        (
            "{\n  \"a\": 1 // why\n}",
            "{\n  \"a\": 1, // why\n  \"mcp\": {\n    \"loci\": {\n      \"command\": [\"loci\", \"mcp\"]\n    }\n  }\n}",
        ),
    ] {
        assert_eq!(Form::Json.put_in(text, one).unwrap().0, after);
    }
    let table = &[Entry::member(&["mcp_servers", "loci"], json!({"command": "a \"b\"", "env": {"X": "1"}}))];
    for (text, after) in [
        ("", "[mcp_servers.loci]\ncommand = \"a \\\"b\\\"\"\nenv = { X = \"1\" }\n"),
        ("a = 1", "a = 1\n\n[mcp_servers.loci]\ncommand = \"a \\\"b\\\"\"\nenv = { X = \"1\" }\n"),
        (
            "a = 1\r\n",
            "a = 1\r\n\r\n[mcp_servers.loci]\r\ncommand = \"a \\\"b\\\"\"\r\nenv = { X = \"1\" }\r\n",
        ),
    ] {
        assert_eq!(Form::Toml.put_in(text, table).unwrap().0, after);
    }
}

#[test]
fn toml_in_every_style_is_restored_byte_for_byte() {
    for text in [
        "",
        "\n",
        "model = \"x\"\n",
        "model = \"x\"",
        "model = \"x\"\r\n[a]\r\nb = 1\r\n",
        "# only a remark\n",
        "[mcp_servers.other]\ncommand = \"x\"\nargs = [\n  \"[mcp_servers.loci]\",\n  'b', # ]\n]\n",
        "[mcp_servers]\n[mcp_servers.other]\ncommand = '''\n[mcp_servers.loci]\n'''\n",
        "a = \"\"\"\n[[hooks.SessionStart]]\n\\\"\"\"\"\n\n[hooks]\n",
        "[[hooks.SessionStart]]\nhooks = [{ type = \"command\", command = \"mine\" }]\n\n[z]\nq = 2026-11-15T08:00:00Z\n",
        "[projects.\"/a.b/[c]\"]\ntrust_level = \"trusted\"\n\n\n",
        "\u{feff}a = 1\n",
    ] {
        goes_and_comes(Form::Toml, text, &codex());
    }
}

/// The agent or the user has modified the file meanwhile.
#[test]
fn only_our_entries_are_removed_from_a_modified_file() {
    let two = "[mcp_servers.loci]\ncommand = \"loci\"\n";
    for (form, text, entries, left) in [
        (
            Form::Json,
            "{\n  \"enabledPlugins\": {\n    \"loci@loci\": false,\n    \"x@y\": true\n  },\n  \"model\": \"opus\"\n}\n",
            claude(),
            "{\n  \"enabledPlugins\": {\n    \"x@y\": true\n  },\n  \"model\": \"opus\"\n}\n",
        ),
        (
            Form::Json,
            "{\"extraKnownMarketplaces\":{\"loci\":{}},\"enabledPlugins\":{\"a\":1,\"loci@loci\":true,},}",
            claude(),
            "{\"enabledPlugins\":{\"a\":1,},}",
        ),
        (Form::Json, "{\"model\":\"opus\"}", claude(), "{\"model\":\"opus\"}"),
        (
            Form::Toml,
            "a = 1\n\n[mcp_servers.loci]\ncommand = \"/elsewhere/loci\"\nenabled = false\n\n[mcp_servers.loci.tools.get_stats]\n\
             approval = \"never\"\n\n# about b\n[b]\nc = [\n  1,\n]\n",
            codex(),
            "a = 1\n\n# about b\n[b]\nc = [\n  1,\n]\n",
        ),
        (
            Form::Toml,
            "[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ncommand = \"mine\"\n\n[[hooks.SessionStart]]\n\n\
             [[hooks.SessionStart.hooks]]\ncommand = \"/usr/bin/loci hook session-start\"\n[hooks.state]\nx = 1\n",
            codex(),
            "[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ncommand = \"mine\"\n[hooks.state]\nx = 1\n",
        ),
        (Form::Toml, two, codex(), ""),
    ] {
        let made = made(form, "", &entries);
        assert_eq!(form.take_out(text, &spots(&entries), &made).unwrap(), left, "{text}");
    }
}

#[test]
fn a_file_that_cannot_be_parsed_is_left_alone() {
    for text in [
        "[]",
        "1",
        "{",
        "{\"a\"}",
        "{a: 1}",
        "{\"a\": 1} {}",
        "{\"a\": tru}",
        "{\"a\": 01}",
        "{\"a\": 1 \"b\": 2}",
        "{\"a\": 1, \"a\": 2}",
        "{\"enabledPlugins\": []}",
        "{\"extraKnownMarketplaces\": null}",
        "{/* }",
        "'a'",
        "{,}",
        "{\"a\": [1 2]}",
        "{\"a\": \"\n\"}",
    ] {
        assert!(Form::Json.put_in(text, &claude()).is_err(), "{text}");
    }
    assert!(Form::Json.put_in(&"[".repeat(1_000_000), &claude()).is_err());
    for text in [
        "a",
        "[a",
        "a = 1\na = 2\n",
        "mcp_servers = { x = { command = \"y\" } }\n",
        "mcp_servers = 1\n",
        "hooks.SessionStart = []\n",
        "[hooks]\nSessionStart = [{ hooks = [] }]\n",
    ] {
        assert!(Form::Toml.put_in(text, &codex()).is_err(), "{text}");
    }
    // Ours, but on a line shared with other entries.
    let inline = "mcp_servers = { loci = { command = \"loci\" }, b = {} }\n";
    assert_eq!(Form::Toml.take_out(inline, &spots(&codex()), &[]), Err(EditError::Unsafe));
}

#[test]
fn a_changed_byte_of_ours_is_noticed() {
    let (after, stitches) = Form::Json.put_in("{\"a\":1}", &claude()).unwrap();
    assert_eq!(stitches.undone(&after.replace("directory", "Directory")), None);
    assert_eq!(stitches.undone(&format!("{after}\n")), None);
    assert_eq!(stitches.undone(&after.replace("\"a\":1", "\"a\":2")).as_deref(), Some("{\"a\":2}"));
}

// ---- any settings at all

fn scalars() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_string()),
        Just("true".to_string()),
        "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?",
        "\"([a-z \u{e9}{}\\[\\],:/#*]|\\\\\"|\\\\\\\\|\\\\u00e9){0,8}\"",
    ]
}

/// White space and comments between any two tokens.
fn spaces() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_string()),
        2 => Just("\n  ".to_string()),
        1 => Just("\r\n\t".to_string()),
        1 => "/\\*[a-z {},\":]{0,6}\\*/",
        1 => "//[a-z {},\":]{0,6}\n",
    ];
    prop::collection::vec(one, 0..2).prop_map(|parts| parts.concat())
}

/// Names that include ours, so that some settings already contain the parents of our entries.
fn names() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c d", "enabledPlugins", "extraKnownMarketplaces", "loci"])
}

fn objects(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let member = (names(), spaces(), spaces(), inner, spaces(), spaces());
    let members = prop::collection::vec(member, 0..4);
    (members, spaces(), any::<bool>())
        .prop_map(|(members, last, comma)| {
            let mut seen = Vec::new();
            let mut parts = Vec::new();
            for (name, a, b, value, c, d) in members {
                if !seen.contains(&name) {
                    seen.push(name);
                    parts.push(format!("{a}\"{name}\"{b}:{c}{value}{d}"));
                }
            }
            let comma = if comma && !parts.is_empty() { "," } else { "" };
            format!("{{{}{comma}{last}}}", parts.join(","))
        })
        .boxed()
}

fn json_texts() -> impl Strategy<Value = String> {
    let lists = |inner: BoxedStrategy<String>| {
        prop::collection::vec((spaces(), inner, spaces()), 0..3).prop_map(|items| {
            let items = items.into_iter().map(|(a, item, b)| a + &item + &b).collect::<Vec<_>>();
            format!("[{}]", items.join(","))
        })
    };
    let values = scalars()
        .boxed()
        .prop_recursive(3, 24, 4, move |inner| prop_oneof![objects(inner.clone()), lists(inner)].boxed());
    (any::<bool>(), spaces(), objects(values.boxed()), spaces()).prop_map(|(bom, before, object, after)| {
        format!("{}{before}{object}{after}", if bom { "\u{feff}" } else { "" })
    })
}

fn toml_texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just(String::new()),
        "# [a-z\\[\\]\"']{0,8}",
        "k[0-9]{1,3} = [0-9]{1,4}",
        "k[0-9]{1,3} = \"[a-z#\\[\\]{}']{0,8}\" # [a-z]{0,4}",
        "k[0-9]{1,3} = '''\n\\[[a-z\"]{1,6}\\]\n'''",
        "k[0-9]{1,3} = \\[\n  \"\\[x\\]\", # \\]\n  2,\n\\]",
        "\\[t[0-9]{1,3}\\]",
        "\\[mcp_servers\\.[a-k]{1,6}\\]",
        "\\[\\[hooks\\.SessionStart\\]\\]",
        "\\[\\[hooks\\.Stop\\]\\]",
    ];
    (prop::collection::vec(line, 0..12), any::<bool>(), any::<bool>()).prop_map(|(lines, end, crlf)| {
        let text = lines.join("\n") + if end { "\n" } else { "" };
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

proptest! {
    #[test]
    fn any_json_is_restored(text in json_texts()) {
        let former = Form::Json.tree(&text).unwrap();
        if let Ok((after, stitches)) = Form::Json.put_in(&text, &claude()) {
            prop_assert_eq!(stitches.undone(&after), Some(text.clone()));
            let made = made(Form::Json, &text, &claude());
            let found = Form::Json.take_out(&after, &spots(&claude()), &made).unwrap();
            prop_assert_eq!(Form::Json.tree(&found).unwrap(), former.clone());
            // An agent that rewrites its settings in its own style.
            let rewritten = serde_json::to_string_pretty(&Form::Json.tree(&after).unwrap()).unwrap();
            let found = Form::Json.take_out(&rewritten, &spots(&claude()), &made).unwrap();
            prop_assert_eq!(Form::Json.tree(&found).unwrap(), former);
        }
    }

    #[test]
    fn any_toml_is_restored(text in toml_texts()) {
        if let Ok((after, stitches)) = Form::Toml.put_in(&text, &codex()) {
            prop_assert_eq!(stitches.undone(&after), Some(text.clone()));
            let found = Form::Toml.take_out(&format!("{after}\n[later]\nx = 1\n"), &spots(&codex()), &[]).unwrap();
            let mut former = Form::Toml.tree(&text).unwrap();
            former["later"] = json!({"x": 1});
            prop_assert_eq!(Form::Toml.tree(&found).unwrap(), former);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_restored(text in "[\\[\\]{}\",:/*#=a \n\r\\\\']{0,24}") {
        for (form, entries) in [(Form::Json, claude()), (Form::Toml, codex())] {
            if let Ok((after, stitches)) = form.put_in(&text, &entries) {
                prop_assert_eq!(stitches.undone(&after), Some(text.clone()));
            }
            let _ = form.take_out(&text, &spots(&entries), &[]);
        }
    }
}
