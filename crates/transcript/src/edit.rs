//! The edits a tool call made: the path, the text it replaced and the text it wrote, whichever agent made it.
//!
//! Agents name the same arguments differently, so the shape of the input decides, not the agent. Reads a call as the archive
//! keeps it: an edit outlives its transcript. Does not know whether the file was really changed, or how it looked before.

use record::Call;
use serde_json::Value;

/// A piece of a file as an agent replaced it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEdit {
    /// As the agent wrote it: absolute, or relative to its working directory.
    pub path: String,
    /// The replaced text; None if the call contains only the new one.
    pub before: Option<String>,
    pub after: String,
}

/// Tools that change files, in lower case and without separators.
const EDIT_TOOLS: &[&str] = &[
    "edit",
    "multiedit",
    "notebookedit",
    "write",
    "applypatch",
    "patch",
    "writefile",
    "replace",
    "editfile",
    "createfile",
    "create",
    "strreplace",
    "strreplaceeditor",
    "strreplacebasededittool",
    "searchreplace",
    "searchandreplace",
    "replaceinfile",
    "replacestringinfile",
    "multireplacestringinfile",
    "inserteditintofile",
    "writetofile",
    "applydiff",
    "insertcontent",
    "insert",
    "save",
    "append",
    "fswrite",
    "fileeditor",
    "filewrite",
    "fileedit",
    "editor",
    "texteditor",
    "overwrite",
    "editnotebook",
    "writenewfile",
    // Codex passes patches to its shell.
    "shell",
    "execcommand",
    "localshellcall",
];

/// Whether a call of this tool can contain an edit: others need not be read.
pub fn may_edit(tool: &str) -> bool {
    let tool = tool.rsplit("__").next().unwrap_or(tool);
    let is_same = |known: &&str| {
        let letters = tool.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase());
        letters.eq(known.bytes())
    };
    EDIT_TOOLS.iter().any(is_same)
}

/// Whether each call of this tool changes one file, and every agent that has it records which.
pub fn names_its_file(tool: &str) -> bool {
    matches!(tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit")
}

const PATH: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "TargetFile",
    "relative_workspace_path",
    "filename",
    "filepath",
    "file",
];
const BEFORE: &[&str] =
    &["old_string", "oldString", "old_str", "oldText", "old_text", "old_content", "search", "old"];
const AFTER: &[&str] =
    &["new_string", "newString", "new_str", "newText", "new_text", "new_content", "replace", "new"];
const WHOLE: &[&str] = &["content", "file_text", "contents", "text", "new_source", "CodeContent"];
const LISTS: &[&str] = &["edits", "replacements", "changes"];
const PATCHES: &[&str] = &["input", "patch", "patchText", "patch_text", "diff", "command", "cmd", "content"];

/// The edits of a call, in its order. Empty for a call that failed, or that names no text.
pub fn read_edits(call: &Call) -> Vec<FileEdit> {
    if call.status == record::Status::Error {
        return Vec::new();
    }
    let Ok(input) = serde_json::from_str::<Value>(&call.input) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(patch) = find_patch(&input) {
        read_patch(&patch, &mut found);
        return found;
    }
    let path = text_of(&input, PATH).or(call.file.as_deref()).unwrap_or_default();
    read_object(&input, path, &mut found);
    found.retain(|edit| !edit.path.is_empty() && edit.before.as_ref() != Some(&edit.after));
    found
}

fn text_of<'v>(object: &'v Value, names: &[&str]) -> Option<&'v str> {
    names.iter().find_map(|name| object.get(name)?.as_str())
}

