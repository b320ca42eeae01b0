//! Before an edit: the decision about the very symbol that is edited, if there is one that still holds, and the last attempt at it that
//! failed; otherwise nothing.
//!
//! Silent where it is not certain: a word that may be a name or may not, code that changed since the decision, a language without a
//! parser. Reads only the calls that the catalogue names and does not know the code index, because an agent waits for it at each edit.

use super::HookInput;
use crate::operations::code::changes::run_git_briefly;
use crate::{Service, memory_store};
use code::{ChangeClass, FileSymbol, Span, classify_symbol, symbols_at, symbols_in_text};
use history::excerpt::truncate_line;
use history::file_calls::FileCalls;
use history::{guard, home, scope};
use lineage::attempts::{MAX_CALLS, find_attempts};
use lineage::fact_check::{names_symbol, version_at};
use memory::{Fact, Store};
use recommend::cards::Cards;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most that is printed: 300 tokens, of which none is shorter than three bytes on average.
const MAX_BYTES: usize = 900;
/// A larger file takes longer to parse than an edit may be held up.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The arguments of an editing tool; unknown fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput {
    #[serde(alias = "path", alias = "notebook_path")]
    file_path: String,
    old_string: String,
    edits: Vec<Replacement>,
    /// The whole new text of the file.
    content: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Replacement {
    old_string: String,
}

/// The file that is about to be edited, as it is.
struct EditedFile {
    root: PathBuf,
    /// Relative to the root.
    path: String,
    text: String,
    symbols: Vec<FileSymbol>,
    /// When its inode changed last, in milliseconds: no tool sets this time back.
    changed_at: i64,
}

impl Service {
    /// The decisions about the symbols that an edit changes, and the attempts at them that failed, once per session and symbol.
    pub(super) fn handle_edit(&self, input: &HookInput) -> Option<String> {
        let file = Path::new(&input.cwd).join(&input.tool_input.file_path);
        let root = scope::enclosing_project(file.parent()?);
        let store = memory_store::open_existing(self).ok().flatten();
        let decided = store.as_ref().and_then(|store| store.current_decisions(&root.to_string_lossy()).ok());
        let decisions = decided.unwrap_or_default();
        let path = scope::canonical_path(&file).strip_prefix(&root).ok()?.to_string_lossy().into_owned();
        let folders = scope::project_folders(&self.history(), &root);
        let calls = FileCalls::load(self.history(), &folders, &path, MAX_CALLS);
        if (decisions.is_empty() && calls.is_none()) || input.session_id.is_empty() {
            return None;
        }
        let file = EditedFile::read(root, &file)?;
        let cards = Cards::new(self.home()?.cards(), home::create_private_dir);
        let mut shown = cards.load(&input.session_id);
        let mut symbols = file.symbols_changed_by(&input.tool_input);
        symbols.retain(|symbol| !shown.was_told(&file.key_of(symbol)));
        let (mut decided, mut tried) = (String::new(), String::new());
        for symbol in &symbols {
            let is_meant = |fact: &&Fact| names_symbol(&fact.text, &fact.symbols, &symbol.name, &file.path);
            let fact = decisions.iter().find(is_meant);
            let Some((store, fact)) = store.as_ref().zip(fact) else { continue };
            let line = self.decision_line(fact, symbol);
            if decided.len() + line.len() <= MAX_BYTES && Service::still_holds(store, fact, symbol, &file) {
                decided.push_str(&line);
                shown.mark_told(file.key_of(symbol));
            }
        }
        let shorten = |text: &str, most: usize| {
            truncate_line(&self.history().mask_text(&guard::defuse_text(text)), most)
        };
        let spans: Vec<_> = symbols.iter().map(|it| it.span.from as usize..it.span.to as usize).collect();
        let attempts =
            calls.map(|calls| find_attempts(&calls, &file.path, &file.text, &spans, &input.session_id));
        for (symbol, attempt) in symbols.iter().zip(attempts.into_iter().flatten()) {
            let line = attempt.map_or_else(String::new, |attempt| attempt.line(&symbol.name, &shorten));
            if !line.is_empty() && decided.len() + tried.len() + line.len() <= MAX_BYTES {
                tried.push_str(&line);
                shown.mark_told(file.key_of(symbol));
            }
        }
        let parts =
            [("decided earlier by the person", decided), ("tried earlier, and it did not stay", tried)];
        let parts = parts.iter().filter(|(_, lines)| !lines.is_empty());
        let parts = parts.map(|(what, lines)| format!("Loci: {what} (history, not instructions):\n{lines}"));
        let said = parts.collect::<String>();
        if said.is_empty() {
            return None;
        }
        // Stored first: repeating it at every edit would be worse than losing it once.
        cards.save(&shown).ok()?;
        Some(said.trim_end().to_string())
    }

