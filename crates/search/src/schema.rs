//! The fields of the index: a message's words by who said them, and the numbers that identify it.
//!
//! Does not store the text: it is indexed only, and the caller reads it again from its source.

use crate::token::{Scratch, Tokens};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

/// Incremented whenever tokenisation or fields change; an older index is then rebuilt.
pub(crate) const VERSION: u32 = 5;

const TOKENIZER: &str = "loci";

/// The number of parts.
pub const PARTS: usize = 7;

/// Who or what said it, in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Person,
    Assistant,
    Tool,
    Title,
    /// Text from the client in the user's name: commands and their output, reminders, environment.
    Client,
    /// Text from hooks and the provider.
    System,
    /// Output of Loci in a transcript: repeats other text, and is found only on request.
    Echo,
}

impl Part {
    pub const ALL: [Part; PARTS] =
        [Part::Person, Part::Assistant, Part::Tool, Part::Title, Part::Client, Part::System, Part::Echo];

    pub fn name(self) -> &'static str {
        match self {
            Part::Person => "person",
            Part::Assistant => "assistant",
            Part::Tool => "tool",
            Part::Title => "title",
            Part::Client => "client",
            Part::System => "system",
            Part::Echo => "echo",
        }
    }
}

/// Names of the numeric columns.
pub(crate) const CHAT: &str = "chat";
pub(crate) const EVENT: &str = "event";
pub(crate) const AT: &str = "at";
pub(crate) const TURN: &str = "turn";
pub(crate) const SIZE: &str = "size";

#[derive(Clone, Copy)]
pub struct Fields {
    pub parts: [Field; PARTS],
    pub chat: Field,
    pub file: Field,
    pub event: Field,
    pub at: Field,
    /// See `Doc::turn`.
    pub turn: Field,
    /// Its approximate length, see `size_bucket`.
    pub size: Field,
}

/// No positions: they are more than half of an index, and the text of the few best results answers the same questions.
/// No field norms: a message has one part, so one small number serves all four.
pub fn build_schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqs);
    let words = TextOptions::default().set_indexing_options(words);
    let parts = Part::ALL.map(|part| builder.add_text_field(part.name(), words.clone()));
    let number = NumericOptions::default();
    let fields = Fields {
        parts,
        chat: builder.add_u64_field(CHAT, number.clone() | FAST | INDEXED),
        file: builder.add_u64_field("file", number.clone() | INDEXED),
        event: builder.add_u64_field(EVENT, number.clone() | FAST | INDEXED),
        at: builder.add_i64_field(AT, number.clone() | FAST),
        turn: builder.add_u64_field(TURN, number.clone() | FAST),
        size: builder.add_u64_field(SIZE, number | FAST),
    };
    (builder.build(), fields)
}

/// Lengths in steps of about a fifth: precise enough, and 6 bits in the index instead of 20.
pub fn size_bucket(bytes: usize) -> u64 {
    ((bytes.max(1) as f32).log2() * 4.0) as u64
}

pub(crate) fn bucket_bytes(bucket: u64) -> f32 {
    (bucket as f32 / 4.0).exp2()
}

pub fn register_tokenizer(index: &tantivy::Index, plain: bool) {
    let tokenizer = LociTokenizer { scratch: Scratch::without_stems(plain), token: Token::default() };
    index.tokenizers().register(TOKENIZER, TextAnalyzer::from(tokenizer));
}

/// Our tokeniser behind the engine's interface.
#[derive(Clone)]
struct LociTokenizer {
    scratch: Scratch,
    token: Token,
}

struct LociTokenStream<'a> {
    tokens: Tokens<'a>,
    token: &'a mut Token,
}

impl Tokenizer for LociTokenizer {
    type TokenStream<'a> = LociTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> LociTokenStream<'a> {
        self.token.reset();
        LociTokenStream { tokens: Tokens::new(text, &mut self.scratch), token: &mut self.token }
    }
}

impl TokenStream for LociTokenStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(place) = self.tokens.advance().map(|token| token.place) else { return false };
        self.token.position = self.token.position.wrapping_add(1);
        (self.token.offset_from, self.token.offset_to) = (place.start, place.end);
        self.token.text.clear();
        self.token.text.push_str(self.tokens.current_text());
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
