//! Decides whether a value in the position of a secret is one, or only a placeholder: `your-api-key`, `${TOKEN}`,
//! `getPassword()`, a word.
//!
//! Does not know the name the value is assigned to, only how strongly that name announces a secret.

use crate::keywords::KeywordTable;
use crate::words::{self, WordTable};
use std::sync::LazyLock;

/// How strongly the name announces a secret, and so how little the value has to prove.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expectation {
    /// A password: chosen by people, so a few letters and digits are enough.
    Password,
    /// A secret or an API key: may be any random value, even a UUID.
    Secret,
    /// A token: random, but a UUID is more often an ID.
    Token,
    /// `SOMETHING_KEY`: more often a name than a secret, so only a random value with capitals, lower-case letters and
    /// digits counts.
    Key,
}

/// Text that people write in place of a secret. `changeme` is included: it is public knowledge.
const PLACEHOLDERS: &[&str] = &[
    "your",
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "xxxx",
    "****",
    "....",
    "dummy",
    "sample",
    "redacted",
    "insert",
    "replace",
    "todo",
    "fixme",
    "foobar",
    "fake",
    "mock",
    "masked",
    "hidden",
    "removed",
    "process.env",
    "enc[",
    "algorithm=",
    "max-age",
    "environ",
    "getenv",
    "env.",
    "env:",
    "secrets.",
    "vault:",
    "arn:",
    "ssm:",
    "op://",
    "keychain",
    "://",
    "notreal",
    "not-real",
    "not_real",
    "deadbeef",
    "0000000",
    "1111111",
    "-here",
    "_here",
    "undefined",
    "null",
    "base64,",
    "sha256-",
    "sha384-",
    "sha512-",
    "sha256:",
    "sha512:",
    "1234567890",
    "0123456789",
    "abcdefghij",
    "abcdef012345",
    "abcdef123456",
    "qwertyuiop",
    "(?:",
    "[a-z",
    "[0-9",
];

/// Keys that vendors print in their documentation, or the part of them that cannot occur by chance.
const DOCUMENTED: &[&str] = &[
    "EXAMPLE",                      // AKIAIOSFODNN7EXAMPLE and its secret key
    "eyJzdWIiOiIxMjM0NTY3ODkwIiwi", // the token on jwt.io
    "4eC39HqLyjWDarjtT1zdp7dc",     // Stripe's
    "1234567890",
    "0123456789",
    "abcdefghij",
    "ABCDEFGHIJ",
    "abcdef0123",
    "xxxxxx",
    "XXXXXX",
    "......",
    "your",
    "YOUR",
];

/// Whether a match of a vendor's format is a key from documentation or a repeated letter.
pub(crate) fn is_documented(secret: &str) -> bool {
    DOCUMENTED.iter().any(|known| secret.contains(known)) || count_distinct(secret) < 8.min(secret.len() / 2)
}

/// Whether the value can be the secret that its name announces. `literal`: it cannot be code, because it was quoted or
/// is in a position where only text is possible.
pub(crate) fn is_plausible(value: &str, promise: Expectation, literal: bool) -> bool {
    if promise == Expectation::Password && literal && value.contains(' ') {
        return is_password_with_spaces(value);
    }
    if promise == Expectation::Password && literal && is_typed_literal(value) {
        return true;
    }
    if value.len() < 6 || value.len() > 4096 || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return false;
    }
    if starts_like_code(value) || (!literal && reads_like_code(value)) {
        return false;
    }
    let proven = match promise {
        Expectation::Password => is_chosen_password(value, literal),
        Expectation::Secret => is_uuid(value) || is_random(value) || is_dense(value, literal),
        Expectation::Token => !is_uuid(value) && is_random(value),
        Expectation::Key => {
            !is_uuid(value) && !ends_with_digest(value) && has_three_alphabets(value) && is_random(value)
        }
    };
    proven && !is_placeholder(value) && !is_public_key(value)
}

/// The begins of public keys of SSH, and of keys that their vendors call publishable.
const PUBLIC: &[&str] = &[
    "AAAAB3NzaC1",
    "AAAAC3NzaC1",
    "AAAAE2VjZHNh",
    "AAAAGnNrLXNzaC",
    "AAAAInNrLWVjZHNh",
    "pk.eyJ",
    "pk_live_",
    "pk_test_",
];

/// Whether the value is meant to be known to everybody.
pub(crate) fn is_public_key(value: &str) -> bool {
    PUBLIC.iter().any(|begin| value.starts_with(begin)) || is_negation(value)
}

