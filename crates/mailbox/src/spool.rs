//! The spool: messages submitted while no daemon is running, one per line, on disk before they are acknowledged. Draining
//! accepts each message once, however often it is interrupted.
//!
//! Does not know the agents.

use crate::{Error, Mailbox, NewMessage};
use os::files::OpenOptionsExt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub struct Spool {
    path: PathBuf,
}

/// The result of draining the spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Accepted now.
    pub accepted: u64,
    /// Accepted before.
    pub known: u64,
    /// Malformed, for an unknown agent, or with a key of another message: set aside.
    pub rejected: u64,
}

impl Spool {
    pub fn new(path: &Path) -> Spool {
        Spool { path: path.to_path_buf() }
    }

    /// Appends a message. When this returns, it is on disk.
    pub fn append_message(&self, letter: &NewMessage) -> std::io::Result<()> {
        let mut file = self.open()?;
        file.lock()?;
        let mut line = serde_json::to_string(letter)?;
        line.push('\n');
        // A process killed while writing has left half a line, which must not corrupt this one.
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

    pub fn count_waiting(&self) -> u64 {
        count_lines(&self.path)
    }

    /// The file for lines that could not be accepted, for a person to inspect.
    pub fn rejected_path(&self) -> PathBuf {
        self.path.with_extension("refused.jsonl")
    }

    pub fn count_rejected(&self) -> u64 {
        count_lines(&self.rejected_path())
    }

    /// Accepts all spooled messages. If interrupted, the lines remain and are recognised as known the next time.
    pub fn drain_into(&self, mailbox: &mut Mailbox, now: i64) -> Result<Drained, Error> {
        let mut drained = Drained::default();
        if std::fs::metadata(&self.path).map_or(true, |meta| meta.len() == 0) {
            return Ok(drained);
        }
        let unread = |error: std::io::Error| Error::Database(db::corrupt_error(&error));
        let mut file = self.open().map_err(unread)?;
        file.lock().map_err(unread)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unread)?;
        let mut refused = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let taken = match serde_json::from_slice::<NewMessage>(line) {
                Ok(message) => mailbox.accept_message(&message, now).map(|(_, new)| new),
                Err(_) => Err(Error::UnknownAgent(String::new())),
            };
            match taken {
                Ok(true) => drained.accepted += 1,
                Ok(false) => drained.known += 1,
                Err(Error::UnknownAgent(_) | Error::KeyConflict(_)) => refused.push(line),
                Err(error) => return Err(error),
            }
        }
        drained.rejected = refused.len() as u64;
        self.write_rejected(&refused).map_err(unread)?;
        file.set_len(0).and_then(|()| file.sync_all()).map_err(unread)?;
        Ok(drained)
    }

    /// Appends rejected lines to the file beside the spool.
    fn write_rejected(&self, lines: &[&[u8]]) -> std::io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(self.rejected_path())?;
        for line in lines {
            file.write_all(line)?;
            file.write_all(b"\n")?;
        }
        file.sync_all()
    }
}

fn count_lines(path: &Path) -> u64 {
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

    fn test_message(key: &str, agent: &str) -> NewMessage {
        NewMessage {
            key: key.into(),
            agent: agent.into(),
            text: "line one\nline two".into(),
            ..NewMessage::default()
        }
    }

    #[test]
    fn spooled_messages_are_accepted_once_and_the_rest_set_aside() {
        let tmp = tempfile::tempdir().unwrap();
        let spool = Spool::new(&tmp.path().join("pending.jsonl"));
        let mut mailbox = Mailbox::open(&tmp.path().join("post.db")).unwrap();
        mailbox
            .add_agent(&Agent { name: "ann".into(), client: "claude".into(), ..Agent::default() })
            .unwrap();
        assert_eq!(spool.drain_into(&mut mailbox, 1).unwrap(), Drained::default());
        spool.append_message(&test_message("a", "ann")).unwrap();
        // Killed while writing a line.
        let half = OpenOptions::new().append(true).open(tmp.path().join("pending.jsonl")).unwrap();
        (&half).write_all(b"{\"key\":\"hal").unwrap();
        spool.append_message(&test_message("b", "ann")).unwrap();
        spool.append_message(&test_message("c", "nobody")).unwrap();
        let before = std::fs::read(tmp.path().join("pending.jsonl")).unwrap();
        assert_eq!(
            spool.drain_into(&mut mailbox, 1).unwrap(),
            Drained { accepted: 2, known: 0, rejected: 2 }
        );
        assert_eq!((spool.count_waiting(), spool.count_rejected()), (0, 2));
        // Killed before the lines were removed.
        std::fs::write(tmp.path().join("pending.jsonl"), before).unwrap();
        assert_eq!(
            spool.drain_into(&mut mailbox, 2).unwrap(),
            Drained { accepted: 0, known: 2, rejected: 2 }
        );
        let aside = std::fs::read_to_string(tmp.path().join("pending.refused.jsonl")).unwrap();
        assert!(aside.lines().count() == 4 && aside.contains("nobody"), "{aside}");
    }
}
