//! C# as it is written, into C# as the grammar can read it, byte for byte at the same places: what the preprocessor leaves out
//! becomes blanks, and a few words that the grammar takes for something else are spelled differently. Of 5,761 files of a large
//! code base 503 have a gap without this, and a handful with it.
//!
//! Does not know names: whoever reads the tree takes the text of a node from the source, never from here.

use crate::token::{Lexeme, Source, Token};

/// What the grammar cannot read yet, and a piece of C# that shows it. The tests hold each against the grammar as it is:
/// when it has learned one, its rule can go.
#[cfg(test)]
pub(crate) const PROBES: &[(&str, &str)] = &[
    ("`async` as a name", "class C { void M(bool async) { F(async, 1); if (async) { G(x: async); } } }"),
    ("`required` as a name", "class C { void M() { required = true; required.X(); } }"),
    ("a list that begins with a target of attributes", "class C { int[] M(int property) => [property, 1]; }"),
    ("a quote beside a hole", "class C { string M(int x) => $@\"\"\"{x}\"\"\"; string N() => \"\"; }"),
    ("a call that is assigned to", "class C { F f = (a, b) => A.Ref<int>(a) = b; }"),
    ("`allows ref struct`", "class C<T> where T : allows ref struct { }"),
    ("`ref partial struct`", "public ref partial struct S { }"),
    ("assignment through `?.`", "class C { void M() { a?.B = 1; a?.B.C += 2; a?[0] = 3; } }"),
    ("an empty list pattern", "class C { int M(int[] x) => x switch { [] => 0, [..] => 1, _ => 2 }; }"),
    ("`from _ in`", "class C { object M() => from _ in a select 1; }"),
    ("a lambda with `out` and no types", "class C { F f = (text, out result) => Try(text, out result); }"),
    ("an operator that assigns", "class C { public void operator +=(int x) { } }"),
    (
        "a block of extensions",
        "static class C { extension<T>(List<T> source) { public bool Empty => true; } }",
    ),
];

/// The text for the parser: as long as the source, with every line break where it was.
pub(crate) fn prepare(source: &Source) -> Vec<u8> {
    let mut bytes = source.text.as_bytes().to_vec();
    for token in source.tokens {
        if matches!(token.kind, Lexeme::Directive | Lexeme::Inactive) {
            blank(&mut bytes, token);
        }
    }
    let tokens: Vec<Token> = source.tokens.iter().filter(|token| token.kind.counts()).copied().collect();
    let mut rules = Rules { source, tokens: &tokens, bytes };
    for at in 0..tokens.len() {
        rules.apply(at);
    }
    rules.bytes
}

