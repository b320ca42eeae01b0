//! Programs that `bench index` runs besides `loci`, each as a separate process so that its cost can be measured: a
//! directory walk, and the stages of indexing alone.
//!
//! Does not measure.

use crate::Outcome;
use crate::args::Args;
use service::Service;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const WALK_HELP: &str =
    "DIR\nstat every .jsonl in DIR without reading it: the lower bound of a search";

pub(crate) const STAGES_HELP: &str = "find|survey|read|mask|keep [--archive DIR], or texts --out FILE\n\
    index the history of HOME up to one stage, on one thread, and discard the result; or write the texts of\n\
    its index, for the example `bare` of loci-search";

pub(crate) fn run_walk(args: &[String]) -> Outcome {
    let args = Args::parse(args, &[], &[])?;
    let [dir] = args.positional.as_slice() else { return Err("expected one directory".to_owned()) };
    let mut seen = Vec::new();
    stat_files(Path::new(dir), &mut seen);
    println!("{} files, {} bytes", seen.len(), seen.iter().map(|seen| seen.2).sum::<u64>());
    Ok(true)
}

/// Path, inode, size and modification time: the minimum needed to detect changes.
fn stat_files(dir: &Path, seen: &mut Vec<(PathBuf, u64, u64, i64)>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            stat_files(&entry.path(), seen);
        } else if entry.file_name().as_encoded_bytes().ends_with(b".jsonl")
            && let Ok(meta) = entry.metadata()
        {
            let changed = meta.mtime() * 1_000_000_000 + meta.mtime_nsec();
            seen.push((entry.path(), meta.ino(), meta.size(), changed));
        }
    }
}

pub(crate) fn run_stages(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["archive", "out"], &[])?;
    let [stage] = args.positional.as_slice() else { return Err("expected one stage".to_owned()) };
    let service = Service::for_stages();
    if stage == "texts" {
        let out = args.path_value("out").ok_or("missing --out FILE")?;
        return write_texts(&service, &out);
    }
    let archive = args.path_value("archive");
    if archive.is_none() && stage == "keep" {
        return Err("missing --archive DIR".to_owned());
    }
    let staged = service.stage(stage, &archive.unwrap_or_default()).map_err(|error| error.to_string())?;
    let [files, rows, bytes, packed] = staged;
    println!("{files} files, {rows} rows, {bytes} bytes of text, {packed} bytes packed");
    Ok(true)
}

fn write_texts(service: &Service, out: &Path) -> Outcome {
    let named = |error: io::Error| format!("{}: {error}", out.display());
    let mut file = BufWriter::with_capacity(1 << 18, File::create(out).map_err(named)?);
    let (mut written, mut count, mut bytes) = (Ok(()), 0_u64, 0);
    let done = service.texts(&mut |(of, chat, event, part, at, text)| {
        if written.is_ok() {
            written = write_record(&mut file, (of, chat, event, at, part), text);
            (count, bytes) = (count + 1, bytes + text.len());
        }
    });
    done.map_err(|error| error.to_string())?;
    written.and_then(|()| file.flush()).map_err(named)?;
    println!("{count} texts, {bytes} bytes");
    Ok(true)
}

fn write_record(out: &mut impl Write, numbers: (u32, u32, u64, i64, u8), text: &str) -> io::Result<()> {
    let (file, chat, event, at, part) = numbers;
    out.write_all(&file.to_le_bytes())?;
    out.write_all(&chat.to_le_bytes())?;
    out.write_all(&event.to_le_bytes())?;
    out.write_all(&at.to_le_bytes())?;
    out.write_all(&[part])?;
    out.write_all(&(text.len() as u32).to_le_bytes())?;
    out.write_all(text.as_bytes())
}
