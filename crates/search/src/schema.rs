//! What does the index hold of a message? Its words by who said them, and the numbers that lead back to it.
//!
//! Does not know the text: that is indexed, not stored, and the caller reads it again where it lies.

use crate::token::{Scratch, Tokens};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

/// Raised whenever words are cut otherwise or fields change; an older index is then built anew.
pub(crate) const VERSION: u32 = 4;

const TOKENIZER: &str = "loci";

/// How many parts there are.
pub const PARTS: usize = 7;

/// Who or what said it. The order is that of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Person,
    Assistant,
    Tool,
    Title,
    /// What the client says in the person's name: commands and what they print, reminders, surroundings.
    Client,
    /// What hooks and the provider say.
    System,
    /// What Loci itself printed into a transcript: no news, and found only by whoever asks for it.
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

/// Names of the numbers, which columns are asked for by.
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
    /// Which message of its chat it is: neighbours are told by it.
    pub turn: Field,
    /// About how long it is, see `bucket`.
    pub size: Field,
}

/// No positions: they are more than half of an index, and what they answer is answered from the text of the few
/// best. No field norms: a message has one part, so one small number serves all four.
pub fn schema() -> (Schema, Fields) {
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

/// Lengths in steps of about a fifth: enough to judge by, and 6 bits in the index instead of 20.
pub fn bucket(bytes: usize) -> u64 {
    ((bytes.max(1) as f32).log2() * 4.0) as u64
}

pub(crate) fn bytes_of(bucket: u64) -> f32 {
    (bucket as f32 / 4.0).exp2()
}

pub fn register(index: &tantivy::Index, plain: bool) {
    let tokenizer = Words { scratch: Scratch::without_stems(plain), token: Token::default() };
    index.tokenizers().register(TOKENIZER, TextAnalyzer::from(tokenizer));
}

/// Our tokens as the engine wants them.
#[derive(Clone)]
struct Words {
    scratch: Scratch,
    token: Token,
}

struct Stream<'a> {
    tokens: Tokens<'a>,
    token: &'a mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.token.reset();
        Stream { tokens: Tokens::new(text, &mut self.scratch), token: &mut self.token }
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some(place) = self.tokens.advance().map(|token| token.place) else { return false };
        self.token.position = self.token.position.wrapping_add(1);
        (self.token.offset_from, self.token.offset_to) = (place.start, place.end);
        self.token.text.clear();
        self.token.text.push_str(self.tokens.text());
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
