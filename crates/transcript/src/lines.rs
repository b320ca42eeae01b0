//! The lines of a growing file, in pieces of a few hundred kilobytes that end at a line end, with their byte
//! offsets. A line longer than a piece makes the piece grow; one longer than `MAX_LINE` is skipped and
//! reported.
//!
//! Does not know the content of a line.

use memchr::{memchr, memrchr};
use std::io::{self, Read};

/// A piece stays in the L2 cache, which is worth more than fewer system calls.
const PIECE_SIZE: usize = 256 * 1024;
/// The longest line seen in the wild has 12.8 MB. Lines of up to ten times that are read; beyond it the
/// memory bound wins.
pub const MAX_LINE: usize = 160 * 1024 * 1024;

pub struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    filled: usize,
    consumed: usize,
    offset: u64,
    ended: bool,
    max_line: usize,
}

/// A run of complete lines. `open` means that the file ends inside the last one.
pub struct Piece<'a> {
    pub offset: u64,
    pub bytes: &'a [u8],
    pub open: bool,
}

pub enum NextPiece<'a> {
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
        if self.buffer.len() == PIECE_SIZE {
            SPARE.set(std::mem::take(&mut self.buffer));
        }
    }
}

/// From here on, a buffer gets room for the longest line.
const LONG_LINE: usize = 8 * 1024 * 1024;

/// Doubles the buffer, up to `most` bytes. Room that is not written to takes no memory, but moving a line of 100 MB to a larger buffer would take
/// that of both, where the allocator cannot move pages.
pub(crate) fn grow_buffer(buffer: &mut Vec<u8>, most: usize) {
    let grown = (buffer.len() * 2).min(most);
    let room = if grown > LONG_LINE { most } else { grown };
    buffer.reserve_exact(room - buffer.len());
    buffer.resize(grown, 0);
}

impl<R: Read> Lines<R> {
    pub fn new(from: R) -> Lines<R> {
        Lines::with_max_line(from, MAX_LINE)
    }

    pub fn with_max_line(from: R, longest: usize) -> Lines<R> {
        let mut buffer = SPARE.take();
        buffer.resize(PIECE_SIZE, 0);
        Lines { from, buffer, filled: 0, consumed: 0, offset: 0, ended: false, max_line: longest }
    }

    /// Sets the offset of the first byte, if reading starts in the middle of a file.
    #[must_use]
    pub fn starting_at(mut self, offset: u64) -> Lines<R> {
        self.offset = offset;
        self
    }

    /// How far the file has been read.
    pub fn position(&self) -> u64 {
        self.offset + self.consumed as u64
    }

    pub fn next_piece(&mut self) -> io::Result<NextPiece<'_>> {
        self.drop_consumed();
        let mut searched = 0;
        loop {
            if let Some(end) = memrchr(b'\n', &self.buffer[searched..self.filled]) {
                return Ok(self.take_piece(searched + end + 1, false));
            }
            searched = self.filled;
            if self.ended {
                return Ok(if self.filled == 0 {
                    NextPiece::End
                } else {
                    self.take_piece(self.filled, true)
                });
            }
            if self.filled >= self.max_line {
                return self.skip_long_line();
            }
            self.fill_buffer()?;
        }
    }

    fn drop_consumed(&mut self) {
        self.buffer.copy_within(self.consumed..self.filled, 0);
        self.offset += self.consumed as u64;
        self.filled -= self.consumed;
        self.consumed = 0;
        if self.filled <= PIECE_SIZE && self.buffer.len() > 4 * PIECE_SIZE {
            self.buffer.truncate(PIECE_SIZE);
            self.buffer.shrink_to_fit();
        }
    }

    fn take_piece(&mut self, end: usize, open: bool) -> NextPiece<'_> {
        self.consumed = end;
        NextPiece::Piece(Piece { offset: self.offset, bytes: &self.buffer[..end], open })
    }

    fn fill_buffer(&mut self) -> io::Result<()> {
        if self.filled == self.buffer.len() {
            grow_buffer(&mut self.buffer, self.max_line);
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
    fn skip_long_line(&mut self) -> io::Result<NextPiece<'_>> {
        let start = self.offset;
        loop {
            self.offset += self.filled as u64;
            self.filled = 0;
            self.buffer.truncate(PIECE_SIZE);
            self.buffer.shrink_to_fit();
            self.fill_buffer()?;
            if let Some(end) = memchr(b'\n', &self.buffer[..self.filled]) {
                self.consumed = end + 1;
                break;
            }
            if self.ended {
                break;
            }
        }
        Ok(NextPiece::TooLong(start, self.position() - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Line = (u64, Vec<u8>, bool);

    fn read_lines(bytes: &[u8], chunk: usize, longest: usize) -> (Vec<Line>, Vec<(u64, u64)>) {
        struct Slow<'a>(&'a [u8], usize);
        impl Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let n = self.1.min(out.len()).min(self.0.len());
                out[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let mut lines = Lines::with_max_line(Slow(bytes, chunk), longest);
        let (mut found, mut long) = (Vec::new(), Vec::new());
        loop {
            match lines.next_piece().unwrap() {
                NextPiece::End => return (found, long),
                NextPiece::TooLong(at, n) => long.push((at, n)),
                NextPiece::Piece(piece) => {
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
            let (found, _) = read_lines(&bytes, chunk, MAX_LINE);
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
        let mut bytes = vec![b'x'; 3 * PIECE_SIZE];
        bytes.extend_from_slice(b"\nshort\n");
        let (found, long) = read_lines(&bytes, 1 << 20, MAX_LINE);
        assert_eq!(
            (found.len(), found[0].1.len(), found[1].0),
            (2, 3 * PIECE_SIZE + 1, 3 * PIECE_SIZE as u64 + 1)
        );
        assert!(long.is_empty());
    }

    #[test]
    fn a_line_beyond_the_limit_is_skipped_and_reported() {
        let mut bytes = b"first\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 5 * PIECE_SIZE));
        bytes.extend_from_slice(b"\nlast\n");
        let (found, long) = read_lines(&bytes, 100_000, 2 * PIECE_SIZE);
        assert_eq!(
            found.iter().map(|f| f.1.as_slice()).collect::<Vec<_>>(),
            [b"first\n".as_slice(), b"last\n"]
        );
        assert_eq!(long, [(6, 5 * PIECE_SIZE as u64 + 1)]);
    }
}
