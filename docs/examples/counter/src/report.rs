use crate::count::tally;

/// The words of a text with their numbers, one a line.
pub fn report(text: &str) -> String {
    let lines = tally(text).into_iter().map(|(word, times)| format!("{times} {word}\n"));
    lines.collect()
}
