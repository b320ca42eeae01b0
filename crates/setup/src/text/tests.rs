//! Inserting and removing entries, over every style people write their settings in.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn claude_entries() -> Vec<Entry> {
    let source =
        json!({"source": {"source": "directory", "path": "/home/dev/.local/share/loci/agents/claude-code"}});
    vec![
        Entry::at_key(&["extraKnownMarketplaces", "loci"], source),
        Entry::at_key(&["enabledPlugins", "loci@loci"], json!(true)),
    ]
}

fn codex_entries() -> Vec<Entry> {
    let hook = |line: &str| json!({"hooks": [{"type": "command", "command": line, "timeout": 1}]});
    vec![
        Entry::at_key(&["mcp_servers", "loci"], json!({"command": "/usr/bin/loci", "args": ["mcp"]})),
        Entry::in_list(
            &["hooks", "SessionStart"],
            "loci hook session-start",
            hook("/usr/bin/loci hook session-start"),
        ),
        Entry::in_list(&["hooks", "UserPromptSubmit"], "loci hook prompt", hook("/usr/bin/loci hook prompt")),
    ]
}

fn locations_of(entries: &[Entry]) -> Vec<Location> {
    entries.iter().map(|entry| entry.location.clone()).collect()
}

/// The parents that had to be created, as the plan computes them.
fn created_parents(form: SettingsFormat, text: &str, entries: &[Entry]) -> Vec<Vec<String>> {
    let tree = form.parse_tree(text).unwrap();
    let depth = |location: &Location| location.keys.len() - usize::from(location.mark.is_none());
    let around = entries.iter().map(|entry| &entry.location);
    let around = around.flat_map(|spot| (1..=depth(spot)).map(|end| spot.keys[..end].to_vec()));
    around.filter(|keys| Location { keys: keys.clone(), mark: None }.find(&tree).is_none()).collect()
}

/// Inserts and removes: reverting restores the former bytes, and removing by location restores the same settings.
fn check_round_trip(form: SettingsFormat, text: &str, entries: &[Entry]) -> String {
    let (after, stitches) = form.insert_entries(text, entries).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    let tree = form.parse_tree(&after).unwrap();
    for entry in entries {
        assert_eq!(entry.location.find(&tree), Some(&entry.value), "{after}");
    }
    assert_eq!(stitches.revert(&after).as_deref(), Some(text), "{after}");
    let found =
        form.remove_entries(&after, &locations_of(entries), &created_parents(form, text, entries)).unwrap();
    assert_eq!(form.parse_tree(&found).unwrap(), form.parse_tree(text).unwrap(), "{after}\n{found}");
    assert_eq!(form.remove_entries(&found, &locations_of(entries), &[]).unwrap(), found);
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
        let found = check_round_trip(SettingsFormat::Json, text, &claude_entries());
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
        check_round_trip(SettingsFormat::Json, text, &claude_entries());
    }
}

#[test]
fn an_entry_is_written_in_the_style_of_the_file() {
    let one = &[Entry::at_key(&["mcp", "loci"], json!({"command": ["loci", "mcp"]}))];
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
        assert_eq!(SettingsFormat::Json.insert_entries(text, one).unwrap().0, after);
    }
    let table = &[Entry::at_key(&["mcp_servers", "loci"], json!({"command": "a \"b\"", "env": {"X": "1"}}))];
    for (text, after) in [
        ("", "[mcp_servers.loci]\ncommand = \"a \\\"b\\\"\"\nenv = { X = \"1\" }\n"),
        ("a = 1", "a = 1\n\n[mcp_servers.loci]\ncommand = \"a \\\"b\\\"\"\nenv = { X = \"1\" }\n"),
        (
            "a = 1\r\n",
            "a = 1\r\n\r\n[mcp_servers.loci]\r\ncommand = \"a \\\"b\\\"\"\r\nenv = { X = \"1\" }\r\n",
        ),
    ] {
        assert_eq!(SettingsFormat::Toml.insert_entries(text, table).unwrap().0, after);
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
        check_round_trip(SettingsFormat::Toml, text, &codex_entries());
    }
}

