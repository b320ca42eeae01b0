//! Finds values assigned to names that announce a secret: in code, settings, headers, flags and sentences.
//!
//! Does not know when a value is only a placeholder (`plausible`), nor the names of vendors (`rules`).

use crate::patterns;
use crate::plausible::{self, Expectation};
use std::ops::Range;

type Secret = (Range<usize>, &'static str);

/// A name that announces a secret contains one of these words.
pub(crate) const NAME_WORDS: &[&str] = &["pass", "pwd", "secret", "token", "key", "auth", "cred"];

/// Limits on names, distances and values, so that no text makes this slow.
const MAX_NAME: usize = 64;
const MAX_GAP: usize = 24;
const MAX_VALUE: usize = 4096;
const MAX_BARE: usize = 2048;

/// A name, split into lower-case words, and the text before it on its line.
struct Name<'a> {
    words: Vec<String>,
    left: &'a str,
}

/// The separator between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// `=`, `:=`, `=>`, without a space before it.
    Tight,
    Equals,
    Colon,
    Comma,
    Space,
    Is,
}

/// Words that may follow the decisive one: `secret_key_base`, `password1`, `token_prod`.
const TRAILING_WORDS: &[&str] = &[
    "value",
    "val",
    "string",
    "str",
    "text",
    "plain",
    "plaintext",
    "raw",
    "prod",
    "production",
    "dev",
    "development",
    "staging",
    "stage",
    "test",
    "live",
    "local",
    "old",
    "new",
    "current",
    "default",
    "primary",
    "secondary",
    "main",
    "base64",
    "b64",
    "hex",
    "base",
    "env",
    "admin",
    "root",
    "user",
    "db",
    "database",
    "1",
    "2",
    "3",
];

/// Preceding words that change the meaning: `max_tokens`, `next_page_token`, `public_key`.
const NON_SECRET_WORDS: &[&str] = &[
    "max",
    "min",
    "num",
    "count",
    "total",
    "page",
    "next",
    "prev",
    "previous",
    "cursor",
    "continuation",
    "cancel",
    "cancellation",
    "input",
    "output",
    "prompt",
    "completion",
    "cached",
    "cache",
    "public",
    "pub",
    "pagination",
    "sync",
    "resume",
    "bos",
    "eos",
    "pad",
    "unk",
    "cls",
    "sep",
    "mask",
    "special",
    "stop",
    "idempotency",
    "dedup",
    "primary",
    "foreign",
    "sort",
    "partition",
    "lock",
    "file",
    "path",
    "hash",
    "fingerprint",
    "syntax",
    "reason",
    "lookup",
    "routing",
    "group",
    "object",
    "s3",
    "row",
    "column",
    "translation",
    "i18n",
    "known",
    "type",
    "host",
    "id",
    "site",
    "sitekey",
    "publishable",
    "websocket",
    "surrogate",
    "accessor",
    "encrypted",
    "merkle",
    "idempotent",
];

/// Words that make a `key` a credential.
const CREDENTIAL_WORDS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "encryption",
    "encrypt",
    "signing",
    "sign",
    "master",
    "account",
    "storage",
    "shared",
    "service",
    "app",
    "application",
    "admin",
    "client",
    "session",
    "jwt",
    "hmac",
    "webhook",
    "subscription",
    "consumer",
    "license",
    "deploy",
    "functions",
    "instrumentation",
    "ingest",
    "write",
];

/// The secret assigned to the name around `word`.
pub(crate) fn find_value(text: &str, word: Range<usize>) -> Option<Secret> {
    let bytes = text.as_bytes();
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let ahead = &bytes[word.end..bytes.len().min(word.end + MAX_NAME)];
    let end = word.end + ahead.iter().position(|byte| !in_name(byte))?;
    let behind = &bytes[word.start.saturating_sub(MAX_NAME)..word.start];
    let start = word.start - behind.iter().rev().take_while(|byte| in_name(byte) || **byte == b'.').count();
    let start = start + usize::from(is_escaped(bytes, start) && start < word.start);
    if is_reference(bytes, start) {
        return None;
    }
    let (join, at) = read_separator(text, start, end)?;
    if text[start..end].to_ascii_lowercase().ends_with("authorization") {
        return find_authorization(text, at);
    }
    let typed = if join == Separator::Colon { Value::read_after_type(text, at) } else { None };
    let value = typed.or_else(|| Value::read(text, at))?;
    let setting = ValueContext::new(bytes, start..end, join, at);
    let whole = if value.quoted { value.at.clone() } else { setting.extend_value(text, &value.at) };
    if !is_candidate(&text[value.at.clone()]) && !is_candidate(&text[whole.clone()]) {
        return None;
    }
    let name = Name::read(text, start, end);
    if value.quoted {
        return judge_value(&name, &text[whole.clone()], true).map(|kind| (whole, kind));
    }
    judge_unquoted(text, &name, value.at, whole, setting.literal)
}

