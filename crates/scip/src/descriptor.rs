//! Parses SCIP symbol strings: extracts the name and kind of the last descriptor, for example the method `get` from
//! ``scip-typescript npm demo 1.0.0 src/`store.ts`/Store#get().``
//!
//! Does not know packages or versions, nor where anything is defined.

use std::borrow::Cow;

/// The kind of a symbol, as far as its string says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    Namespace,
    Type,
    /// A value: a field, a variable, a constant.
    Term,
    Method,
    TypeParameter,
    Parameter,
    /// Anything else that an indexer names.
    Meta,
    Macro,
    /// Local to one document; its name is a number.
    Local,
}

/// The name and kind of a symbol; `None` if the string is malformed.
pub fn describe_symbol(symbol: &str) -> Option<(Cow<'_, str>, SymbolKind)> {
    if let Some(number) = symbol.strip_prefix("local ") {
        return Some((Cow::Borrowed(number), SymbolKind::Local));
    }
    let mut rest = skip_package(symbol)?;
    let mut last = None;
    while !rest.is_empty() {
        let (name, kind, behind) = parse_descriptor(rest)?;
        last = Some((name, kind));
        rest = behind;
    }
    last
}

/// Whether a symbol is local to one document.
pub fn is_local(symbol: &str) -> bool {
    symbol.starts_with("local ")
}

/// The name of a symbol's package, without its version.
pub fn symbol_package(symbol: &str) -> Option<&str> {
    let descriptors = skip_package(symbol)?;
    let package = symbol[..symbol.len() - descriptors.len()].strip_suffix(' ')?;
    package.split(' ').nth(2)
}

/// The names of a symbol's descriptors, from the outermost inwards, separated by dots.
pub fn symbol_path(symbol: &str) -> Option<String> {
    let mut rest = skip_package(symbol)?;
    let mut path = String::new();
    while !rest.is_empty() {
        let (name, _, behind) = parse_descriptor(rest)?;
        path.push_str(if path.is_empty() { "" } else { "." });
        path.push_str(&name);
        rest = behind;
    }
    Some(path)
}

/// The descriptors after scheme, manager, package and version, each of which ends with a space; a double space is an escaped
/// space.
fn skip_package(symbol: &str) -> Option<&str> {
    let mut rest = symbol;
    for _ in 0..4 {
        let mut from = 0;
        loop {
            let space = from + rest.get(from..)?.find(' ')?;
            if rest[space + 1..].starts_with(' ') {
                from = space + 2;
                continue;
            }
            rest = &rest[space + 1..];
            break;
        }
    }
    Some(rest)
}

fn parse_descriptor(text: &str) -> Option<(Cow<'_, str>, SymbolKind, &str)> {
    for (open, close, kind) in [('[', ']', SymbolKind::TypeParameter), ('(', ')', SymbolKind::Parameter)] {
        if let Some(inside) = text.strip_prefix(open) {
            let (name, behind) = parse_name(inside)?;
            return Some((name, kind, behind.strip_prefix(close)?));
        }
    }
    let (name, behind) = parse_name(text)?;
    let mut chars = behind.chars();
    let kind = match chars.next()? {
        '/' => SymbolKind::Namespace,
        '#' => SymbolKind::Type,
        '.' => SymbolKind::Term,
        ':' => SymbolKind::Meta,
        '!' => SymbolKind::Macro,
        '(' => {
            let (_, behind) = chars.as_str().split_once(").")?;
            return Some((name, SymbolKind::Method, behind));
        }
        _ => return None,
    };
    Some((name, kind, chars.as_str()))
}

/// A name and the rest. Backticks quote any text; a double backtick is an escaped backtick.
fn parse_name(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(quoted) = text.strip_prefix('`') else {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '-' | '$');
        let end = text.find(|c| !is_plain(c)).unwrap_or(text.len());
        return (end > 0).then(|| (Cow::Borrowed(&text[..end]), &text[end..]));
    };
    let mut from = 0;
    loop {
        let end = from + quoted.get(from..)?.find('`')?;
        if quoted[end + 1..].starts_with('`') {
            from = end + 2;
            continue;
        }
        let inside = &quoted[..end];
        let name = if from == 0 { Cow::Borrowed(inside) } else { Cow::Owned(inside.replace("``", "`")) };
        return Some((name, &quoted[end + 1..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_symbol_is_named_by_its_last_descriptor() {
        for (symbol, expected) in [
            ("local 12", Some(("12", SymbolKind::Local))),
            ("a b c d src/`store.ts`/Store#", Some(("Store", SymbolKind::Type))),
            ("a b c d src/`store.ts`/", Some(("store.ts", SymbolKind::Namespace))),
            ("a b c d Store#get().", Some(("get", SymbolKind::Method))),
            ("a b c d Store#get(+1).", Some(("get", SymbolKind::Method))),
            ("a b c d Store#get().(key)", Some(("key", SymbolKind::Parameter))),
            ("a b c d Store#[T]", Some(("T", SymbolKind::TypeParameter))),
            ("a b c d impl#[`Store<T>`]size.", Some(("size", SymbolKind::Term))),
            ("a b c d x/vec!", Some(("vec", SymbolKind::Macro))),
            ("a b c d width0:", Some(("width0", SymbolKind::Meta))),
            ("a b c d `a``b`.", Some(("a`b", SymbolKind::Term))),
            ("a  b b c d X#", Some(("X", SymbolKind::Type))),
            ("a b c  d X#", None),
            ("a b c d ", None),
            ("a b c d X", None),
            ("a b c d `X", None),
            ("a b c d X(", None),
            ("", None),
        ] {
            let found = describe_symbol(symbol);
            assert_eq!(found.as_ref().map(|(name, kind)| (&**name, *kind)), expected, "{symbol}");
        }
    }

    #[test]
    fn a_symbol_has_a_package_and_a_path() {
        for (symbol, package, path) in [
            ("a pip demo 1 `demo.app`/App#run().", Some("demo"), Some("demo.app.App.run")),
            ("a npm @x/y 1 src/`a.ts`/A#", Some("@x/y"), Some("src.a.ts.A")),
            ("a npm . . x/A#", Some("."), Some("x.A")),
            ("local 3", None, None),
        ] {
            assert_eq!((symbol_package(symbol), symbol_path(symbol).as_deref()), (package, path), "{symbol}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_parsed(text in "\\PC{0,40}") {
            describe_symbol(&text);
            describe_symbol(&format!("a b c d {text}"));
            symbol_path(&format!("a b c d {text}"));
            symbol_package(&text);
        }
    }
}
