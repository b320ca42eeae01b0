//! What `bench index` runs besides `loci`, each as a process of its own so that its cost can be told: the bare walk over
//! the files, and the stages of indexing alone.

use crate::Outcome;
use crate::args::Args;
use service::Service;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const WALK: &str = "DIR\nlook at every .jsonl below DIR and read none: the floor of a search";

pub(crate) const STAGES: &str = "find|survey|read|mask|keep [--archive DIR], or texts --out FILE\n\
    index the history of HOME as far as one stage, on one thread, and throw it away; or write the texts that\n\
    its index was told, for the example `bare` of loci-search";

pub(crate) fn walk(args: &[String]) -> Outcome {
    let args = Args::parse(args, &[], &[])?;
    let [dir] = args.alone.as_slice() else { return Err("name one directory".to_owned()) };
    let mut seen = Vec::new();
    look(Path::new(dir), &mut seen);
    println!("{} files, {} bytes", seen.len(), seen.iter().map(|seen| seen.2).sum::<u64>());
    Ok(true)
}

/// Path, inode, size and time of change: the least that whoever wants to know what is new has to have.
fn look(dir: &Path, seen: &mut Vec<(PathBuf, u64, u64, i64)>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            look(&entry.path(), seen);
        } else if entry.file_name().as_encoded_bytes().ends_with(b".jsonl")
            && let Ok(meta) = entry.metadata()
        {
            let changed = meta.mtime() * 1_000_000_000 + meta.mtime_nsec();
            seen.push((entry.path(), meta.ino(), meta.size(), changed));
        }
    }
}

pub(crate) fn stages(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["archive", "out"], &[])?;
    let [stage] = args.alone.as_slice() else { return Err("name one stage".to_owned()) };
    let service = Service::for_stages();
    if stage == "texts" {
        let out = args.path("out").ok_or("--out FILE is needed")?;
        return texts(&service, &out);
    }
    let archive = args.path("archive");
    if archive.is_none() && stage == "keep" {
        return Err("--archive DIR is needed".to_owned());
    }
    let staged = service.stage(stage, &archive.unwrap_or_default()).map_err(|error| error.to_string())?;
    let [files, rows, bytes, packed] = staged;
    println!("{files} files, {rows} rows, {bytes} bytes of text, {packed} bytes packed");
    Ok(true)
}

fn texts(service: &Service, out: &Path) -> Outcome {
    let named = |error: io::Error| format!("{}: {error}", out.display());
    let mut file = BufWriter::with_capacity(1 << 18, File::create(out).map_err(named)?);
    let (mut written, mut many, mut bytes) = (Ok(()), 0_u64, 0);
    let told = service.texts(&mut |(of, chat, event, part, at, text)| {
        if written.is_ok() {
            written = write(&mut file, (of, chat, event, at, part), text);
            (many, bytes) = (many + 1, bytes + text.len());
        }
    });
    told.map_err(|error| error.to_string())?;
    written.and_then(|()| file.flush()).map_err(named)?;
    println!("{many} texts, {bytes} bytes");
    Ok(true)
}

fn write(out: &mut impl Write, numbers: (u32, u32, u64, i64, u8), text: &str) -> io::Result<()> {
    let (file, chat, event, at, part) = numbers;
    out.write_all(&file.to_le_bytes())?;
    out.write_all(&chat.to_le_bytes())?;
    out.write_all(&event.to_le_bytes())?;
    out.write_all(&at.to_le_bytes())?;
    out.write_all(&[part])?;
    out.write_all(&(text.len() as u32).to_le_bytes())?;
    out.write_all(text.as_bytes())
}
