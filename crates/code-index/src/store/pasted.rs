//! Reads what a person pastes in place of a name: a frame of a stack trace, a signature, a path with generics and arguments.
//!
//! Does not know which symbols exist.

use syntax::language_of;

/// What a pasted text mentions.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Pasted {
    /// A path that may begin outside the tree.
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    /// Words with dots between them.
    pub(super) name: Option<String>,
}

pub(super) fn read_pasted(text: &str) -> Pasted {
    let text = text.trim();
    let Some((from, to, file)) = find_file(text) else {
        return Pasted { name: read_name(text), ..Pasted::default() };
    };
    let (before, after) = (&text[..from], &text[to..]);
    let line = after.trim_start_matches(['"', '\'', ',', ':', ' ']).trim_start_matches("line ");
    let line = line.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
    // `tag.py::TagMarkup.to_python`, `line 16, in dispatch`, or a name before the file
    let tail = after.strip_prefix("::").or_else(|| after.split_once(" in ").map(|(_, name)| name));
    let name = tail.map_or_else(|| read_name(before.trim_end_matches(['(', ' '])), read_name);
    Pasted { file: Some(file), line, name }
}

/// The first word that is the path of a source file, with its place in the text.
fn find_file(text: &str) -> Option<(usize, usize, String)> {
    let is_border = |c: char| c.is_whitespace() || "\"'(),;".contains(c);
    let mut at = 0;
    for word in text.split(is_border) {
        let path = word.split(':').find(|piece| language_of(piece.trim_end_matches('/').as_ref()).is_some());
        if let Some(path) = path.filter(|path| path.contains('.')) {
            let from = at + word.find(path)?;
            return Some((from, from + path.len(), path.trim_start_matches('/').to_owned()));
        }
        at += word.len() + text[at + word.len()..].chars().next().map_or(0, char::len_utf8);
    }
    None
}

/// The name in a text: what stands before its arguments, without generics, keywords and what compilers add.
fn read_name(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches("at ");
    let text = match text.strip_prefix("func (").and_then(|rest| rest.split_once(')')) {
        // the receiver of a method in Go
        Some((receiver, rest)) => format!("{}.{}", receiver.rsplit([' ', '*']).next()?, rest.trim_start()),
        None => without_self_type(text),
    };
    let text = without_brackets(&text);
    let word = text.split_whitespace().next_back()?;
    let path = word.rsplit('/').next()?.replace("::", ".");
    let words: Vec<&str> = path.split(['.', '$']).filter(|word| is_word(word)).collect();
    let kept = words.iter().rposition(|word| !is_added_by_compiler(word))?;
    // a `$` at the start of a word belongs to it
    let is_joined = path.contains(".$") || path.starts_with('$');
    if is_joined { Some(path) } else { Some(words[..=kept].join(".")) }
}

/// `<A as B>::c` is `A::c`.
fn without_self_type(text: &str) -> String {
    let Some(inner) = text.strip_prefix('<') else { return text.to_owned() };
    let mut depth = 1;
    let end = inner.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        depth == 0
    });
    let Some((end, _)) = end else { return text.to_owned() };
    let of = inner[..end].split(" as ").next().unwrap_or_default();
    format!("{of}{}", &inner[end + 1..])
}

/// Removes generics and everything from the arguments on. `(*A).b` is `A.b`.
fn without_brackets(text: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '(' && depth == 0 {
            let receiver = rest[1..].split_once(')').filter(|(_, after)| after.starts_with('.'));
            let Some((of, after)) = receiver else { break };
            plain.push_str(of.trim_start_matches('*'));
            rest = after;
            continue;
        }
        match c {
            '<' | '[' | '{' => depth += 1,
            '>' | ']' | '}' => depth -= 1,
            c if depth == 0 => plain.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    plain.replace("::::", "::").trim_end_matches(['.', ':']).to_owned()
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '#')
}

/// `func1` of Go, `lambda` and numbers of Java, `closure` of Rust.
fn is_added_by_compiler(word: &str) -> bool {
    let digits = word.strip_prefix("func").unwrap_or(word);
    digits.chars().all(|c| c.is_ascii_digit()) || matches!(word, "lambda" | "closure")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, u32, String) {
        let found = read_pasted(text);
        (found.file.unwrap_or_default(), found.line.unwrap_or(0), found.name.unwrap_or_default())
    }

    fn expect(text: &str, file: &str, line: u32, name: &str) {
        assert_eq!(read(text), (file.to_owned(), line, name.to_owned()), "{text}");
    }

    #[test]
    fn frames_of_stack_traces_have_a_file_a_line_and_a_name() {
        expect(r#"File "/srv/lib/shop/app.py", line 16, in dispatch"#, "srv/lib/shop/app.py", 16, "dispatch");
        expect("at com.shop.Cart$Line.read(Cart.java:52)", "Cart.java", 52, "com.shop.Cart.Line.read");
        expect("    at total (file:///app/src/cart.ts:15:26)", "app/src/cart.ts", 15, "total");
        expect("at Cart.total (src/cart.ts:15:26)", "src/cart.ts", 15, "Cart.total");
        expect("at Shop.Cart.Total(Int32 n) in /src/Cart.cs:line 7", "src/Cart.cs", 7, "Shop.Cart.Total");
        expect("src/tag.py::Tag.to_python", "src/tag.py", 0, "Tag.to_python");
        expect("src/tag.py:7", "src/tag.py", 7, "");
    }

    #[test]
    fn a_name_is_what_stands_before_the_arguments() {
        for (text, name) in [
            ("example.org/shop/cart.(*Cart).Total(0xc0003a21a0, 0x1)", "cart.Cart.Total"),
            ("example.org/shop.Run.func1", "shop.Run"),
            ("func (c *Cart) Total(lines []Line) (sum int, err error)", "Cart.Total"),
            ("shop.getTyped[T any]", "shop.getTyped"),
            ("<shop::cart::Cart<M, W> as shop::Total>::finish", "shop.cart.Cart.finish"),
            ("shop::Cart::total::{{closure}}", "shop.Cart.total"),
            ("public static Map<String, List<Integer>> group(List<Integer> of)", "group"),
            ("pub fn total<T: Into<u64>>(lines: &[T]) -> u64", "total"),
            ("Cart.total()", "Cart.total"),
            ("core.$ZodType", "core.$ZodType"),
        ] {
            expect(text, "", 0, name);
        }
    }
}