/// A value without quotes: up to the first delimiter, or beyond it if it is a password. Masking only the part of
/// `Tr0ub4dor&3x9` before the delimiter would leave the rest readable.
fn judge_unquoted(
    text: &str,
    name: &Name,
    short: Range<usize>,
    whole: Range<usize>,
    literal: bool,
) -> Option<Secret> {
    let before = &text[short.clone()];
    let bracket = continues_as_code(&text.as_bytes()[short.end..]);
    // A text with such a character before the bracket is not a name that is called or indexed.
    let calls = bracket && !before.bytes().any(|byte| b"!@#%^&~".contains(&byte));
    if calls {
        return None;
    }
    let chosen = |kind: &&str| matches!(*kind, "password" | "secret");
    match judge_value(name, before, literal).filter(|_| is_candidate(before)) {
        Some(kind) if chosen(&kind) => Some((whole, kind)),
        Some(kind) => (!bracket).then_some((short, kind)),
        None => judge_value(name, &text[whole.clone()], literal || bracket)
            .filter(chosen)
            .map(|kind| (whole, kind)),
    }
}

/// Whether the first letter belongs to an escape such as `\n` inside a string, not to the name.
fn is_escaped(bytes: &[u8], start: usize) -> bool {
    start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't')
}

/// Whether a call, an index or a generic follows: the value was only the beginning of an expression.
fn continues_as_code(rest: &[u8]) -> bool {
    matches!(rest, [b'(' | b'[' | b'{', ..]) || (rest.starts_with(b"<") && !rest.starts_with(b"</"))
}

/// The same for a key and a value in JSON; returns the range of the secret inside the value.
pub(crate) fn find_in_pair(key: &str, value: &str) -> Option<Secret> {
    if key.len() > MAX_NAME || !is_candidate(value) {
        return None;
    }
    if key.to_ascii_lowercase().ends_with("authorization") {
        return find_authorization(value, 0);
    }
    let kind = judge_value(&Name::read(key, 0, key.len()), value, true)?;
    Some((0..value.len(), kind))
}

/// The token after `Bearer`.
pub(crate) fn find_bearer(text: &str, end: usize) -> Option<Secret> {
    let at = find_credentials(text, end)?;
    plausible::is_plausible(&text[at.clone()], Expectation::Secret, true).then_some((at, "bearer-token"))
}

/// The credentials after `Basic`: base64 of user, colon and password.
pub(crate) fn find_basic(text: &str, end: usize) -> Option<Secret> {
    let at = find_credentials(text, end)?;
    is_user_and_password(&text[at.clone()]).then_some((at, "basic-auth"))
}

/// The range of a scheme's credentials, which must be preceded by at least one space.
fn find_credentials(text: &str, end: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start =
        end + bytes[end..].iter().take(MAX_GAP).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(byte);
    let length = bytes[start..].iter().take(MAX_VALUE).take_while(|byte| part(byte)).count();
    let length = text[start..start + length].trim_end_matches('.').len();
    (start > end && length >= 8).then_some(start..start + length)
}

fn is_user_and_password(value: &str) -> bool {
    let decoded = decode_base64(value);
    let colon = decoded.iter().position(|&byte| byte == b':');
    let printable = decoded.iter().all(u8::is_ascii_graphic);
    printable && colon.is_some_and(|at| at + 4 < decoded.len() && !plausible::is_placeholder(value))
}

