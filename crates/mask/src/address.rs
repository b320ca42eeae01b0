//! Passwords in URLs (`scheme://user:password@host`) and in a command's `-u user:password`.
//!
//! Does not know schemes or hosts: any is accepted.

use crate::plausible;
use std::ops::Range;

type Secret = (Range<usize>, &'static str);

/// Words that documentation uses in place of a password.
const PLACEHOLDER_WORDS: &[&str] = &[
    "pass",
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "user",
    "x-oauth-basic",
    "oauth2",
    "apikey",
    "key",
    "mypassword",
];

/// The password in the URL whose `://` was found, or the key that stands alone in its place.
pub(crate) fn find_url_password(text: &str, mark: Range<usize>) -> Option<Secret> {
    let bytes = text.as_bytes();
    mark.start.checked_sub(1).filter(|at| bytes[*at].is_ascii_alphanumeric())?;
    let inside = |byte: &u8| byte.is_ascii_graphic() && !b"/\"'<>\\`?# ".contains(byte);
    let length = bytes[mark.end..].iter().take(320).take_while(|byte| inside(byte)).count();
    let authority = &text[mark.end..mark.end + length];
    let (login, host) = match authority.rsplit_once('@') {
        Some((login, host)) => (login, host),
        None => split_unescaped(text, &mark)?,
    };
    if host.is_empty() || is_documentation_host(host) {
        return None;
    }
    let Some((user, password)) = login.split_once(':') else {
        // The address of an error tracker: `https://KEY@host/project`.
        let is_key =
            login.len() >= 20 && plausible::is_random_value(login) && !plausible::is_documented(login);
        return is_key.then_some((mark.end..mark.end + login.len(), "url-password"));
    };
    let from = mark.end + user.len() + 1;
    let real = user != password && is_real_password(password);
    real.then_some((from..from + password.len(), "url-password"))
}

/// Login and host of a URL whose password contains `#`, `/` or `?` as it is, which databases accept: up to the last `@` before a host. On the
/// web these signs end the host, and what follows may contain an `@`.
fn split_unescaped<'t>(text: &'t str, mark: &Range<usize>) -> Option<(&'t str, &'t str)> {
    let bytes = text.as_bytes();
    let scheme = bytes[..mark.start].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let scheme = text[mark.start - scheme..mark.start].to_ascii_lowercase();
    let is_web = matches!(scheme.as_str(), "http" | "https" | "ws" | "wss");
    let ends: &[u8] = if is_web { b"/\"'<>\\`? " } else { b"\"'<>\\` " };
    let inside = |byte: &u8| byte.is_ascii_graphic() && !ends.contains(byte);
    let length = bytes[mark.end..].iter().take(320).take_while(|byte| inside(byte)).count();
    let (login, rest) = text[mark.end..mark.end + length].rsplit_once('@')?;
    let host = &rest[..rest.find(['/', '?', '#', '&', ';', ',', ')']).unwrap_or(rest.len())];
    let (user, password) = login.split_once(':')?;
    // `localhost:5432/db?mail=a@b` has a port there.
    let port = password.len() - password.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_port = port > 0 && password[port..].starts_with(['/', '?', '#']);
    let is_name = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-:[]%+".contains(&byte))
    };
    (!is_port && is_name(host) && (user.is_empty() || is_name(user))).then_some((login, host))
}

/// Hosts reserved for documentation (RFC 2606), with or without a port. `myexample.com` and `example.com.cn` are not.
fn is_documentation_host(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    ["example.com", "example.org", "example.net"].iter().any(|reserved| {
        name.strip_suffix(reserved).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

/// The password in `curl -u user:password`; in other commands `-u` has other meanings.
pub(crate) fn find_user_password(text: &str, mark: Range<usize>) -> Option<Secret> {
    let start = text[mark.end..]
        .find(|c: char| !matches!(c, ' ' | '=' | '"' | '\'' | '\\'))
        .map(|at| mark.end + at)?;
    if start == mark.end || start > mark.end + 4 {
        return None;
    }
    // Inside quotes the shell does not interpret punctuation.
    let ends: &[u8] =
        if matches!(text.as_bytes()[start - 1], b'"' | b'\'') { b"\"'\\`" } else { b"\"'\\`;|" };
    let length = text[start..]
        .bytes()
        .take(256)
        .take_while(|byte| byte.is_ascii_graphic() && !ends.contains(byte))
        .count();
    let (user, password) = text[start..start + length].split_once(':')?;
    let command = &text[text.floor_char_boundary(mark.start.saturating_sub(256))..mark.start];
    let from = start + user.len() + 1;
    let real = command.contains("curl") && user != password && is_real_password(password);
    real.then_some((from..from + password.len(), "user-password"))
}

/// Neither a placeholder nor a variable.
fn is_real_password(password: &str) -> bool {
    let code = password.contains(['$', '{', '}', '<', '*', '[', '('])
        && !password.contains(|c: char| c.is_ascii_digit());
    let variable = password.starts_with(['$', '{', '<', '%', '[', '*']);
    let words = PLACEHOLDER_WORDS.contains(&password.to_ascii_lowercase().as_str());
    password.len() >= 4 && !code && !variable && !words && !plausible::is_placeholder(password)
}

#[cfg(test)]
mod tests {
    use crate::scan::scan_text;

    #[test]
    fn only_the_password_of_an_address_is_found() {
        for (text, password) in [
            ("postgres://app:@@db:5432/x", "s3cr3t9"),
            ("redis://:@@cache", "s3cr3t9"),
            ("postgres://app:@@db.myexample.com/x", "s3cr3t9"),
            ("postgres://app:@@staging.example.com.cn/x", "s3cr3t9"),
            ("(https://me:@@h.internal/a?b=c)", "pw@with1at"),
            ("mysql://shop:@@db.internal:3306/shop", "p#ss&w0rd/9?x"),
            ("postgres://app:@@10.0.0.7/x", "a#b/c9?d"),
            ("https://me:@@h.internal/a", "pw#9&x"),
            ("https://@@o4507.ingest.sentry.io/450", "3f9ac1d27be84f0a9d51c6e2b7a8f013"),
            ("curl -s -u me:@ https://h", "s3cr3t9"),
            ("curl --user 'me:@' https://h", "s3cr3t9"),
            ("curl --user 'me:@' https://h", "s3c;r3t|9&x"),
        ] {
            let text = text.replacen('@', password, 1);
            let found = scan_text(&text, std::slice::from_ref(&(0..text.len())));
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(&text[found[0].from..found[0].to], password, "{text}");
        }
    }

    #[test]
    fn addresses_without_a_password_are_unchanged() {
        for text in [
            "https://user:password@host",
            "postgres://localhost:5432/db?mail=a@b.c",
            "https://deploy@host.internal/x",
            "http://localhost:3000#a@b",
            "https://u:${PASS}@host",
            "https://me:s3cr3t9@www.example.com:8080/a",
            "postgres://postgres:postgres@localhost",
            "http://localhost:3000/@a",
            "ssh://git@github.com:22/a",
            "https://a.b/c:d@e",
            "docker run -u 1000:1000 image",
            "http://[::1]:80/",
            "https://user:<token>@host",
            "https://user:$TOKEN1@host",
            "curl -u user:$PASS1 https://h",
        ] {
            assert!(scan_text(text, std::slice::from_ref(&(0..text.len()))).is_empty(), "{text}");
        }
    }
}
