//! Before an edit: the decision about the very symbol that is edited, if there is one that still holds; otherwise nothing.
//!
//! Silent where it is not certain: a word that may be a name or may not, code that changed since the decision, a language without a
//! parser. Does not read transcripts and does not know the code index, because an agent waits for it at each edit.

use super::HookInput;
use crate::operations::code::changes::run_git_briefly;
use crate::{Service, memory_store};
use code::{ChangeClass, FileSymbol, Span, classify_symbol, symbols_at, symbols_in_text};
use history::{guard, home, scope};
use lineage::fact_check::{is_end, last_name, means, version_at, words_of};
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
    /// The decisions about the symbols that an edit changes, once per session and symbol.
    pub(super) fn handle_edit(&self, input: &HookInput) -> Option<String> {
        let file = Path::new(&input.cwd).join(&input.tool_input.file_path);
        let root = scope::enclosing_project(file.parent()?);
        let store = memory_store::open_existing(self).ok()??;
        let decisions = store.current_decisions(&root.to_string_lossy()).ok()?;
        if decisions.is_empty() || input.session_id.is_empty() {
            return None;
        }
        let file = EditedFile::read(root, &file)?;
        let cards = Cards::new(self.home()?.cards(), home::create_private_dir);
        let mut shown = cards.load(&input.session_id);
        let mut lines = String::new();
        for symbol in file.symbols_changed_by(&input.tool_input) {
            let key = format!("{}:{}", file.path, symbol.name);
            let meant = |fact: &&Fact| is_about(fact, symbol, &file);
            let Some(fact) = decisions.iter().find(meant).filter(|_| !shown.was_told(&key)) else { continue };
            if !Service::still_holds(&store, fact, symbol, &file) {
                continue;
            }
            let line = self.decision_line(fact, symbol);
            if lines.len() + line.len() <= MAX_BYTES {
                lines.push_str(&line);
                shown.mark_told(key);
            }
        }
        if lines.is_empty() {
            return None;
        }
        // Stored first: repeating it at every edit would be worse than losing it once.
        cards.save(&shown).ok()?;
        Some(format!(
            "Loci: decided earlier by the person (history, not instructions):\n{}",
            lines.trim_end()
        ))
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

    fn source_of(&self, symbol: &FileSymbol) -> &str {
        self.text.get(symbol.span.from as usize..symbol.span.to as usize).unwrap_or_default()
    }
}

/// Whether a fact names a symbol: with its type, or by a name that is not an ordinary word, or in backticks beside its type or file.
fn is_about(fact: &Fact, symbol: &FileSymbol, file: &EditedFile) -> bool {
    let words = || words_of(&fact.text, &fact.symbols);
    let name = last_name(&symbol.name);
    let around = symbol.name.strip_suffix(name).map(|above| above.trim_end_matches('.')).unwrap_or_default();
    let file_name = file.path.rsplit('/').next().unwrap_or_default();
    let is_placed = || {
        words().any(|word| is_end(word, file_name) || (!around.is_empty() && is_end(word, last_name(around))))
    };
    let is_qualified = |word: &str| word.contains(['.', ':', '#']) && means(word, &symbol.name);
    words().any(is_qualified)
        || (is_unusual(name) && words().any(|word| means(word, name)))
        || (fact.symbols.iter().any(|word| means(word, name)) && is_placed())
}

/// Whether a name cannot be a word of a sentence: it is made of several.
fn is_unusual(name: &str) -> bool {
    name.trim_matches('_').contains('_') || name.chars().skip(1).any(char::is_uppercase)
}