#[test]
fn elements_of_json_lists_are_restored_byte_for_byte() {
    for text in [
        "{\n  \"a\": 1\n}\n",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[]}]}}",
        "{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"command\":\"mine\"}]}]}}",
        "{\r\n\t\"hooks\": {\r\n\t\t\"SessionStart\": [\r\n\t\t\t{\"hooks\": []}, // mine\r\n\t\t],\r\n\t},\r\n}\r\n",
        "{\n  \"hooks\": {\n    \"UserPromptSubmit\": [\n      {\"matcher\": \"]\"} /* mine */\n    ]\n  }\n}",
    ] {
        let found = check_round_trip(SettingsFormat::Json, text, &codex_entries());
        assert_eq!(found, text, "removing by location leaves nothing either");
    }
    for text in ["", "{}", "{\"hooks\": {\"SessionStart\": [ ]}}", "{\"hooks\": {\"SessionStart\": [\n]}}"] {
        check_round_trip(SettingsFormat::Json, text, &codex_entries());
    }
    for text in ["{\"hooks\": []}", "{\"hooks\": {\"SessionStart\": {}}}"] {
        let refused = SettingsFormat::Json.insert_entries(text, &codex_entries());
        assert!(matches!(refused, Err(EditError::Shape(_))), "{text}");
    }
}

/// The agent or the user has modified the file meanwhile.
#[test]
fn only_our_entries_are_removed_from_a_modified_file() {
    let two = "[mcp_servers.loci]\ncommand = \"loci\"\n";
    for (form, text, entries, left) in [
        (
            SettingsFormat::Json,
            "{\n  \"enabledPlugins\": {\n    \"loci@loci\": false,\n    \"x@y\": true\n  },\n  \"model\": \"opus\"\n}\n",
            claude_entries(),
            "{\n  \"enabledPlugins\": {\n    \"x@y\": true\n  },\n  \"model\": \"opus\"\n}\n",
        ),
        (
            SettingsFormat::Json,
            "{\"extraKnownMarketplaces\":{\"loci\":{}},\"enabledPlugins\":{\"a\":1,\"loci@loci\":true,},}",
            claude_entries(),
            "{\"enabledPlugins\":{\"a\":1,},}",
        ),
        (SettingsFormat::Json, "{\"model\":\"opus\"}", claude_entries(), "{\"model\":\"opus\"}"),
        (
            SettingsFormat::Toml,
            "a = 1\n\n[mcp_servers.loci]\ncommand = \"/elsewhere/loci\"\nenabled = false\n\n[mcp_servers.loci.tools.get_stats]\n\
             approval = \"never\"\n\n# about b\n[b]\nc = [\n  1,\n]\n",
            codex_entries(),
            "a = 1\n\n# about b\n[b]\nc = [\n  1,\n]\n",
        ),
        (
            SettingsFormat::Toml,
            "[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ncommand = \"mine\"\n\n[[hooks.SessionStart]]\n\n\
             [[hooks.SessionStart.hooks]]\ncommand = \"/usr/bin/loci hook session-start\"\n[hooks.state]\nx = 1\n",
            codex_entries(),
            "[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ncommand = \"mine\"\n[hooks.state]\nx = 1\n",
        ),
        (SettingsFormat::Toml, two, codex_entries(), ""),
    ] {
        let made = created_parents(form, "", &entries);
        assert_eq!(form.remove_entries(text, &locations_of(&entries), &made).unwrap(), left, "{text}");
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
        assert!(SettingsFormat::Json.insert_entries(text, &claude_entries()).is_err(), "{text}");
    }
    assert!(SettingsFormat::Json.insert_entries(&"[".repeat(1_000_000), &claude_entries()).is_err());
    for text in [
        "a",
        "[a",
        "a = 1\na = 2\n",
        "mcp_servers = { x = { command = \"y\" } }\n",
        "mcp_servers = 1\n",
        "hooks.SessionStart = []\n",
        "[hooks]\nSessionStart = [{ hooks = [] }]\n",
    ] {
        assert!(SettingsFormat::Toml.insert_entries(text, &codex_entries()).is_err(), "{text}");
    }
    // Ours, but on a line shared with other entries.
    let inline = "mcp_servers = { loci = { command = \"loci\" }, b = {} }\n";
    assert_eq!(
        SettingsFormat::Toml.remove_entries(inline, &locations_of(&codex_entries()), &[]),
        Err(EditError::Unsafe)
    );
}