fn read_object(object: &Value, path: &str, found: &mut Vec<FileEdit>) {
    let path = text_of(object, PATH).unwrap_or(path);
    let listed: Vec<&Value> = LISTS
        .iter()
        .filter_map(|name| object.get(name)?.as_array())
        .flatten()
        .filter(|v| v.is_object())
        .collect();
    if !listed.is_empty() {
        for one in listed {
            read_object(one, path, found);
        }
        return;
    }
    let edit = |before: Option<&str>, after: &str| FileEdit {
        path: path.to_string(),
        before: before.map(str::to_string),
        after: after.to_string(),
    };
    if let Some(after) = text_of(object, AFTER) {
        // An insertion replaces nothing.
        let inserts = object.get("insert_line").is_some();
        found.push(edit(text_of(object, BEFORE).or(inserts.then_some("")), after));
    } else if let Some(blocks) =
        text_of(object, &["diff", "content"]).filter(|text| SEARCH.iter().any(|mark| text.contains(mark)))
    {
        found.extend(search_blocks(blocks).into_iter().map(|(before, after)| edit(Some(&before), &after)));
    } else if let Some(after) = text_of(object, WHOLE) {
        found.push(edit(None, after));
    }
}

/// How Cline, Roo, Aider and others begin a replacement, and gptme.
const SEARCH: [&str; 2] = ["<<<<<<< SEARCH", "<<<<<<< ORIGINAL"];