/// `!showPassword`: the opposite of a variable.
fn is_negation(value: &str) -> bool {
    value
        .strip_prefix('!')
        .is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Words of programs that stand where a password does, and end in a number: types and algorithms.
const TYPES: &[&str] = &[
    "sha", "aes", "md", "bcrypt", "argon", "base", "utf", "varchar", "char", "string", "text", "oauth",
    "input", "field", "type", "version", "keepass", "vault", "chapter", "section", "step", "level", "option",
    "page", "ticket", "issue", "see", "siehe", "rfc", "iso", "release", "build", "test",
];

/// `Correct-Otter-Lamp-3`, `Regenschirm_rot5`: words with signs between them, capitals and a number.
pub(crate) fn is_made_of_words(value: &str) -> bool {
    if !(8..=40).contains(&value.len()) || !value.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let joins = ['-', '_', '.', '!', '#', '+', '&', '*', '~', '%', '@'];
    // A sign may end it, and does not follow another: `first&&second2` is code.
    let parts: Vec<&str> = value.trim_end_matches(['!', '+', '#']).split(joins).collect();
    let has = |is_meant: fn(char) -> bool| value.chars().any(is_meant);
    let is_name = value.contains('.')
        && !value.contains(['-', '_', '!', '#', '+', '&', '*'])
        && !parts.last().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    let is_type = |part: &&str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
        TYPES.contains(&letters.as_str())
    };
    parts.len() >= 2
        && has(char::is_lowercase)
        && (has(char::is_uppercase) || value.contains(['!', '#', '+', '&', '*', '~', '%']))
        && value.starts_with(char::is_alphanumeric)
        && !value.starts_with(|c: char| c.is_ascii_digit() && parts[0].len() == 4)
        && parts.iter().all(|part| !part.is_empty() && part.chars().all(char::is_alphanumeric))
        && !parts.iter().any(is_type)
        && !is_name
        && !(value.contains('@') && value.contains('.'))
        && !own_words(value).any_meta
        && !is_placeholder(value)
}

pub(crate) fn is_placeholder(value: &str) -> bool {
    static TABLE: LazyLock<KeywordTable> = LazyLock::new(|| {
        KeywordTable::new(PLACEHOLDERS.iter().copied().filter(|word| word.len() > 2).collect())
    });
    let pair = |two: &[u8]| match two[0] {
        b'$' | b'%' => two[1] == b'(' || two == b"${",
        b'{' | b'}' => two[1] == two[0],
        b'#' => two[1] == b'{',
        b'[' => two[1] == b'^',
        b'\\' => b"udws".contains(&two[1].to_ascii_lowercase()),
        _ => false,
    };
    value.as_bytes().windows(2).any(pair) || TABLE.any(value.as_bytes())
}

/// Words that name a secret instead of being one: `new_password`, `userToken`, `string`.
const META_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "pass",
    "pwd",
    "pw",
    "passphrase",
    "secret",
    "secrets",
    "token",
    "tokens",
    "key",
    "keys",
    "auth",
    "credential",
    "credentials",
    "user",
    "username",
    "name",
    "email",
    "login",
    "admin",
    "root",
    "my",
    "new",
    "old",
    "current",
    "confirm",
    "confirmation",
    "repeat",
    "reset",
    "forgot",
    "change",
    "invalid",
    "wrong",
    "required",
    "missing",
    "empty",
    "default",
    "input",
    "field",
    "form",
    "value",
    "text",
    "string",
    "str",
    "char",
    "bytes",
    "type",
    "hash",
    "hashed",
    "encrypted",
    "plain",
    "plaintext",
    "raw",
    "db",
    "database",
    "api",
    "app",
    "access",
    "refresh",
    "id",
    "test",
    "example",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "error",
    "file",
    "path",
    "env",
    "config",
    "set",
    "get",
    "is",
    "the",
    "a",
    "an",
    "to",
    "for",
    "and",
    "or",
    "not",
    "with",
    "from",
    "this",
    "self",
    "manager",
    "policy",
    "strength",
    "length",
    "min",
    "max",
    "prompt",
    "hint",
    "label",
    "placeholder",
    "stdin",
    "optional",
    "any",
    "number",
    "mysql",
    "postgres",
    "redis",
    "v1",
    "v2",
    "1",
    "2",
    "3",
];

/// Whether the value is text rather than code, a reference or a stand-in for a secret.
pub(crate) fn is_literal_text(value: &str) -> bool {
    !value.is_empty()
        && !is_placeholder(value)
        && !starts_like_code(value)
        && !value.contains(['\u{27e6}', '\u{27e7}', '\n'])
        && !is_stand_in(value)
        && count_distinct(value) >= 3
}

/// A password in quotes or in a position where only text is possible.
fn is_typed_literal(value: &str) -> bool {
    let length = value.chars().count();
    (6..=128).contains(&length)
        && !value.contains(char::is_whitespace)
        && is_literal_text(value)
        && is_typed_password(value)
        && !value.contains(['(', '{', '<', '`'])
}