fn decode_base64(value: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len());
    let (mut bits, mut count) = (0_u32, 0);
    for byte in value.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// `Authorization: <scheme> <secret>` for schemes without a keyword of their own, or without a scheme.
fn find_authorization(text: &str, at: usize) -> Option<Secret> {
    let rest = &text[at..text.floor_char_boundary((at + MAX_VALUE).min(text.len()))];
    let start = at + rest.len() - rest.trim_start_matches(['"', '\'', '\\', '`', ' ']).len();
    let scheme = text[start..].bytes().take(MAX_GAP).take_while(u8::is_ascii_alphabetic).count();
    if matches!(text[start..start + scheme].to_ascii_lowercase().as_str(), "bearer" | "basic") {
        return None;
    }
    let behind = find_credentials(text, start + scheme);
    let alone = || {
        let rest = &text[start..text.floor_char_boundary((start + MAX_VALUE).min(text.len()))];
        find_credentials(&format!(" {}", rest.lines().next()?), 0)
            .map(|at| at.start + start - 1..at.end + start - 1)
    };
    let at = behind.or_else(alone)?;
    plausible::is_plausible(&text[at.clone()], Expectation::Secret, true).then_some((at, "authorization"))
}

/// A secret contains letters, and among them digits, punctuation or capitals. This rejects most values in code before
/// their names are parsed.
fn is_candidate(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() >= 6
        && bytes.iter().any(u8::is_ascii_alphabetic)
        && bytes.iter().any(|byte| !byte.is_ascii_lowercase())
        && bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ' || !byte.is_ascii())
        && !value.contains(['⟦', '⟧'])
}

fn judge_value(name: &Name, value: &str, literal: bool) -> Option<&'static str> {
    let (kind, promise) = name.expected_kind()?;
    if promise != Expectation::Password && (literal || !value.contains('.')) {
        let context = format!("{}{}", to_alphanumeric(name.left), name.words.concat());
        if let Some(kind) = patterns::match_named(&context, value) {
            return Some(kind);
        }
    }
    if kind == "credential" && !value.contains(' ') && is_user_and_password(value) {
        return Some("basic-auth");
    }
    plausible::is_plausible(value, promise, literal).then_some(kind)
}

/// What a value of this name would be, if the name announces a secret.
pub(crate) fn kind_of_name(name: &str) -> Option<&'static str> {
    Name::read(name, 0, name.len()).expected_kind().map(|(kind, _)| kind)
}

/// `arn:aws:secretsmanager:…:secret:NAME` and `checksum/secret: HASH` name a secret, and do not contain it.
pub(crate) fn is_reference(bytes: &[u8], start: usize) -> bool {
    if !matches!(bytes[..start].last(), Some(b'/' | b':')) {
        return false;
    }
    let from = start.saturating_sub(MAX_NAME);
    let before = &bytes[from..start];
    let word = before
        .iter()
        .rposition(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''))
        .map_or(0, |at| at + 1);
    let word = &before[word..];
    word.starts_with(b"arn:") || word.ends_with(b"checksum/") || word.ends_with(b"hash/")
}

