//! Measures the cost of the engine alone: indexes the same texts, tokens and fields directly with tantivy. `cargo xtask
//! bench index` compares `loci index` with it.
//!
//! `bare TEXTS FOLDER [THREADS]`. Does not know transcripts: the texts come from a file written by `cargo xtask stages
//! texts`, each preceded by six numbers. Commits once, at the end.
#![allow(clippy::print_stdout)] // a command-line tool

use loci_search::schema;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::IndexWriterOptions;
use tantivy::{Index, IndexSettings, IndexWriter, TantivyDocument};

/// The same heap as `loci index` uses.
const HEAP: usize = 48 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [texts, folder, rest @ ..] = args.as_slice() else {
        return Err("usage: bare TEXTS FOLDER [THREADS]".into());
    };
    let threads: usize = rest.first().map_or(Ok(1), |word| word.parse())?;
    let folder = Path::new(folder);
    // The output of an earlier run would be added to.
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
    let (schema, fields) = schema::build_schema();
    let engine = Index::create(MmapDirectory::open(folder)?, schema, IndexSettings::default())?;
    schema::register_tokenizer(&engine, false);
    let options = IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .memory_budget_per_thread(HEAP / threads)
        .num_merge_threads(1)
        .build();
    let mut writer: IndexWriter = engine.writer_with_options(options)?;
    let (mut docs, mut bytes) = (0, 0);
    while let Some(entry) = Entry::read(from)? {
        let mut row = TantivyDocument::new();
        bytes += entry.text.len() as u64;
        row.add_u64(fields.chat, u64::from(entry.chat));
        row.add_u64(fields.file, u64::from(entry.file));
        row.add_u64(fields.event, entry.event);
        row.add_i64(fields.at, entry.at);
        row.add_u64(fields.turn, docs % 1000);
        row.add_u64(fields.size, schema::size_bucket(entry.text.len()));
        row.add_text(fields.parts[entry.part as usize], entry.text);
        writer.add_document(row)?;
        docs += 1;
    }
    writer.commit()?;
    Ok((docs, bytes))
}

struct Entry {
    file: u32,
    chat: u32,
    event: u64,
    part: u8,
    at: i64,
    text: String,
}

impl Entry {
    fn read(from: &mut impl Read) -> io::Result<Option<Entry>> {
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
        Ok(Some(Entry {
            file: four(0),
            chat: four(4),
            event: eight(8),
            at: eight(16) as i64,
            part: head[24],
            text,
        }))
    }
}