/// Whether every word of the value is one that names secrets.
fn is_stand_in(value: &str) -> bool {
    own_words(value).all_meta
}

/// What the words of a value say about it.
pub(crate) struct OwnWords {
    /// All of them name secrets, or there is none: `new_password`.
    pub(crate) all_meta: bool,
    /// One of more than three letters does: `resetPasswordForm`.
    pub(crate) any_meta: bool,
}

pub(crate) fn own_words(value: &str) -> OwnWords {
    static TABLE: LazyLock<WordTable> = LazyLock::new(|| WordTable::new(META_WORDS.iter().copied()));
    let mut own = OwnWords { all_meta: true, any_meta: false };
    words::for_each_word(value, true, |word| {
        let meta = TABLE.find(word).is_some();
        own.all_meta &= meta;
        own.any_meta |= meta && word.len() > 3;
    });
    own
}

/// Whether a value in the position of a password is more than a word: it has a digit, a sign, or capitals among
/// separators.
pub(crate) fn is_typed_password(value: &str) -> bool {
    let has = |test: fn(char) -> bool| value.chars().any(test);
    let signs = has(|c| "!@#$%^&*+=?~".contains(c));
    let separated = has(|c| "_-.".contains(c)) && has(char::is_uppercase) && has(char::is_lowercase);
    has(char::is_alphabetic)
        && (has(|c| c.is_ascii_digit()) || signs || separated)
        && count_distinct(value) >= 4
}

pub(crate) fn is_random_value(value: &str) -> bool {
    is_uuid(value) || is_random(value) || is_dense(value, true) || (is_hex(value) && value.len() >= 20)
}

fn starts_like_code(value: &str) -> bool {
    let bytes = value.as_bytes();
    let second = bytes.get(1).copied().unwrap_or_default();
    match bytes[0] {
        b'{' | b'[' | b'<' | b'(' | b'/' | b'\\' => true,
        b'$' | b'%' | b'@' | b'&' | b'*' | b'#' | b'.' | b'~' => {
            second.is_ascii_alphabetic()
                || second == b'{'
                || second == b'/'
                || second == b'.'
                || second == bytes[0]
        }
        _ => false,
    }
}

/// Calls, paths, indexes, generics: text that continues as code.
pub(crate) fn reads_like_code(value: &str) -> bool {
    value.contains(['(', '[', '{', '<', '|', '`'])
        || value.contains("::")
        || value.contains("->")
        || value.contains("&&")
        || is_path_of_names(value)
        || is_constant(value)
}

/// `config.api2.key`: names joined by dots.
fn is_path_of_names(value: &str) -> bool {
    let name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && (part.len() < 24 || part.contains('_'))
    };
    value.contains('.') && value.split('.').all(name)
}

/// `GL_PASS_2D`: capitals joined by underscores.
fn is_constant(value: &str) -> bool {
    let capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    value.contains('_') && value.bytes().all(capital)
}

/// A password chosen by a person: letters with digits or punctuation, not words with a number at the end.
fn is_chosen_password(value: &str, literal: bool) -> bool {
    let body = value.trim_end_matches(['!', '?', ':', '*', '.', ',']);
    let signs = body.bytes().filter(|byte| b"!@#$%^&*+=?~".contains(byte)).count();
    let digits = body.bytes().filter(u8::is_ascii_digit).count();
    let letters = body.bytes().filter(u8::is_ascii_alphabetic).count();
    let enough = value.len() >= if literal { 6 } else { 8 };
    // Where it might be code, a final number belongs to a variable: `password = input2`.
    let numbered = if literal { digits > 0 } else { digits > 2 || count_transitions(body) > 1 };
    enough
        && letters > 0
        && (numbered || signs > 0 || is_scrambled(body))
        && count_distinct(value) >= 5
        && !is_words(value)
}

/// `p@ss w0rd;9`: a password with spaces has punctuation or digits inside its words, in at least half of them. In
/// messages (`Please enter 8 characters!`) they are next to the words.
fn is_password_with_spaces(value: &str) -> bool {
    let odd = |word: &&str| {
        let within = word.as_bytes().windows(3).any(|three| {
            let letter = |byte: u8| byte.is_ascii_alphanumeric();
            letter(three[0]) && letter(three[2]) && b"!@#$%^&*+=?~;".contains(&three[1])
        });
        (within || count_transitions(word) > 1) && !(word.contains('@') && word.contains('.'))
    };
    let (words, odd) = (value.split(' ').count(), value.split(' ').filter(odd).count());
    let plain = value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    plain && value.len() <= 64 && odd * 2 >= words && !starts_like_code(value) && !is_placeholder(value)
}