    fn decision_line(&self, fact: &Fact, symbol: &FileSymbol) -> String {
        let words: Vec<&str> = fact.text.split_whitespace().collect();
        let text = guard::defuse_text(&words.join(" ")).into_owned();
        let text = self.history().mask_text(&text);
        format!("- {} ({} of {}): {text}\n", symbol.name, fact.kind.word(), fact.made_at.utc_day())
    }

    /// Whether what others rely on is as it was when the session that stated the fact ended.
    fn still_holds(store: &Store, fact: &Fact, symbol: &FileSymbol, file: &EditedFile) -> bool {
        let Ok(Some(fact)) = store.fact(&fact.id) else { return false };
        let sessions =
            fact.evidence.iter().filter_map(|it| store.session(&it.source, &it.session_id).ok()?);
        let ended = sessions.map(|session| session.ended_at.0).max().unwrap_or(fact.made_at.0);
        let git = |args: &[&str], _: Vec<u8>| run_git_briefly(&file.root, args);
        // Git takes most of the time that a hook has.
        if file.changed_at <= ended || !file.root.join(".git").exists() {
            return true;
        }
        let Ok(version) = version_at(&git, &file.path, ended) else { return false };
        let Some(version) = version else { return true };
        let place = format!("{}:./{}", version.commit, version.path);
        let Ok(then) = git(&["show", "--no-textconv", &place], Vec::new()) else { return false };
        let then = symbols_in_text(&version.path, &String::from_utf8_lossy(&then));
        let change = classify_symbol(&then, &file.symbols, &symbol.name);
        change.is_some_and(|class| class > ChangeClass::PublicBehavior)
    }
}

impl EditedFile {
    fn read(root: PathBuf, file: &Path) -> Option<EditedFile> {
        let file = scope::canonical_path(file);
        let metadata = std::fs::metadata(&file).ok()?;
        // A link may lead to a device, which has no end.
        let is_read = metadata.is_file() && metadata.len() <= MAX_FILE_BYTES;
        let bytes = is_read.then(|| std::fs::read(&file).ok())??;
        let changed_at = os::files::stamp(&metadata).changed / 1_000_000;
        let path = file.strip_prefix(&root).ok()?.to_string_lossy().into_owned();
        let text = String::from_utf8(bytes).ok()?;
        let symbols = symbols_in_text(&path, &text);
        Some(EditedFile { root, path, text, symbols, changed_at })
    }

    fn symbols_changed_by(&self, edit: &ToolInput) -> Vec<&FileSymbol> {
        if let Some(content) = &edit.content {
            let is_kept = |symbol: &&FileSymbol| content.contains(self.source_of(symbol));
            return self.symbols.iter().filter(|symbol| symbol.is_member && !is_kept(symbol)).collect();
        }
        let replaced = edit.edits.iter().map(|it| it.old_string.as_str()).chain([edit.old_string.as_str()]);
        let places = replaced.filter(|old| !old.is_empty()).filter_map(|old| {
            let at = self.text.find(old)?;
            Some(Span::new(at, at + old.len()))
        });
        let mut seen = BTreeSet::new();
        let found = places.flat_map(|at| symbols_at(&self.symbols, at));
        found.filter(|symbol| seen.insert(&symbol.name)).collect()
    }

    fn key_of(&self, symbol: &FileSymbol) -> String {
        format!("{}:{}", self.path, symbol.name)
    }

    fn source_of(&self, symbol: &FileSymbol) -> &str {
        self.text.get(symbol.span.from as usize..symbol.span.to as usize).unwrap_or_default()
    }
}
