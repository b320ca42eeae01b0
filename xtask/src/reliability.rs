//! Checks the table of reliability tests: every test that it names exists.
//!
//! Does not know what a test shows, nor whether it is ignored.

use crate::repository::read;
use std::path::Path;

const TABLE: &str = "docs/contributing/reliability.md";

/// Tests in the table that the workspace does not have.
pub(crate) fn findings(root: &Path, tests: &[&str]) -> Result<Vec<String>, String> {
    let text = read(&root.join(TABLE))?;
    let missing = named_tests(&text).into_iter().filter(|name| !tests.contains(name));
    Ok(missing.map(|name| format!("{TABLE}: there is no test `{name}`")).collect())
}

/// The names in backticks in the second column of the table.
fn named_tests(text: &str) -> Vec<&str> {
    let rows = text.lines().filter(|line| line.starts_with("| R") || line.starts_with("| S"));
    rows.flat_map(|row| row.split('|').nth(2).unwrap_or_default().split('`').skip(1).step_by(2)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_second_column_are_found() {
        let text =
            "| fault | tests | long |\n| R1 `x` | `one` `two` | `three` |\nS2 `four`\n| S3 | `five` | – |\n";
        assert_eq!(named_tests(text), ["one", "two", "five"]);
    }
}