fn search_blocks(text: &str) -> Vec<(String, String)> {
    let (mut found, mut before, mut after) = (Vec::new(), String::new(), String::new());
    let mut part = None;
    for line in text.lines() {
        match (line.trim_end(), part) {
            (line, None) if SEARCH.iter().any(|mark| line.starts_with(mark)) => part = Some(false),
            ("=======", Some(false)) => part = Some(true),
            (mark, Some(true)) if mark.starts_with(">>>>>>> ") => {
                found.push((std::mem::take(&mut before), std::mem::take(&mut after)));
                part = None;
            }
            (mark, Some(false)) if mark.starts_with(":start_line:") || mark == "-------" => {}
            (_, Some(is_after)) => push_line(if is_after { &mut after } else { &mut before }, line),
            _ => {}
        }
    }
    found
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

const BEGIN: &str = "*** Begin Patch";

/// A patch, in any argument that can contain one, also inside a shell command.
fn find_patch(input: &Value) -> Option<String> {
    let is_patch = |text: &&str| text.contains(BEGIN) || text.contains("\n@@ -") && text.contains("+++ ");
    if let Some(text) = input.as_str() {
        return Some(text).filter(is_patch).map(str::to_string);
    }
    PATCHES.iter().find_map(|name| {
        let value = input.get(name)?;
        let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        value.as_str().into_iter().chain(words).find(is_patch).map(str::to_string)
    })
}

/// Reads a patch in the form of Codex or of `diff -u`: one edit per hunk.
fn read_patch(patch: &str, found: &mut Vec<FileEdit>) {
    let start = patch.find(BEGIN).unwrap_or(0);
    let mut hunk = FileEdit::default();
    let mut flush = |hunk: &mut FileEdit, path: &str| {
        let done = std::mem::replace(hunk, FileEdit { path: path.to_string(), ..FileEdit::default() });
        if done.before.as_deref().unwrap_or_default() != done.after {
            found.push(done);
        }
    };
    for line in patch[start..].lines() {
        if line.starts_with("*** End Patch") {
            break;
        }
        let header =
            ["*** Update File: ", "*** Add File: ", "*** Move to: ", "*** Delete File: ", "+++ b/", "+++ "]
                .iter()
                .find_map(|mark| line.strip_prefix(mark));
        if let Some(path) = header {
            flush(&mut hunk, path.trim());
        } else if line.starts_with("@@") {
            let path = hunk.path.clone();
            flush(&mut hunk, &path);
        } else if !line.starts_with("*** ") && !line.starts_with("--- ") && !hunk.path.is_empty() {
            add_patch_line(&mut hunk, line);
        }
    }
    flush(&mut hunk, "");
}

fn add_patch_line(hunk: &mut FileEdit, line: &str) {
    let before = hunk.before.get_or_insert_default();
    match line.split_at_checked(1) {
        Some(("+", text)) => push_line(&mut hunk.after, text),
        Some(("-", text)) => push_line(before, text),
        Some((" ", text)) => {
            push_line(before, text);
            push_line(&mut hunk.after, text);
        }
        None => {
            push_line(before, "");
            push_line(&mut hunk.after, "");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(input: &str) -> Vec<(String, Option<String>, String)> {
        let call = Call { input: input.to_string(), ..Call::default() };
        read_edits(&call).into_iter().map(|edit| (edit.path, edit.before, edit.after)).collect()
    }

    fn one(path: &str, before: Option<&str>, after: &str) -> Vec<(String, Option<String>, String)> {
        vec![(path.to_string(), before.map(str::to_string), after.to_string())]
    }

    #[test]
    fn replacements_are_read_under_the_names_of_every_agent() {
        for input in [
            r#"{"file_path":"/p/a.rs","old_string":"x","new_string":"y"}"#,
            r#"{"filePath":"/p/a.rs","oldString":"x","newString":"y"}"#,
            r#"{"command":"str_replace","path":"/p/a.rs","old_str":"x","new_str":"y"}"#,
            r#"{"path":"/p/a.rs","edits":[{"oldText":"x","newText":"y"}]}"#,
            r#"{"edits":[{"file_path":"/p/a.rs","old_string":"x","new_string":"y"}]}"#,
        ] {
            assert_eq!(edits(input), one("/p/a.rs", Some("x"), "y"), "{input}");
        }
    }

    #[test]
    fn a_written_file_has_no_text_before() {
        assert_eq!(edits(r#"{"file_path":"a.rs","content":"y\n"}"#), one("a.rs", None, "y\n"));
        assert_eq!(edits(r#"{"path":"a.rs","file_text":"y"}"#), one("a.rs", None, "y"));
        assert_eq!(edits(r#"{"path":"a.rs","insert_line":3,"new_str":"y"}"#), one("a.rs", Some(""), "y"));
    }

    #[test]
    fn patches_are_read_hunk_by_hunk() {
        let patch = "*** Begin Patch\\n*** Update File: src/a.rs\\n@@ fn a\\n one\\n-two\\n+2\\n@@\\n-x\\n+y\\n*** Add File: b.rs\\n+new\\n*** End Patch";
        let expected = [
            one("src/a.rs", Some("one\ntwo\n"), "one\n2\n"),
            one("src/a.rs", Some("x\n"), "y\n"),
            one("b.rs", Some(""), "new\n"),
        ]
        .concat();
        assert_eq!(edits(&format!("{{\"input\":\"{patch}\"}}")), expected);
        assert_eq!(edits(&format!("\"{patch}\"")), expected);
        let shell = format!("{{\"command\":[\"bash\",\"-lc\",\"apply_patch <<'EOF'\\n{patch}\\nEOF\"]}}");
        assert_eq!(edits(&shell), expected);
    }

    #[test]
    fn search_blocks_are_read() {
        let diff = "<<<<<<< SEARCH\\n:start_line:4\\n-------\\nx\\n=======\\ny\\n>>>>>>> REPLACE\\n";
        let input = format!("{{\"path\":\"a.ts\",\"diff\":\"{diff}\"}}");
        assert_eq!(edits(&input), one("a.ts", Some("x\n"), "y\n"));
    }

    #[test]
    fn a_failed_call_and_a_plain_command_edit_nothing() {
        let input = r#"{"file_path":"a","old_string":"x","new_string":"y"}"#.to_string();
        let failed = Call { input, status: record::Status::Error, ..Call::default() };
        assert!(read_edits(&failed).is_empty());
        assert!(edits(r#"{"command":"ls -l"}"#).is_empty());
        assert!(edits(r#"{"file_path":"a","old_string":"x","new_string":"x"}"#).is_empty());
        assert!(edits("not json").is_empty());
    }

    #[test]
    fn tools_that_edit_are_known_by_any_spelling() {
        for tool in ["Edit", "MultiEdit", "apply_patch", "write_file", "mcp__fs__edit_file", "replace"] {
            assert!(may_edit(tool), "{tool}");
        }
        for tool in ["Read", "Bash", "Grep", ""] {
            assert!(!may_edit(tool), "{tool}");
        }
    }
}