fn to_alphanumeric(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

impl<'a> Name<'a> {
    fn read(text: &'a str, start: usize, end: usize) -> Name<'a> {
        let from = text.floor_char_boundary(start.saturating_sub(40));
        let left = text[from..start].rsplit('\n').next().unwrap_or_default();
        let written = text[start..end].trim_matches(['-', '.']);
        let mut words = split_words(written);
        // `API key: …`, `access token is …`: in sentences the preceding word belongs to the name.
        if words.len() == 1
            && let Some(before) =
                left.strip_suffix(' ').and_then(|left| left.rsplit([' ', '(', '"', '`']).next())
            && before.bytes().all(|byte| byte.is_ascii_alphabetic())
        {
            words.insert(0, before.to_ascii_lowercase());
        }
        Name { words, left }
    }

    /// What the name announces, and the kind of secret.
    fn expected_kind(&self) -> Option<(&'static str, Expectation)> {
        let numbered = |word: &String| TRAILING_WORDS.contains(&word.as_str());
        let last = self.words.iter().rposition(|word| !numbered(word))?;
        let word = self.words[last].trim_end_matches(|c: char| c.is_ascii_digit());
        let before = &self.words[..last];
        let contains = |list: &[&str]| before.iter().any(|word| list.contains(&word.as_str()));
        if contains(NON_SECRET_WORDS) {
            return None;
        }
        let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
        if ends(&["password", "passwd", "pwd", "passphrase", "passcode", "passwort"])
            || matches!(word, "pass" | "pw" | "dbpass" | "userpass" | "smtppass" | "pgpass" | "mysqlpass")
        {
            return Some(("password", Expectation::Password));
        }
        if ends(&["secret", "secrets"]) || (word == "key" && contains(&["secret"])) || ends(&["secretkey"]) {
            return Some(("secret", Expectation::Secret));
        }
        if ends(&["token"]) || word == "tokens" {
            return Some(("token", Expectation::Token));
        }
        if ends(&["apikey", "accesskey", "authkey", "privatekey", "accountkey"])
            || (word == "key" && contains(CREDENTIAL_WORDS))
        {
            return Some(("api-key", Expectation::Secret));
        }
        if word == "key" && !before.is_empty() {
            return Some(("api-key", Expectation::Key));
        }
        let credential = matches!(word, "auth" | "credential" | "credentials" | "cred" | "creds");
        credential.then_some(("credential", Expectation::Token))
    }
}

/// Whether the name around `word` is one of those that look like secrets and are not: `next_page_token`, `public_key`.
pub(crate) fn is_harmless_name(text: &str, word: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ');
    let before = bytes[word.start.saturating_sub(24)..word.start].iter().rev().take_while(part).count();
    let after = bytes[word.end..]
        .iter()
        .take(MAX_NAME)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        .count();
    let name = String::from_utf8_lossy(&bytes[word.start - before..word.end + after]).into_owned();
    split_words(&name).iter().any(|word| NON_SECRET_WORDS.contains(&word.as_str()))
}

/// Whether a word of the name makes a `key` a credential: `api_key`.
pub(crate) fn is_credential_name(name: &str) -> bool {
    split_words(name).iter().any(|word| CREDENTIAL_WORDS.contains(&word.as_str()))
}

/// `dbPassword2` and `DB_PASSWORD_2` become `db`, `password`, `2`.
fn split_words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split(['_', '-', '.', ' ']).filter(|part| !part.is_empty()) {
        let bytes = part.as_bytes();
        let mut from = 0;
        for at in 1..bytes.len() {
            let rises = bytes[at].is_ascii_uppercase()
                && (bytes[at - 1].is_ascii_lowercase()
                    || bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase));
            if rises {
                words.push(part[from..at].to_ascii_lowercase());
                from = at;
            }
        }
        words.push(part[from..].to_ascii_lowercase());
    }
    words
}

/// Whether the text before a `=` inside a value is a name, to which the rest is assigned. In `pass1=pass1=…` only the
/// last value would be masked, and on the next pass the last of the remainder.
fn is_name(written: &[u8], behind: Option<&u8>) -> bool {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    // Base64 may contain `key` by chance, and ends with `=`.
    let goes_on = behind.is_some_and(|byte| byte.is_ascii_graphic() && *byte != b'=');
    let promises = || has_name_word(&written.to_ascii_lowercase());
    written.iter().all(u8::is_ascii_alphabetic)
        || (written.len() <= MAX_NAME && goes_on && written.iter().all(part) && promises())
}

/// Whether a lower-case name contains a word that announces a secret.
fn has_name_word(name: &[u8]) -> bool {
    NAME_WORDS.iter().any(|word| memchr::memmem::find(name, word.as_bytes()).is_some())
}