fn blank(bytes: &mut [u8], token: &Token) {
    let range = &mut bytes[token.span.from as usize..token.span.to as usize];
    range.iter_mut().filter(|byte| !matches!(**byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
}

struct Rules<'a> {
    source: &'a Source<'a>,
    /// Those that count.
    tokens: &'a [Token],
    bytes: Vec<u8>,
}

impl<'a> Rules<'a> {
    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| self.source.of(token))
    }

    fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |at| self.text(at))
    }

    fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Lexeme::Word)
    }

    fn blank(&mut self, at: usize) {
        blank(&mut self.bytes, &self.tokens[at]);
    }

    /// Writes other letters in place of a token, no more than it has.
    fn spell(&mut self, at: usize, text: &str) {
        self.blank(at);
        let from = self.tokens[at].span.from as usize;
        self.bytes[from..from + text.len()].copy_from_slice(text.as_bytes());
    }

    fn apply(&mut self, at: usize) {
        match self.text(at) {
            "async" => self.name(at, "_sync"),
            "required" => self.name(at, "_equired"),
            "=" if self.before(at) == ")" => self.assigned_call(at),
            "[" => self.bracket(at),
            "allows" if self.text(at + 1) == "ref" && self.text(at + 2) == "struct" => {
                self.blank(at);
                self.blank(at + 1);
            }
            "ref" if self.text(at + 1) == "partial" && self.text(at + 2) == "struct" => self.blank(at),
            "ref" | "out" | "in" => self.lambda_parameter(at),
            "?." => self.assignment(at),
            "?" if self.text(at + 1) == "[" => self.assignment(at),
            "_" if self.before(at) == "from" && self.text(at + 1) == "in" => self.spell(at, "a"),
            "operator" => self.operator(at),
            "extension" => self.extension(at),
            "union" => self.union(at),
            text if text.starts_with("$@\"") || text.starts_with("@$\"") => self.verbatim(at),
            _ => {}
        }
    }

    /// A word that is a modifier before a type and a name everywhere else.
    fn name(&mut self, at: usize, spelling: &str) {
        let next = self.text(at + 1);
        let operand = matches!(next, "is" | "as" | "in" | "and" | "or" | "switch" | "with");
        let modifier = (self.is_word(at + 1) && !operand) || next == "(" || next == "[";
        let member = matches!(self.before(at), "." | "?.");
        if !modifier || member {
            self.spell(at, spelling);
        }
    }

    fn bracket(&mut self, at: usize) {
        let target =
            matches!(self.text(at + 1), "field" | "method" | "param" | "property" | "type" | "typevar");
        if target && self.text(at + 2) != ":" {
            let from = self.tokens[at + 1].span.from as usize;
            self.bytes[from] = b'_';
        }
        let close = if self.text(at + 1) == ".." { at + 2 } else { at + 1 };
        if self.text(close) == "]" && matches!(self.text(close + 1), "=>" | "when" | "and" | "or") {
            if close == at + 2 {
                self.blank(at + 1);
            }
            self.spell(at, "{");
            self.spell(close, "}");
        }
    }

    /// `(text, out result) => …`: what closes the list is followed by an arrow, and the name by a comma or that.
    fn lambda_parameter(&mut self, at: usize) {
        let first = matches!(self.before(at), "(" | ",");
        if !first || !self.is_word(at + 1) || !matches!(self.text(at + 2), "," | ")") {
            return;
        }
        let mut end = at + 2;
        while self.is_word(end) || matches!(self.text(end), "," | "." | "?" | "<" | ">") {
            end += 1;
        }
        if self.text(end) == ")" && self.text(end + 1) == "=>" {
            self.blank(at);
        }
    }

    /// `a?.b = c`: the question mark goes if the chain that it begins ends in an assignment.
    fn assignment(&mut self, at: usize) {
        let mut end = at + 1;
        let mut wants_name = self.text(at) == "?.";
        loop {
            match self.text(end) {
                "(" | "[" if !wants_name => end = self.closing(end) + 1,
                "." | "?." if !wants_name => {
                    wants_name = true;
                    end += 1;
                }
                "?" if self.text(end + 1) == "[" && !wants_name => end += 1,
                "!" if !wants_name => end += 1,
                _ if wants_name && self.is_word(end) => {
                    wants_name = false;
                    end += 1;
                }
                _ => break,
            }
        }
        let assigns = matches!(
            self.text(end),
            "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | "??="
        );
        if assigns {
            self.bytes[self.tokens[at].span.from as usize] = b' ';
        }
    }

    /// The token that closes the bracket which stands here.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// `=> Field(it) = value`, where the call returns a reference, is read as a sum.
    fn assigned_call(&mut self, at: usize) {
        let Some(open) = self.opening(at - 1) else { return };
        let chain =
            |at: usize| self.is_word(at) || matches!(self.text(at), "." | "::" | "<" | ">" | "," | "?");
        let start = (0..open).rev().take_while(|at| chain(*at)).last();
        if start.is_some_and(|start| self.before(start) == "=>") {
            self.spell(at, "+");
        }
    }

    /// The token that opens the bracket which is closed here.
    fn opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0usize;
        (0..=close).rev().find(|at| {
            match self.text(*at) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })
    }

    /// `operator +=` is read as `operator +`.
    fn operator(&mut self, at: usize) {
        let assigns =
            matches!(self.text(at + 1), "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=");
        if assigns {
            let last = self.tokens[at + 1].span.to as usize - 1;
            self.bytes[last] = b' ';
        }
    }

    /// `extension(T source) { … }` is read as a class of that shape; `declarations` knows it by the word in the source.
    fn extension(&mut self, at: usize) {
        let begins = matches!(self.before(at), "{" | "}" | ";" | "]");
        let open = if self.text(at + 1) == "<" {
            (at + 2..self.tokens.len()).find(|at| self.text(*at) == "(").unwrap_or(at)
        } else {
            at + 1
        };
        if !begins || self.text(open) != "(" {
            return;
        }
        let after = self.closing(open) + 1;
        if matches!(self.text(after), "{" | "where") {
            self.spell(at, "class ext");
        }
    }

    /// `union Pet(Cat, Dog)` is read as a class with a constructor of nameless parameters.
    fn union(&mut self, at: usize) {
        let begins = matches!(
            self.before(at),
            "" | "{" | "}" | ";" | "]" | "public" | "internal" | "private" | "protected" | "partial" | "file"
        );
        if begins && self.is_word(at + 1) && matches!(self.text(at + 2), "(" | "<") {
            self.spell(at, "class");
        }
    }

    /// In `$@"…""{x}"""` the scanner loses the end; the doubled quotes become blanks.
    fn verbatim(&mut self, at: usize) {
        let span = self.tokens[at].span;
        // an unclosed one may be nothing but its opening
        let Some(range) = self.bytes.get_mut(span.from as usize + 3..span.to as usize - 1) else { return };
        let mut byte = 0;
        while byte + 1 < range.len() {
            if range[byte] == b'"' && range[byte + 1] == b'"' {
                range[byte] = b' ';
                range[byte + 1] = b' ';
                byte += 1;
            }
            byte += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lex::lex;
    use super::*;
    use crate::preprocessor::Symbols;

    fn prepared(text: &str, symbols: &Symbols) -> String {
        let tokens = lex(text, symbols);
        String::from_utf8(prepare(&Source { text, tokens: &tokens })).unwrap()
    }

    fn parses(text: &[u8]) -> bool {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&tree_sitter_c_sharp::LANGUAGE.into()).unwrap();
        !parser.parse(text, None).unwrap().root_node().has_error()
    }

    #[test]
    fn what_the_grammar_cannot_read_it_can_read_prepared() {
        let names = |keep: &dyn Fn(&str) -> bool| -> Vec<&str> {
            PROBES.iter().filter(|(_, text)| keep(text)).map(|(name, _)| *name).collect()
        };
        let still = names(&|text| !parses(prepared(text, &Symbols::default()).as_bytes()));
        assert_eq!(still, [""; 0], "cannot be read though prepared");
        assert_eq!(
            names(&|text| parses(text.as_bytes())),
            [""; 0],
            "learned by the grammar: the rule can go"
        );
    }

    #[test]
    fn modifiers_stay_what_they_are() {
        for text in [
            "class C { public async Task M() { await F(async x => 1, async (y) => 2, async delegate { }); } }",
            "class C { public required string Name { get; init; } public required (int, int) P; }",
            "class C { void M(scoped ref int x, scoped Span<int> y) { scoped var z = 1; } }",
            "class C { [field: NonSerialized] public event E F; [return: X] int M(F(out x)) => 1; }",
            "class C { object M() => F(out x, ref y); int? a; int?[] b = c; object N() => d?.E == 1 ? [1] : [2]; }",
        ] {
            assert_eq!(prepared(text, &Symbols::default()), text);
        }
    }

    #[test]
    fn every_byte_keeps_its_place() {
        let text = "a\r\n#if X\r\nä \"\r\n#else\r\nb\r\n#endif\r\nc";
        let out = prepared(text, &Symbols::default());
        assert_eq!(out.len(), text.len());
        assert_eq!(out.split_whitespace().collect::<Vec<_>>(), ["a", "b", "c"]);
        let breaks = |text: &str| text.match_indices(['\r', '\n']).map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(breaks(&out), breaks(text));
    }
}