/// `my-app-password-2`, `form.password.v1`: words and numbers joined by separators.
pub(crate) fn is_words(value: &str) -> bool {
    let part = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = part.len() - letters.len();
        number <= 4
            && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
            && (number == 0 || letters.len() <= 1 || letters.len() > 9)
    };
    value.contains(['-', '_', '.', '/', ':']) && value.split(['-', '_', '.', '/', ':']).all(part)
}

/// Letters and digits alternate too often for words, or the letters do not form words.
fn is_random(value: &str) -> bool {
    let long = value.len() >= 16 && count_distinct(value) >= 8;
    long && (count_transitions(value) * 7 >= value.len() && count_transitions(value) >= 4
        || (is_mixed_case(value) && is_scrambled(value)))
}

/// Too short to be certain by chance alone, but nothing else looks like this in quotes: `hunter2hunter2`, `K9!fdQ27`.
fn is_dense(value: &str, literal: bool) -> bool {
    literal
        && value.len() >= 8
        && count_distinct(value) >= 6
        && count_transitions(value) >= 3
        && !is_words(value)
}

/// The number of transitions between letters and digits.
fn count_transitions(value: &str) -> usize {
    let digit = |byte: u8| byte.is_ascii_digit();
    let pair = |pair: &[u8]| {
        pair[0].is_ascii_alphanumeric() && pair[1].is_ascii_alphanumeric() && digit(pair[0]) != digit(pair[1])
    };
    value.as_bytes().windows(2).filter(|two| pair(two)).count()
}

fn is_mixed_case(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

fn has_three_alphabets(value: &str) -> bool {
    is_mixed_case(value) && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether less than half of the value consists of runs that could be words: four or more letters, all lower case or
/// all capitals except the first. Of 5,000 random words of letters in both cases and digits, 21 % does on average, and
/// half or more in 2.3 % of them.
fn is_scrambled(value: &str) -> bool {
    let (mut run, mut wordy, mut before) = (0, 0, 0_u8);
    for byte in value.bytes().chain([0]) {
        let goes_on = run > 0
            && byte.is_ascii_alphabetic()
            && (byte.is_ascii_lowercase() == before.is_ascii_lowercase()
                || (run == 1 && byte.is_ascii_lowercase()));
        if goes_on {
            run += 1;
        } else {
            wordy += if run >= 4 { run } else { 0 };
            run = usize::from(byte.is_ascii_alphabetic());
        }
        before = byte;
    }
    value.len() >= 12 && is_mixed_case(value) && wordy * 2 < value.len()
}

fn count_distinct(value: &str) -> usize {
    let seen = value.bytes().fold(0_u128, |seen, byte| seen | 1 << (byte & 127));
    seen.count_ones() as usize
}

/// A digest, also at the end of a name: the key of a cache.
fn ends_with_digest(value: &str) -> bool {
    let last = value.rsplit('-').next().unwrap_or_default();
    is_hex(last) && (last.len() >= 32 || last.len() == value.len())
}

fn is_hex(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(crate) fn is_uuid(value: &str) -> bool {
    let parts = value.split('-').map(str::len);
    is_hex(&value.replace('-', "")) && parts.eq([8, 4, 4, 4, 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_code_are_not_secrets() {
        let values = [
            "your-api-key-goes-here1",
            "${API_KEY}",
            "$TOKEN_2",
            "process.env.TOKEN1",
            "os.environ['X1']",
            "xxxxxxxxxxxxxxxxxxxx",
            "********",
            "changeme123",
            "getPassword1()",
            "Option<String>",
            "string",
            "config.api2.key",
            "<token-1>",
            "my-secret-name-2",
            "CancellationTokenSource",
            "accessTokenFromTheServer2",
            "{{ token1 }}",
            "%(password)s1",
            "sha512-abc123def456ghi789",
            "/run/secrets/token1",
            "1234567890abcdefghij",
            "arn:aws:iam::1:role/x9y8z7",
        ];
        for value in values {
            for promise in [Expectation::Password, Expectation::Secret, Expectation::Token, Expectation::Key]
            {
                assert!(!is_plausible(value, promise, false), "{value} {promise:?}");
            }
        }
    }

    #[test]
    fn chosen_values_are_passwords_and_not_tokens() {
        for value in ["hunter2hunter2", "S3cure!pass", "p4ssw0rdAB", "tr0ub4dor&3"] {
            assert!(is_plausible(value, Expectation::Password, true), "{value}");
            assert!(!is_plausible(value, Expectation::Token, true), "{value}");
        }
    }

    #[test]
    fn a_uuid_is_a_secret_only_under_a_name_that_says_secret() {
        let value = "3b241101-e2bb-4255-8caf-4136c566a962";
        assert!(is_plausible(value, Expectation::Secret, true));
        assert!(!is_plausible(value, Expectation::Token, true));
    }
}