/// The separator after the name, and the start of the value.
fn read_separator(text: &str, start: usize, end: usize) -> Option<(Separator, usize)> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let closing = |at: &u8| matches!(at, b'"' | b'\'' | b'\\' | b']' | b')' | b'`' | b'*');
    let mut at = end + bytes[end..].iter().take(8).take_while(|at| closing(at)).count();
    let closed = at > end;
    let spaces = blank_width(bytes, at);
    at += spaces;
    let join = match byte(at) {
        b'=' if spaces == 0 => Separator::Tight,
        b'=' => Separator::Equals,
        b':' if byte(at + 1) == b'=' => Separator::Equals,
        b':' if byte(at + 1) != b':' => Separator::Colon,
        b',' if is_argument(bytes, start, end) => Separator::Comma,
        b'>' if start > 0 && byte(start - 1) == b'<' => Separator::Tight,
        b'i' if spaces > 0 && (bytes[at..].starts_with(b"is ") || bytes[at..].starts_with(b"is: ")) => {
            Separator::Is
        }
        // `kApiKey{"…"}`, `password("…")`, `:password "…"`
        b'{' | b'(' if spaces == 0 && matches!(byte(at + 1), b'"' | b'\'') => {
            return Some((Separator::Tight, at + 1));
        }
        b'"' | b'\'' if spaces == 1 && !closed => return Some((Separator::Equals, at)),
        _ if spaces > 0 && !closed && (is_flag(bytes, start) || is_netrc(text, start)) => {
            return Some((Separator::Space, at));
        }
        _ => return None,
    };
    let at = at + if join == Separator::Is { 2 } else { 0 };
    let at = at + bytes[at..].iter().take(3).take_while(|byte| b"=:,>".contains(byte)).count();
    Some((join, at + blank_width(bytes, at)))
}

/// `"PASSWORD", …`: the name is a whole argument or element.
fn is_argument(bytes: &[u8], start: usize, end: usize) -> bool {
    let slashes = bytes[end..].iter().take(8).take_while(|byte| **byte == b'\\').count();
    let quoted =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|byte| matches!(byte, b'"' | b'\''));
    quoted(start.checked_sub(1))
        && quoted(Some(end + slashes))
        && !bytes[end + slashes + 1..].starts_with(b"]")
}

