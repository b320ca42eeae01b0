//! What a shell command or a slash command says about a session.
//!
//! Does not run anything.

/// The first line of what `git commit -m` was given.
pub fn committed(command: &str) -> Option<String> {
    let behind = command.split("git commit").nth(1)?;
    let message = behind.split_once("-m ").or_else(|| behind.split_once("-am "))?.1.trim_start();
    let quote = message.chars().next().filter(|c| "'\"".contains(*c))?;
    let inner = &message[1..];
    // `-m "$(cat <<'EOF' …`: the message begins on the next line.
    let inner = if inner.starts_with("$(cat <<") { inner.split_once('\n')?.1 } else { inner };
    let line = inner.lines().next()?.split(quote).next()?.trim();
    (!line.is_empty()).then(|| line.to_string())
}

/// `/review 12`, out of what a client wraps around a command.
pub fn slash(text: &str) -> Option<String> {
    let part = |tag: &str| {
        let from = text.split_once(&format!("<{tag}>"))?.1;
        Some(from.split_once(&format!("</{tag}>"))?.0.trim().to_string())
    };
    let typed = match part("command-name") {
        Some(name) => format!("{name} {}", part("command-args").unwrap_or_default()),
        None => text.lines().next().unwrap_or("").to_string(),
    };
    let typed = typed.trim().to_string();
    typed.starts_with('/').then_some(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_found_in_the_commands_that_made_them() {
        for (command, message) in [
            ("git commit -m 'Fix pager'", Some("Fix pager")),
            ("git add -A && git commit -am \"Fix pager\n\nmore\"", Some("Fix pager")),
            ("git commit -m \"$(cat <<'EOF'\nFix pager\n\nbody\nEOF\n)\"", Some("Fix pager")),
            ("git commit --amend --no-edit", None),
            ("git log", None),
        ] {
            assert_eq!(committed(command).as_deref(), message, "{command}");
        }
    }

    #[test]
    fn a_slash_command_is_what_was_typed() {
        let wrapped = "<command-message>x</command-message><command-name>/review</command-name><command-args>12</command-args>";
        assert_eq!(slash(wrapped).as_deref(), Some("/review 12"));
        assert_eq!(slash("/clear").as_deref(), Some("/clear"));
        assert_eq!(slash("hello"), None);
    }
}