#[test]
fn a_changed_byte_of_ours_is_noticed() {
    let (after, stitches) = SettingsFormat::Json.insert_entries("{\"a\":1}", &claude_entries()).unwrap();
    assert_eq!(stitches.revert(&after.replace("directory", "Directory")), None);
    assert_eq!(stitches.revert(&format!("{after}\n")), None);
    assert_eq!(stitches.revert(&after.replace("\"a\":1", "\"a\":2")).as_deref(), Some("{\"a\":2}"));
}

// ---- any settings at all

fn any_scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_string()),
        Just("true".to_string()),
        "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?",
        "\"([a-z \u{e9}{}\\[\\],:/#*]|\\\\\"|\\\\\\\\|\\\\u00e9){0,8}\"",
    ]
}

/// White space and comments between any two tokens.
fn any_space() -> impl Strategy<Value = String> {
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
fn any_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c d", "enabledPlugins", "extraKnownMarketplaces", "loci"])
}

fn any_object(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let member = (any_name(), any_space(), any_space(), inner, any_space(), any_space());
    let members = prop::collection::vec(member, 0..4);
    (members, any_space(), any::<bool>())
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

fn any_json_text() -> impl Strategy<Value = String> {
    let lists = |inner: BoxedStrategy<String>| {
        prop::collection::vec((any_space(), inner, any_space()), 0..3).prop_map(|items| {
            let items = items.into_iter().map(|(a, item, b)| a + &item + &b).collect::<Vec<_>>();
            format!("[{}]", items.join(","))
        })
    };
    let values = any_scalar()
        .boxed()
        .prop_recursive(3, 24, 4, move |inner| prop_oneof![any_object(inner.clone()), lists(inner)].boxed());
    (any::<bool>(), any_space(), any_object(values.boxed()), any_space()).prop_map(
        |(bom, before, object, after)| {
            format!("{}{before}{object}{after}", if bom { "\u{feff}" } else { "" })
        },
    )
}

fn any_toml_text() -> impl Strategy<Value = String> {
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
    fn any_json_is_restored(text in any_json_text()) {
        let form = SettingsFormat::Json;
        let former = form.parse_tree(&text).unwrap();
        for entries in [claude_entries(), codex_entries()] {
            let Ok((after, stitches)) = form.insert_entries(&text, &entries) else { continue };
            prop_assert_eq!(stitches.revert(&after), Some(text.clone()));
            let made = created_parents(form, &text, &entries);
            let found = form.remove_entries(&after, &locations_of(&entries), &made).unwrap();
            prop_assert_eq!(form.parse_tree(&found).unwrap(), former.clone());
            // An agent that rewrites its settings in its own style.
            let rewritten = serde_json::to_string_pretty(&form.parse_tree(&after).unwrap()).unwrap();
            let found = form.remove_entries(&rewritten, &locations_of(&entries), &made).unwrap();
            prop_assert_eq!(form.parse_tree(&found).unwrap(), former.clone());
        }
    }

    #[test]
    fn any_toml_is_restored(text in any_toml_text()) {
        if let Ok((after, stitches)) = SettingsFormat::Toml.insert_entries(&text, &codex_entries()) {
            prop_assert_eq!(stitches.revert(&after), Some(text.clone()));
            let found = SettingsFormat::Toml.remove_entries(&format!("{after}\n[later]\nx = 1\n"), &locations_of(&codex_entries()), &[]).unwrap();
            let mut former = SettingsFormat::Toml.parse_tree(&text).unwrap();
            former["later"] = json!({"x": 1});
            prop_assert_eq!(SettingsFormat::Toml.parse_tree(&found).unwrap(), former);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_restored(text in "[\\[\\]{}\",:/*#=a \n\r\\\\']{0,24}") {
        for (form, entries) in [(SettingsFormat::Json, claude_entries()), (SettingsFormat::Toml, codex_entries())] {
            if let Ok((after, stitches)) = form.insert_entries(&text, &entries) {
                prop_assert_eq!(stitches.revert(&after), Some(text.clone()));
            }
            let _ = form.remove_entries(&text, &locations_of(&entries), &[]);
        }
    }
}