fn blank_width(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take(MAX_GAP).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// `--password x`: the name at `start` includes the dashes.
fn is_flag(bytes: &[u8], start: usize) -> bool {
    bytes[start..].starts_with(b"--") && !start.checked_sub(1).is_some_and(|at| bytes[at].is_ascii_graphic())
}

/// `machine … login … password x`, and `aws configure set aws_secret_access_key x`.
fn is_netrc(text: &str, start: usize) -> bool {
    if text[start..].starts_with("aws_secret_access_key") {
        return true;
    }
    let from = text.floor_char_boundary(start.saturating_sub(100));
    text[start..].starts_with("password") && text[from..start].contains("login ")
}

/// The context of a value without quotes, which decides which punctuation may belong to it.
#[derive(Clone, Copy)]
struct ValueContext {
    /// It cannot be code: a flag or an environment variable.
    literal: bool,
    /// A sentence or a line `name: value`, where punctuation has no meaning for a shell or URL parser.
    prose: bool,
    /// Whether it is a parameter of a URL or form, delimited by `&`.
    query: QueryContext,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QueryContext {
    No,
    /// `password=x&user=y` may be a form body: another name after the `&` decides.
    Perhaps,
    Yes,
}

impl ValueContext {
    /// The context of the value at `at`.
    fn new(bytes: &[u8], name: Range<usize>, join: Separator, at: usize) -> ValueContext {
        let upper = !bytes[name.clone()].iter().any(u8::is_ascii_lowercase);
        let before = name.start.checked_sub(1).map(|at| bytes[at]);
        let query = match join {
            Separator::Tight if matches!(before, Some(b'?' | b'&')) => QueryContext::Yes,
            Separator::Tight if !upper && !is_flag(bytes, name.start) => QueryContext::Perhaps,
            _ => QueryContext::No,
        };
        let apart = at > 0 && matches!(bytes[at - 1], b' ' | b'\t');
        ValueContext {
            literal: join == Separator::Space
                || (join == Separator::Tight && (upper || is_flag(bytes, name.start))),
            prose: join == Separator::Is || (join == Separator::Colon && apart),
            query,
        }
    }

    /// Extends the value to the next whitespace or quote, without trailing punctuation of the sentence or code.
    fn extend_value(self, text: &str, short: &Range<usize>) -> Range<usize> {
        let bytes = text.as_bytes();
        let most = bytes.len().min(short.start + MAX_BARE);
        let mut end = short.end;
        while end < most && self.belongs_to_value(bytes, end) {
            end += 1;
        }
        let trimmed =
            text[short.start..end].trim_end_matches(['.', ':', ',', ';', '&', '|', ')', ']', '}', '>']);
        let cut = text[end..].chars().next().is_some_and(|next| next.is_alphanumeric() && !next.is_ascii());
        let end = (short.start + trimmed.len()).max(short.end);
        short.start..if cut { short.end } else { end }
    }

    fn belongs_to_value(self, bytes: &[u8], at: usize) -> bool {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        let goes_on = next.is_ascii_graphic() && !b"\"`\\".contains(&next);
        let named = || name_follows(&bytes[at + 1..]);
        match bytes[at] {
            b'&' => match self.query {
                QueryContext::Yes => false,
                QueryContext::Perhaps => goes_on && next != b'&' && !named(),
                QueryContext::No => goes_on && next != b'&',
            },
            b',' => (self.prose || self.literal) && goes_on && next != b'\'' && !named(),
            b';' | b'|' => self.prose && goes_on && next != bytes[at] && !named(),
            b'\'' => self.prose && bytes[at - 1].is_ascii_alphanumeric() && next.is_ascii_alphanumeric(),
            b'\\' => {
                (self.prose || self.literal) && next.is_ascii_graphic() && !b"nrtbfu0\"'\\/".contains(&next)
            }
            b'<' => {
                (self.prose || self.literal)
                    && goes_on
                    && !next.is_ascii_alphabetic()
                    && !b"/!<".contains(&next)
            }
            b'>' => (self.prose || self.literal) && goes_on && !b"<>".contains(&next),
            b'(' | b')' | b'[' | b']' | b'{' | b'}' => {
                (self.prose || self.literal) && goes_on && next != b'\''
            }
            b'"' | b'`' => false,
            byte => byte.is_ascii_graphic(),
        }
    }
}

/// `user=` or `User Id=`: another name with its own value.
fn name_follows(rest: &[u8]) -> bool {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte);
    let length = rest.iter().take(MAX_NAME).take_while(|byte| part(byte)).count();
    rest.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && matches!(rest.get(length), Some(b'=' | b':'))
}

/// A value in the text, without its quotes.
struct Value {
    at: Range<usize>,
    quoted: bool,
}

impl Value {
    fn read(text: &str, at: usize) -> Option<Value> {
        let bytes = text.as_bytes();
        let wrapped = ["String::from(", "Some(", "SecretStr(", "SecretString::new(", "b", "r", "u", "f", "@"];
        let skipped = wrapped.iter().find(|wrap| text[at..].starts_with(**wrap)).map_or(0, |wrap| wrap.len());
        for start in [at + skipped, at] {
            let slashes = bytes[start..].iter().take(8).take_while(|byte| **byte == b'\\').count();
            match bytes.get(start + slashes) {
                Some(quote @ (b'"' | b'\'' | b'`')) => {
                    return Value::read_quoted(text, start + slashes + 1, *quote, slashes);
                }
                None => return None,
                _ => {}
            }
        }
        Value::read_bare(text, at)
    }

    /// Up to the same quote preceded by no more backslashes than the opening one: `\"…\"` inside a string inside a
    /// string.
    fn read_quoted(text: &str, start: usize, quote: u8, slashes: usize) -> Option<Value> {
        let bytes = &text.as_bytes()[start..text.len().min(start + MAX_VALUE)];
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' => return None,
                byte if *byte == quote => {
                    let before = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                    if before <= slashes {
                        return Some(Value { at: start..start + at - before, quoted: true });
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn read_bare(text: &str, start: usize) -> Option<Value> {
        let bytes = text.as_bytes();
        let inside = |byte: &u8| byte.is_ascii_graphic() && !b"\"'`;,&\\<>(){}[]|".contains(byte);
        let (mut length, mut equals) = (0, false);
        for byte in bytes[start..].iter().take(MAX_BARE).take_while(|byte| inside(byte)) {
            // A chain of assignments without spaces, `a=b=c`: each value would be read to the end of the chain.
            let named = *byte == b'='
                && length > 0
                && is_name(&bytes[start..start + length], bytes.get(start + length + 1));
            if named || (equals && length > MAX_NAME && *byte != b'=') {
                return None;
            }
            equals |= *byte == b'=';
            length += 1;
        }
        let length = text[start..start + length].trim_end_matches(['.', ':']).len();
        // If a non-ASCII letter or digit follows, the value continues and is not one of this kind.
        let ends = text[start + length..]
            .chars()
            .next()
            .is_none_or(|next| !next.is_alphanumeric() || next.is_ascii());
        (length > 0 && ends).then_some(Value { at: start..start + length, quoted: false })
    }

    /// In `token: &str = "…"` the value follows the type.
    fn read_after_type(text: &str, at: usize) -> Option<Value> {
        let bytes = text.as_bytes();
        let of_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"_<>&' .:|[]?*".contains(byte);
        let width = bytes[at..].iter().take(48).take_while(|byte| of_type(byte)).count();
        let behind = at + width + 1;
        let typed = width > 0 && bytes.get(at + width) == Some(&b'=');
        typed.then(|| Value::read(text, behind + blank_width(bytes, behind)))?.filter(|value| value.quoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::scan_text;

    /// The one value found in a text.
    fn single_secret(text: &str) -> Option<(&str, &'static str)> {
        let all = scan_text(text, std::slice::from_ref(&(0..text.len())));
        assert!(all.len() < 2, "{text}: {all:?}");
        all.first().map(|it| (&text[it.from..it.to], it.kind))
    }

    const P: &str = "hunter2hunter2";
    /// A random value that matches no vendor's format.
    const R: &str = "random 20";

    fn expand_random(value: &str) -> String {
        let Some(count) = value.strip_prefix("random ") else { return value.to_owned() };
        let alphabet = b"q7Zt2mV9xLb4Kd8Wn3RfGh5Js6Yc1Pw0";
        alphabet.iter().cycle().take(count.parse().unwrap()).map(|&byte| char::from(byte)).collect()
    }

    #[test]
    fn a_name_gives_its_value_away_in_every_grammar() {
        let cases = [
            ("DB_PASSWORD=@", P, "password"),
            ("export DB_PASSWORD='@'", P, "password"),
            ("password: @\n", P, "password"),
            ("\"password\": \"@\"", P, "password"),
            (r#"{\"password\": \"@\"}"#, P, "password"),
            (r#"{\\\"password\\\":\\\"@\\\"}"#, P, "password"),
            ("mysql --password @ db", P, "password"),
            ("mysql --password=@ db", P, "password"),
            ("machine h login me password @", P, "password"),
            ("Server=h;User Id=u;Password=@;Pooling=1", P, "password"),
            ("spring.datasource.password=@", P, "password"),
            ("<password>@</password>", P, "password"),
            ("the password is @", P, "password"),
            ("setenv(\"PASSWORD\", \"@\")", P, "password"),
            ("config['password'] = '@'", P, "password"),
            ("const password: string = \"@\";", P, "password"),
            ("let password = String::from(\"@\");", P, "password"),
            ("const TOKEN: &str = \"@\";", R, "token"),
            ("api_key = \"@\"", R, "api-key"),
            ("apiKey: '@',", R, "api-key"),
            ("X-Api-Key: @", R, "api-key"),
            ("the API key is @.", R, "api-key"),
            ("aws configure set aws_secret_access_key @", "random 40", "aws-secret-key"),
            ("PGPASSWORD=@ psql", P, "password"),
            ("headers: { Authorization: 'token @' }", R, "authorization"),
            ("https://h/p?access_token=@&x=1", R, "token"),
            ("+SECRET_KEY_BASE=@", R, "secret"),
            ("    12\tclient_secret: @", R, "secret"),
            ("MAPS_KEY=@", R, "api-key"),
            ("Authorization: token @", R, "authorization"),
            ("Authorization: Bearer @", R, "bearer-token"),
            ("-H 'authorization: bearer @'", R, "bearer-token"),
            ("MISTRAL_API_KEY=@", "random 32", "mistral-key"),
            ("the Mistral API key is @", "random 32", "mistral-key"),
        ];
        for (text, value, kind) in cases {
            let value = expand_random(value);
            let text = text.replace('@', &value);
            assert_eq!(single_secret(&text), Some((value.as_str(), kind)), "{text}");
        }
    }

    /// Each is masked completely, and nothing next to it is.
    #[test]
    fn a_password_is_masked_up_to_its_real_end() {
        let cases = [
            ("the password is @, please", "Tr0ub4dor&3x9"),
            ("(the password is @).", "Tr0ub4dor&3x9"),
            ("the password is: @", "Tr0ub4dor&3x9"),
            ("the password is @; then go", "Tr0ub4dor;3x9|Q"),
            ("the password is @，谢谢", "Tr0ub4dor&3x9"),
            ("DB_PASSWORD=@", "ab#cd&ef?gh"),
            ("DB_PASSWORD=@", "ab&user=gh9"),
            ("DB_PASSWORD=@;make", "ab#cd&ef?gh"),
            ("DB_PASSWORD=@ && make", "ab#cd&ef?gh"),
            ("DB_PASSWORD=@&& make", "ab#cd&ef?gh"),
            ("mysql --password=@ db", "Qw3r&ty!9"),
            ("mysql --password @ db", "Qw3r&ty!9"),
            ("machine h login me password @\n", "Qw3r&(ty]!9"),
            ("password is \"@\"", "p@ss w0rd;9"),
            ("{\"password\": \"@\"}", "p@ss w0rd;9"),
            ("password: @\n", "Abc$def9!xyz"),
            ("password: @\n", "A!b{c$d}ef(9<1xyz"),
            ("password: @\n", "x7K'q2Z,m4"),
            ("{\"a\": \"password: @\\nb\"}", "Tr0ub4dor&3x9"),
            ("https://h/p?password=@&user=y", "Tr0ub4dor"),
            ("https://h/p?a=b&password=@&y", "Tr0ub4dor3"),
            ("-d 'password=@&user=y'", "Tr0ub4dor3"),
            ("password=@&user=y", "Tr0ub4dor#3"),
            ("Server=h;Password=@;User Id=u", "Tr0ub4dor&3x9"),
            ("mount -o password=@,vers=3", "Tr0ub4dor&3x9"),
            ("<password>@</password>", "Tr0ub4dor&3x9"),
        ];
        for (text, value) in cases {
            let text = text.replace('@', value);
            assert_eq!(single_secret(&text), Some((value, "password")), "{text}");
        }
    }

    #[test]
    fn a_django_key_is_found_with_its_punctuation() {
        let value = format!("django-insecure-{}(#^z&", expand_random(R));
        assert_eq!(single_secret(&format!("SECRET_KEY = '{value}'")), Some((value.as_str(), "secret")));
    }

    #[test]
    fn similar_names_and_values_are_not_masked() {
        let cases = [
            "max_tokens=4096",
            "token: string",
            "password = getPassword()",
            "api_key: Option<String>",
            "secret=os.environ['A1']",
            "next_page_token: @",
            "publicKeyToken=b77a5c561934e089",
            "token_type: bearer",
            "PASSWORD=$PASSWORD",
            "token::Kind1::Two2",
            "PWD=/home/me/a1b2c3",
            "secretName: my-secret-1",
            "password: \"Please enter 8 characters!\"",
            "password: \"sent by mail to you, 2 days ago\"",
            "password = first&&second2",
            "password: read(a1, b2)",
            "password = input2;next3",
            "if (password && token2) {",
            "Authorization: Bearer $TOKEN",
            "Bearer token authentication",
            "keyboard: qwerty12",
            "Basic authentication",
            "tokenizer: gpt2-b1c2d3e4f5",
            "author: a1b2c3d4e5f6g7h8",
            "cache_key = 3f786850e387550fdab836ed7e6dc881de23001b",
        ];
        for text in cases {
            let text = text.replace('@', &expand_random(R));
            assert_eq!(single_secret(&text), None, "{text}");
        }
    }

    #[test]
    fn names_are_split_into_words() {
        for (name, expected) in
            [("dbPassword_2", "db password 2"), ("HTTPToken", "http token"), ("API_KEY", "api key")]
        {
            assert_eq!(split_words(name).join(" "), expected);
        }
    }
}
