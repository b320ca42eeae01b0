//! The lines and their offsets do not depend on the sizes of the reads.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sources::lines::{Lines, NextPiece};
use std::io::Read;

/// Longer lines are skipped.
const MAX_LINE: usize = 512 * 1024;

/// Returns at most the given number of bytes per read, cycling through the sizes.
struct ChunkedReader<'a>(&'a [u8], Vec<usize>, usize);

impl Read for ChunkedReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let size = self.1[self.2 % self.1.len()];
        self.2 += 1;
        let n = size.min(out.len()).min(self.0.len());
        out[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

type Line = (u64, Vec<u8>, bool);

/// The lines with offset and whether they are unfinished, and offset and length of the lines that are too long.
fn read_lines(bytes: &[u8], sizes: Vec<usize>) -> (Vec<Line>, Vec<(u64, u64)>) {
    let mut lines = Lines::with_max_line(ChunkedReader(bytes, sizes, 0), MAX_LINE);
    let (mut found, mut too_long) = (Vec::new(), Vec::new());
    loop {
        match lines.next_piece().expect("reading from memory cannot fail") {
            NextPiece::End => return (found, too_long),
            NextPiece::TooLong(at, length) => too_long.push((at, length)),
            NextPiece::Piece(piece) => {
                let mut at = piece.offset;
                for line in piece.bytes.split_inclusive(|b| *b == b'\n') {
                    let open = piece.open && !line.ends_with(b"\n");
                    found.push((at, line.to_vec(), open));
                    at += line.len() as u64;
                }
            }
        }
    }
}

fuzz_target!(|input: (Vec<u8>, Vec<u16>, u8)| {
    let (seed, sizes, times) = input;
    // Repeating a short seed makes lines that are longer than a piece.
    let bytes = seed.repeat(1 + usize::from(times) * 64);
    if bytes.len() > 4 << 20 {
        return;
    }
    let sizes: Vec<usize> = sizes.iter().map(|n| usize::from(*n).max(1)).chain([1 << 20]).collect();
    let (found, too_long) = read_lines(&bytes, sizes);
    let (expected, expected_too_long) = read_lines(&bytes, vec![1 << 30]);
    assert_eq!((&found, &too_long), (&expected, &expected_too_long));
    if too_long.is_empty() {
        assert_eq!(found.iter().flat_map(|line| line.1.clone()).collect::<Vec<u8>>(), bytes);
    }
    for (at, line, open) in &found {
        assert_eq!(&bytes[*at as usize..][..line.len()], &line[..]);
        assert_eq!(*open, !line.ends_with(b"\n"));
    }
});
