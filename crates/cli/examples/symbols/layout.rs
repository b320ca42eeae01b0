//! A made-up formatter and moves of files: how a replayed tree is laid out from a point of its history on.
//!
//! Every line says where it comes from, so that the truth survives. Does not know git.

/// How the files of a tree are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As in the original.
    Original,
    /// Another indentation, other quotes, and long lines wrapped.
    Formatted,
    /// The same, with a third of the files in another folder.
    Moved,
    /// The files there, with a third indentation and narrower lines.
    FormattedAgain,
}

/// The line of the original that a line of the layout comes from.
pub(crate) type SourceLine = usize;

impl Layout {
    /// The layout of the commit with this number, of so many.
    pub(crate) fn at(number: usize, of: usize) -> Layout {
        match 6 * number / of.max(1) {
            0 | 1 => Layout::Original,
            2 | 3 => Layout::Formatted,
            4 => Layout::Moved,
            _ => Layout::FormattedAgain,
        }
    }

    pub(crate) fn path(self, path: &str) -> String {
        let is_moved = matches!(self, Layout::Moved | Layout::FormattedAgain) && hash(path).is_multiple_of(3);
        match path.rsplit_once('/') {
            Some((folder, name)) if is_moved => format!("{folder}/parts/{name}"),
            None if is_moved => format!("parts/{path}"),
            _ => path.to_string(),
        }
    }

    /// The lines of a text in this layout.
    pub(crate) fn lines(self, text: &str) -> Vec<(String, SourceLine)> {
        let (indent, width) = match self {
            Layout::Original => return text.lines().map(str::to_string).zip(0..).collect(),
            Layout::Formatted | Layout::Moved => ("  ", 88),
            Layout::FormattedAgain => ("      ", 72),
        };
        let mut lines = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = reindent(&swap_quotes(line), indent);
            lines.extend(wrap(&line, indent, width).into_iter().map(|line| (line, number)));
        }
        lines
    }

    pub(crate) fn text(self, text: &str) -> String {
        if self == Layout::Original {
            return text.to_string();
        }
        self.lines(text).into_iter().map(|(line, _)| line + "\n").collect()
    }
}

/// FNV-1a: draws are the same in every run.
pub(crate) fn hash(text: &str) -> u64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    hash ^ hash >> 29
}

/// Replaces each tab, or each four blanks, at the beginning of a line.
fn reindent(line: &str, indent: &str) -> String {
    let said = line.trim_start_matches([' ', '\t']);
    let blanks = &line[..line.len() - said.len()];
    let columns: usize = blanks.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    format!("{}{}{said}", indent.repeat(columns / 4), " ".repeat(columns % 4))
}

/// Plain texts in single quotes get double ones. A line that has both, an escape or a comment stays as it is.
fn swap_quotes(line: &str) -> String {
    let is_plain = !line.contains(['"', '\\', '#', '/', '<', '&']) && line.matches('\'').count() == 2;
    if is_plain { line.replace('\'', "\"") } else { line.to_string() }
}

/// Gives the arguments of a long line a line of their own.
fn wrap(line: &str, indent: &str, width: usize) -> Vec<String> {
    let as_it_is = || vec![line.to_string()];
    let (Some(open), Some(close)) = (line.find('('), line.rfind(')')) else { return as_it_is() };
    let is_risky = line.contains(['"', '\'', '`', '#', '\\']) || line.contains("//") || line.contains('*');
    let arguments = line.get(open + 1..close).unwrap_or_default();
    let is_pair = arguments.len() > 10 && is_balanced(arguments);
    if line.len() <= width || is_risky || !is_pair {
        return as_it_is();
    }
    let before = &line[..line.len() - line.trim_start().len()];
    vec![
        line[..=open].to_string(),
        format!("{before}{indent}{},", arguments.trim().trim_end_matches(',')),
        format!("{before}{}", &line[close..]),
    ]
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0;
    for c in text.chars() {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}
