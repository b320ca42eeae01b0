//! What does the engine alone cost? The same texts, tokens and fields as the index's, handed straight to it: what
//! `cargo xtask bench index` compares `loci index` with.
//!
//! `bare TEXTS FOLDER [THREADS]`. Knows no transcripts: the texts come from a file that `cargo xtask stages texts`
//! writes, each with six numbers in front of it. Commits once, at the end.
#![allow(clippy::print_stdout)] // says what it did to the person who runs it

use loci_search::schema;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::IndexWriterOptions;
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
    let (schema, fields) = schema::schema();
    let engine = Index::create(MmapDirectory::open(folder)?, schema, IndexSettings::default())?;
    schema::register(&engine, false);
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
        row.add_u64(fields.chat, u64::from(text.chat));
        row.add_u64(fields.file, u64::from(text.file));
        row.add_u64(fields.event, text.event);
        row.add_i64(fields.at, text.at);
        row.add_u64(fields.turn, docs % 1000);
        row.add_u64(fields.size, schema::bucket(text.text.len()));
        row.add_text(fields.parts[text.part as usize], text.text);
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
