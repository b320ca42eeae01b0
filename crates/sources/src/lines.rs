//! The lines of a growing file, in pieces of a few hundred kilobytes that end at a line end, with their byte
//! offsets. A line longer than a piece makes the piece grow; one longer than `LONGEST` is skipped and
//! reported.
//!
//! Does not know the content of a line.

use memchr::{memchr, memrchr};
use std::io::{self, Read};

/// A piece stays in the L2 cache, which is worth more than fewer system calls.
const PIECE: usize = 256 * 1024;
/// The longest line seen in the wild has 12.8 MB. Lines of up to ten times that are read; beyond it the
/// memory bound wins.
pub const LONGEST: usize = 160 * 1024 * 1024;

pub struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    filled: usize,
    given: usize,
    offset: u64,
    ended: bool,
    longest: usize,
}

/// A run of complete lines. `open` means that the file ends inside the last one.
pub struct Piece<'a> {
    pub offset: u64,
    pub bytes: &'a [u8],
    pub open: bool,
}

pub enum Next<'a> {
    Piece(Piece<'a>),
    /// A line that was not read: where it starts and how long it is.
    TooLong(u64, u64),
    End,
}

thread_local! {
    /// The buffer of the previous file, reused for the next: clearing a new one for each of 1,600 files costs
    /// a tenth of reading them.
    static SPARE: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) };
}

impl<R> Drop for Lines<R> {
    fn drop(&mut self) {
        if self.buffer.len() == PIECE {
            SPARE.set(std::mem::take(&mut self.buffer));
        }
    }
}

impl<R: Read> Lines<R> {
    pub fn new(from: R) -> Lines<R> {
        Lines::with_longest(from, LONGEST)
    }

    pub fn with_longest(from: R, longest: usize) -> Lines<R> {
        let mut buffer = SPARE.take();
        buffer.resize(PIECE, 0);
        Lines { from, buffer, filled: 0, given: 0, offset: 0, ended: false, longest }
    }

    /// Sets the offset of the first byte, if reading starts in the middle of a file.
    #[must_use]
    pub fn starting(mut self, offset: u64) -> Lines<R> {
        self.offset = offset;
        self
    }

    /// How far the file has been read.
    pub fn position(&self) -> u64 {
        self.offset + self.given as u64
    }

    pub fn read_on(&mut self) -> io::Result<Next<'_>> {
        self.drop_given();
        let mut searched = 0;
        loop {
            if let Some(end) = memrchr(b'\n', &self.buffer[searched..self.filled]) {
                return Ok(self.give(searched + end + 1, false));
            }
            searched = self.filled;
            if self.ended {
                return Ok(if self.filled == 0 { Next::End } else { self.give(self.filled, true) });
            }
            if self.filled >= self.longest {
                return self.step_over();
            }
            self.fill()?;
        }
    }

    fn drop_given(&mut self) {
        self.buffer.copy_within(self.given..self.filled, 0);
        self.offset += self.given as u64;
        self.filled -= self.given;
        self.given = 0;
        if self.filled <= PIECE && self.buffer.len() > 4 * PIECE {
            self.buffer.truncate(PIECE);
            self.buffer.shrink_to_fit();
        }
    }

    fn give(&mut self, end: usize, open: bool) -> Next<'_> {
        self.given = end;
        Next::Piece(Piece { offset: self.offset, bytes: &self.buffer[..end], open })
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.filled == self.buffer.len() {
            let grown = (self.buffer.len() * 2).min(self.longest);
            self.buffer.reserve_exact(grown - self.buffer.len());
            self.buffer.resize(grown, 0);
        }
        match self.from.read(&mut self.buffer[self.filled..]) {
            Ok(0) => self.ended = true,
            Ok(n) => self.filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// The buffer contains the head of a line that is too long: discards it up to its line end.
    fn step_over(&mut self) -> io::Result<Next<'_>> {
        let start = self.offset;
        loop {
            self.offset += self.filled as u64;
            self.filled = 0;
            self.buffer.truncate(PIECE);
            self.buffer.shrink_to_fit();
            self.fill()?;
            if let Some(end) = memchr(b'\n', &self.buffer[..self.filled]) {
                self.given = end + 1;
                break;
            }
            if self.ended {
                break;
            }
        }
        Ok(Next::TooLong(start, self.position() - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Line = (u64, Vec<u8>, bool);

    fn read(bytes: &[u8], chunk: usize, longest: usize) -> (Vec<Line>, Vec<(u64, u64)>) {
        struct Slow<'a>(&'a [u8], usize);
        impl Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let n = self.1.min(out.len()).min(self.0.len());
                out[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let mut lines = Lines::with_longest(Slow(bytes, chunk), longest);
        let (mut found, mut long) = (Vec::new(), Vec::new());
        loop {
            match lines.read_on().unwrap() {
                Next::End => return (found, long),
                Next::TooLong(at, n) => long.push((at, n)),
                Next::Piece(piece) => {
                    let mut at = 0;
                    while at < piece.bytes.len() {
                        let end = memchr(b'\n', &piece.bytes[at..]).map_or(piece.bytes.len(), |n| at + n + 1);
                        let open = piece.open && end == piece.bytes.len();
                        found.push((piece.offset + at as u64, piece.bytes[at..end].to_vec(), open));
                        at = end;
                    }
                }
            }
        }
    }

    proptest! {
        /// Law: however the operating system splits the reads, the lines and their offsets are the same.
        #[test]
        fn splitting_reads_changes_nothing(lines in prop::collection::vec("[a-z]{0,40}", 0..40), chunk in 1usize..64, tail in "[a-z]{0,9}") {
            let mut bytes = lines.join("\n").into_bytes();
            if !lines.is_empty() { bytes.push(b'\n'); }
            bytes.extend_from_slice(tail.as_bytes());
            let (found, _) = read(&bytes, chunk, LONGEST);
            let joined: Vec<u8> = found.iter().flat_map(|f| f.1.clone()).collect();
            prop_assert_eq!(&joined, &bytes);
            for (at, line, open) in &found {
                prop_assert_eq!(&bytes[*at as usize..*at as usize + line.len()], &line[..]);
                prop_assert_eq!(*open, !line.ends_with(b"\n"));
            }
            prop_assert_eq!(found.len(), lines.len() + usize::from(!tail.is_empty()));
        }
    }

    #[test]
    fn a_line_longer_than_a_piece_is_complete() {
        let mut bytes = vec![b'x'; 3 * PIECE];
        bytes.extend_from_slice(b"\nshort\n");
        let (found, long) = read(&bytes, 1 << 20, LONGEST);
        assert_eq!((found.len(), found[0].1.len(), found[1].0), (2, 3 * PIECE + 1, 3 * PIECE as u64 + 1));
        assert!(long.is_empty());
    }

    #[test]
    fn a_line_beyond_the_limit_is_skipped_and_reported() {
        let mut bytes = b"first\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 5 * PIECE));
        bytes.extend_from_slice(b"\nlast\n");
        let (found, long) = read(&bytes, 100_000, 2 * PIECE);
        assert_eq!(
            found.iter().map(|f| f.1.as_slice()).collect::<Vec<_>>(),
            [b"first\n".as_slice(), b"last\n"]
        );
        assert_eq!(long, [(6, 5 * PIECE as u64 + 1)]);
    }
}
