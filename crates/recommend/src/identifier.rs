//! Tells a word of a sentence from a part of an identifier.
//!
//! Does not know the prompt.

use std::ops::Range;

/// Whether the text at this place is part of a longer identifier.
pub fn is_inside_identifier(text: &str, place: Range<usize>) -> bool {
    let is_joint = |c: Option<char>| c.is_some_and(|c| c == '_' || c.is_ascii_alphanumeric());
    if !text[place.clone()].is_ascii() {
        return false;
    }
    is_joint(text[..place.start].chars().next_back()) || is_joint(text[place.end..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::is_inside_identifier;

    #[test]
    fn a_part_of_an_identifier_is_not_a_word() {
        let text = "the DATABASE_URL of the database, 数据库备份";
        assert!(is_inside_identifier(text, 4..12));
        assert!(!is_inside_identifier(text, 4..16));
        assert!(!is_inside_identifier(text, 24..32));
        assert!(!is_inside_identifier(text, 34..43));
    }
}
