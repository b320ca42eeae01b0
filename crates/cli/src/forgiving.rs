//! Reads a first word that is not a command: other programs' names for ours, and plain words, which are searched for.
//!
//! Does not know what the commands do.

use std::ffi::OsString;

/// What people type who know other programs, and the command that is meant.
pub(crate) const SYNONYMS: &[(&str, &str)] = &[
    ("find", "search"),
    ("grep", "search"),
    ("ask", "search"),
    ("list", "sessions"),
    ("ls", "sessions"),
    ("log", "sessions"),
    ("history", "sessions"),
    ("recent", "sessions"),
    ("projects", "project list"),
    ("view", "show"),
    ("cat", "show"),
    ("open", "show"),
    ("read", "show"),
    ("errors", "query errors"),
    ("tools", "query tools"),
    ("messages", "query messages"),
    ("prompts", "query user-messages"),
    ("turns", "query turns"),
    ("files", "query files"),
    ("cost", "usage"),
    ("costs", "usage"),
    ("tokens", "usage"),
    ("agents", "sources"),
    ("install", "setup"),
    ("init", "setup"),
    ("uninstall", "setup --remove"),
    ("remember", "memory add"),
    ("facts", "memory list"),
    ("suggest", "recommend"),
    ("outline", "code outline"),
    ("usages", "code usages"),
    ("check", "doctor"),
    ("delete", "forget"),
    ("rm", "forget"),
    ("reindex", "index"),
    ("serve", "mcp"),
];

/// A command line that stands for another one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) line: Vec<OsString>,
    /// What to tell the person.
    pub(crate) note: String,
}

/// Whether the words are a question and not the command `why`, which takes one: "why is the cache cold".
pub(crate) fn is_question(typed: &[OsString]) -> bool {
    let is_word = |at: usize| typed.get(at).is_some_and(|word| !word.to_string_lossy().starts_with('-'));
    typed.get(1).is_some_and(|first| first == "why") && is_word(2) && is_word(3)
}

/// The command line that is meant, if the first word is not a command but a synonym or a word to search for. A word that
/// resembles a command is left for the error message, which suggests that one.
pub(crate) fn rewrite(typed: &[OsString], is_near_command: impl Fn(&str) -> bool) -> Option<Rewritten> {
    let first = typed.get(1)?.to_str()?;
    if let Some((_, command)) = SYNONYMS.iter().find(|(word, _)| *word == first) {
        let mut line = vec![typed[0].clone()];
        line.extend(command.split(' ').map(OsString::from));
        line.extend_from_slice(&typed[2..]);
        return Some(Rewritten { line, note: format!("`{first}` is `loci {command}`") });
    }
    let is_question = is_question(typed);
    if !is_question && (first.starts_with('-') || is_near_command(first)) {
        return None;
    }
    let mut line = typed.to_vec();
    line.insert(1, "search".into());
    if is_question {
        let note = "`loci why` takes one symbol, file or commit; searching for the question".to_string();
        return Some(Rewritten { line, note });
    }
    let note = format!("`{}` is not a command; searching for it, as `loci search` does", shorten(first));
    Some(Rewritten { line, note })
}

fn shorten(word: &str) -> String {
    let start: String = word.chars().take(40).collect();
    if start.len() < word.len() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn rewritten(text: &str) -> Option<Vec<OsString>> {
        rewrite(&line(text), |word| word == "serach").map(|it| it.line)
    }

    #[test]
    fn synonyms_lead_to_the_command_and_keep_the_arguments() {
        assert_eq!(rewritten("loci find pool"), Some(line("loci search pool")));
        assert_eq!(rewritten("loci errors -n 3"), Some(line("loci query errors -n 3")));
        assert_eq!(rewritten("loci uninstall"), Some(line("loci setup --remove")));
    }

    #[test]
    fn other_words_are_searched_for_unless_they_resemble_a_command() {
        assert_eq!(rewritten("loci flaky test"), Some(line("loci search flaky test")));
        assert_eq!(rewritten("loci serach test"), None);
        assert_eq!(rewritten("loci --nope"), None);
        assert_eq!(rewritten("loci"), None);
    }

    #[test]
    fn a_question_is_searched_for() {
        assert_eq!(rewritten("loci why is it cold"), Some(line("loci search why is it cold")));
        for command in ["loci why Store.flush", "loci why Store.flush --budget 900", "loci show a b"] {
            assert!(!is_question(&line(command)), "{command}");
        }
    }

    #[test]
    fn every_synonym_stands_for_a_command_and_hides_none() {
        let root = crate::args::build_command(None);
        for (word, command) in SYNONYMS {
            assert!(root.find_subcommand(word).is_none(), "{word} is a command");
            let mut at = &root;
            for part in command.split(' ').filter(|part| !part.starts_with('-')) {
                at = at.find_subcommand(part).unwrap_or_else(|| panic!("{command}: no {part}"));
            }
        }
    }
}
