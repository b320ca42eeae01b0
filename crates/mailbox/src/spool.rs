//! Where a message is left when nobody is there to take it: a line each, on the disk before it is said to be kept. Whoever
//! takes them in later takes each once, however often that is interrupted.
//!
//! Does not know the agents.

use crate::{Error, Letter, Post};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub struct Spool {
    path: PathBuf,
}

/// What came of taking messages in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Taken in now.
    pub taken: u64,
    /// Known already.
    pub known: u64,
    /// No message, or to nobody: put aside.
    pub refused: u64,
}

impl Spool {
    pub fn at(path: &Path) -> Spool {
        Spool { path: path.to_path_buf() }
    }

    /// Keeps a message. When this returns it is on the disk.
    pub fn leave(&self, letter: &Letter) -> std::io::Result<()> {
        let mut file = self.open()?;
        file.lock()?;
        let mut line = serde_json::to_string(letter)?;
        line.push('\n');
        // Whoever was killed while writing has left half a line: it must not take this one with it.
        if !ends_with_newline(&mut file)? {
            line.insert(0, '\n');
        }
        file.seek(SeekFrom::End(0))?;
        file.write_all(line.as_bytes())?;
        file.sync_all()
    }

    fn open(&self) -> std::io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&self.path)
    }

    pub fn waiting(&self) -> u64 {
        lines(&self.path)
    }

    /// Where lines are put aside that could not be taken in, for a person to look at.
    pub fn aside(&self) -> PathBuf {
        self.path.with_extension("refused.jsonl")
    }

    pub fn refused(&self) -> u64 {
        lines(&self.aside())
    }

    /// Takes everything in. A kill before the end leaves the lines, and the next time they are known already.
    pub fn drain(&self, post: &mut Post, now: i64) -> Result<Drained, Error> {
        let mut drained = Drained::default();
        if std::fs::metadata(&self.path).map_or(true, |meta| meta.len() == 0) {
            return Ok(drained);
        }
        let unread = |error: std::io::Error| Error::Database(db::damaged(&error));
        let mut file = self.open().map_err(unread)?;
        file.lock().map_err(unread)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unread)?;
        let mut refused = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let taken = match serde_json::from_slice::<Letter>(line) {
                Ok(letter) => post.accept(&letter, now).map(|(_, new)| new),
                Err(_) => Err(Error::Unknown(String::new())),
            };
            match taken {
                Ok(true) => drained.taken += 1,
                Ok(false) => drained.known += 1,
                Err(Error::Unknown(_) | Error::Taken(_)) => refused.push(line),
                Err(error) => return Err(error),
            }
        }
        drained.refused = refused.len() as u64;
        self.put_aside(&refused).map_err(unread)?;
        file.set_len(0).and_then(|()| file.sync_all()).map_err(unread)?;
        Ok(drained)
    }

    /// Beside it, to be looked at by a person.
    fn put_aside(&self, lines: &[&[u8]]) -> std::io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(self.aside())?;
        for line in lines {
            file.write_all(line)?;
            file.write_all(b"\n")?;
        }
        file.sync_all()
    }
}

fn lines(path: &Path) -> u64 {
    let text = std::fs::read(path).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count() as u64
}

fn ends_with_newline(file: &mut File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;

    fn letter(key: &str, agent: &str) -> Letter {
        Letter {
            key: key.into(),
            agent: agent.into(),
            text: "line one\nline two".into(),
            ..Letter::default()
        }
    }

    #[test]
    fn what_was_left_is_taken_in_once_and_the_rest_put_aside() {
        let tmp = tempfile::tempdir().unwrap();
        let spool = Spool::at(&tmp.path().join("pending.jsonl"));
        let mut post = Post::open(&tmp.path().join("post.db")).unwrap();
        post.add_agent(&Agent { name: "ann".into(), client: "claude".into(), ..Agent::default() }).unwrap();
        assert_eq!(spool.drain(&mut post, 1).unwrap(), Drained::default());
        spool.leave(&letter("a", "ann")).unwrap();
        // Killed in the middle of a line.
        let half = OpenOptions::new().append(true).open(tmp.path().join("pending.jsonl")).unwrap();
        (&half).write_all(b"{\"key\":\"hal").unwrap();
        spool.leave(&letter("b", "ann")).unwrap();
        spool.leave(&letter("c", "nobody")).unwrap();
        let before = std::fs::read(tmp.path().join("pending.jsonl")).unwrap();
        assert_eq!(spool.drain(&mut post, 1).unwrap(), Drained { taken: 2, known: 0, refused: 2 });
        assert_eq!((spool.waiting(), spool.refused()), (0, 2));
        // Killed before the lines were taken away.
        std::fs::write(tmp.path().join("pending.jsonl"), before).unwrap();
        assert_eq!(spool.drain(&mut post, 2).unwrap(), Drained { taken: 0, known: 2, refused: 2 });
        let aside = std::fs::read_to_string(tmp.path().join("pending.refused.jsonl")).unwrap();
        assert!(aside.lines().count() == 4 && aside.contains("nobody"), "{aside}");
    }
}
