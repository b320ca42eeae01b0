//! What an occurrence of a name refers to, according to the name resolution of `code`.
//!
//! Does not decide what an edit does with it.

use crate::tree::Tree;
use code::{Certainty, Meaning, Mention, NameReport};
use std::rc::Rc;
use syntax::{Span, whole_words};

/// The declarations and mentions of a name.
pub(crate) struct Mentions {
    pub(crate) report: Rc<NameReport>,
}

impl Mentions {
    /// Of the files in the language of a file.
    pub(crate) fn find(tree: &Tree, name: &str, like: u32) -> Mentions {
        Mentions { report: tree.report_name(name, like) }
    }

    /// What the name at a place refers to; the most certain answer if there are several.
    pub(crate) fn meaning_at(&self, file: u32, span: Span, text: &str, name: &str) -> Meaning {
        let mentions = &self.report.mentions;
        let from = mentions.partition_point(|it| it.file < file);
        let here = mentions[from..].iter().take_while(|it| it.file == file && it.span.from <= span.from);
        let fits = |it: &&Mention| it.span.to >= span.to && ordinal(it.span, span, text, name) == it.ordinal;
        let mut best = Meaning::Unknown;
        for mention in here.filter(fits) {
            best = match (best, &mention.meaning) {
                (Meaning::Declared(all, certainty), Meaning::Declared(more, other)) => {
                    join_meanings(all, certainty, more, *other)
                }
                (Meaning::Declared(all, certainty), _) => Meaning::Declared(all, certainty),
                (_, Meaning::Declared(all, certainty)) => Meaning::Declared(all.clone(), *certainty),
                (Meaning::Unknown, other) => other.clone(),
                (known, _) => known,
            };
        }
        best
    }
}

fn join_meanings(mut all: Vec<u32>, certainty: Certainty, more: &[u32], other: Certainty) -> Meaning {
    if certainty != other {
        return if certainty < other {
            Meaning::Declared(all, certainty)
        } else {
            Meaning::Declared(more.to_vec(), other)
        };
    }
    all.extend(more.iter().filter(|it| !all.contains(it)).copied().collect::<Vec<_>>());
    Meaning::Declared(all, certainty)
}

/// Which of the equal words in a path a place is.
fn ordinal(path: Span, place: Span, text: &str, name: &str) -> u32 {
    if path == place {
        return 0;
    }
    let words = whole_words(path.text_in(text), name);
    words.iter().filter(|it| it.from + path.from < place.from).count() as u32
}
