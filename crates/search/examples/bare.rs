//! What does the engine alone cost? The same texts, tokens and fields as the index's, handed straight to it: what
//! `cargo xtask bench index` compares `loci index` with.
//!
//! `bare TEXTS FOLDER [THREADS]`. Knows no transcripts: the texts come from a file that `cargo xtask stages texts`
//! writes, each with six numbers in front of it. Commits once, at the end.
#![allow(clippy::print_stdout)] // says what it did to the person who runs it

use loci_search::{Part, Scratch, Tokens};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::IndexWriterOptions;
use tantivy::schema::{
    FAST, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexSettings, IndexWriter, TantivyDocument};

/// As `loci index` is given.
const HEAP: usize = 48 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [texts, folder, rest @ ..] = args.as_slice() else {
        return Err("usage: bare TEXTS FOLDER [THREADS]".into());
    };
    let threads: usize = rest.first().map_or(Ok(1), |word| word.parse())?;
    let folder = Path::new(folder);
    // What another run left would be added to.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let (docs, bytes) = index(&mut BufReader::with_capacity(1 << 18, File::open(texts)?), folder, threads)?;
    println!("{docs} texts, {bytes} bytes");
    Ok(())
}

fn index(
    from: &mut impl Read,
    folder: &Path,
    threads: usize,
) -> Result<(u64, u64), Box<dyn std::error::Error>> {
    let mut schema = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer("loci")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqs);
    let words = TextOptions::default().set_indexing_options(words);
    let parts = Part::ALL.map(|part| schema.add_text_field(part.name(), words.clone()));
    let number = NumericOptions::default();
    let chat = schema.add_u64_field("chat", number.clone() | FAST | INDEXED);
    let file = schema.add_u64_field("file", number.clone() | INDEXED);
    let event = schema.add_u64_field("event", number.clone() | FAST | INDEXED);
    let at = schema.add_i64_field("at", number.clone() | FAST);
    let turn = schema.add_u64_field("turn", number.clone() | FAST);
    let size = schema.add_u64_field("size", number | FAST);
    let engine = Index::create(MmapDirectory::open(folder)?, schema.build(), IndexSettings::default())?;
    engine.tokenizers().register("loci", TextAnalyzer::from(Words::default()));
    let options = IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .memory_budget_per_thread(HEAP / threads)
        .num_merge_threads(1)
        .build();
    let mut writer: IndexWriter = engine.writer_with_options(options)?;
    let (mut docs, mut bytes) = (0, 0);
    while let Some(text) = Said::read(from)? {
        let mut row = TantivyDocument::new();
        bytes += text.text.len() as u64;
        row.add_u64(chat, u64::from(text.chat));
        row.add_u64(file, u64::from(text.file));
        row.add_u64(event, text.event);
        row.add_i64(at, text.at);
        row.add_u64(turn, docs % 1000);
        row.add_u64(size, u64::from(text.text.len().max(1).ilog2() * 4));
        row.add_text(parts[text.part as usize], text.text);
        writer.add_document(row)?;
        docs += 1;
    }
    writer.commit()?;
    Ok((docs, bytes))
}

struct Said {
    file: u32,
    chat: u32,
    event: u64,
    part: u8,
    at: i64,
    text: String,
}

impl Said {
    fn read(from: &mut impl Read) -> io::Result<Option<Said>> {
        let mut head = [0; 29];
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let four = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap_or_default());
        let eight = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
        let mut text = vec![0; four(25) as usize];
        from.read_exact(&mut text)?;
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        Ok(Some(Said {
            file: four(0),
            chat: four(4),
            event: eight(8),
            at: eight(16) as i64,
            part: head[24],
            text,
        }))
    }
}

/// The index's tokens as the engine wants them.
#[derive(Clone, Default)]
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
        let Some(found) = self.tokens.advance() else { return false };
        self.token.position = self.token.position.wrapping_add(1);
        (self.token.offset_from, self.token.offset_to) = (found.place.start, found.place.end);
        self.token.text.clear();
        self.token.text.push_str(found.text);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
