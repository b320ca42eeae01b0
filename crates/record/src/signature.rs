//! The signature of a failure: the same for the same failure in another session, directory, line or hour.
//!
//! `signature("Bash", text)` is `Bash-` and eight hex digits: the FNV-1a hash of the text with paths,
//! numbers, hashes, ids and times removed. FNV-1a gives the same digits on every machine and in every
//! version, because people paste them.

/// How many characters of an error are hashed: the head states the error, the tail is the log of this one
/// occurrence.
const MAX_HASHED_CHARS: usize = 400;

pub fn error_signature(tool: &str, error: &str) -> String {
    let hash =
        error_pattern(error).bytes().fold(fnv1a(tool), |h, b| (h ^ u64::from(b)).wrapping_mul(FNV_PRIME));
    format!("{tool}-{:08x}", (hash >> 32) as u32 ^ hash as u32)
}

const FNV_PRIME: u64 = 0x0100_0000_01b3;

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(FNV_PRIME))
}

/// The text of an error with the parts that change between occurrences replaced: `<path>`, `<id>`, `<n>`.
pub fn error_pattern(error: &str) -> String {
    let mut out = String::new();
    // Colours and tags are stripped from the head only, with a margin for the stripped characters: errors can
    // be megabytes.
    let enough = error.char_indices().nth(4 * MAX_HASHED_CHARS).map_or(error, |(end, _)| &error[..end]);
    let head: String = strip_markup(enough).chars().take(MAX_HASHED_CHARS).collect();
    for word in head.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        push_word(word, &mut out);
    }
    out
}

/// Strips terminal colours and the client's own wrapping tag.
fn strip_markup(error: &str) -> String {
    let error = error.strip_prefix("<tool_use_error>").unwrap_or(error);
    let error = error.strip_suffix("</tool_use_error>").unwrap_or(error);
    if !error.contains('\u{1b}') {
        return error.to_string();
    }
    let mut out = String::with_capacity(error.len());
    let mut chars = error.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let _ = chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(c);
        }
    }
    out
}

fn push_word(word: &str, out: &mut String) {
    let body = word.trim_matches(|c: char| "'\"`()[]{},;:.".contains(c));
    let Some(at) = word.find(body).filter(|_| !body.is_empty()) else {
        out.push_str(word);
        return;
    };
    out.push_str(&word[..at]);
    match placeholder_for(body) {
        Some(name) => out.push_str(name),
        None => push_digits(body, out),
    }
    out.push_str(&word[at + body.len()..]);
}

fn placeholder_for(body: &str) -> Option<&'static str> {
    let digits = body.bytes().filter(u8::is_ascii_digit).count();
    let hex = |b: u8| b.is_ascii_hexdigit();
    if body.len() == 36 && body.bytes().all(|b| hex(b) || b == b'-') {
        return Some("<id>");
    }
    if let Some(rest) = body.strip_prefix("0x") {
        return rest.bytes().all(hex).then_some("<id>");
    }
    if body.contains('/') || body.contains('\\') {
        return Some("<path>");
    }
    if body.len() >= 7 && digits > 0 && body.bytes().all(hex) {
        return Some("<id>");
    }
    let clock = |b: u8| b.is_ascii_digit() || b"-:.TZ+,".contains(&b);
    (digits >= 4 && body.bytes().all(clock) && body.contains([':', '-'])).then_some("<time>")
}

/// `main.py:12:7` and `main.py:9:31` are the same failure.
fn push_digits(body: &str, out: &mut String) {
    let mut in_number = false;
    for c in body.chars() {
        if c.is_ascii_digit() {
            if !in_number {
                out.push_str("<n>");
            }
            in_number = true;
        } else {
            in_number = false;
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_has_one_signature() {
        for (a, b) in [
            ("File not found: /home/a/x.rs", "File not found: /srv/work/y/z.rs"),
            ("panicked at src/main.rs:12:5", "panicked at src/main.rs:99:41"),
            ("no commit 3f9a1c2e7b", "no commit 91aa00ef12"),
            (
                "session 975e66ab-c193-4e32-9e03-fdf8ba0b37de gone",
                "session 505e9438-b658-4593-90bc-b7ae879d6fe4 gone",
            ),
            ("at 0x7f00aa object died", "at 0x1200bb object died"),
            ("timeout at 2026-11-14T22:58:34.112Z", "timeout at 2026-11-15T01:02:03.004Z"),
            ("\u{1b}[31mred\u{1b}[0m error 3", "red error 4"),
            ("<tool_use_error>String not found</tool_use_error>", "String  not\nfound"),
        ] {
            assert_eq!(error_signature("Bash", a), error_signature("Bash", b), "{a} / {b}");
        }
    }

    #[test]
    fn different_failures_have_different_signatures() {
        let texts =
            ["File not found", "Permission denied", "AssertionError: expected a got b", "Exit code 3\nboom"];
        let mut seen: Vec<String> = texts.iter().map(|t| error_signature("Bash", t)).collect();
        seen.push(error_signature("Read", texts[0]));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), texts.len() + 1);
    }

    #[test]
    fn signatures_never_change() {
        assert_eq!(
            error_signature("Bash", "Exit code 3\nAssertionError: expected 42 got 41"),
            "Bash-33b41987"
        );
    }
}
