//! However the operating system cuts the reads, the lines and their offsets are the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sources::lines::{Lines, NextPiece};
use std::io::Read;

/// Longer than this a line is stepped over.
const LONGEST: usize = 512 * 1024;

/// Gives as many bytes at a time as it is told to, in turn.
struct Cut<'a>(&'a [u8], Vec<usize>, usize);

impl Read for Cut<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let wish = self.1[self.2 % self.1.len()];
        self.2 += 1;
        let n = wish.min(out.len()).min(self.0.len());
        out[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

type Line = (u64, Vec<u8>, bool);

fn cut(bytes: &[u8], sizes: Vec<usize>) -> (Vec<Line>, Vec<(u64, u64)>) {
    let mut lines = Lines::with_max_line(Cut(bytes, sizes, 0), LONGEST);
    let (mut found, mut long) = (Vec::new(), Vec::new());
    loop {
        match lines.next_piece().expect("memory can be read") {
            NextPiece::End => return (found, long),
            NextPiece::TooLong(at, length) => long.push((at, length)),
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
    // A short seed many times over makes lines longer than a piece.
    let bytes = seed.repeat(1 + usize::from(times) * 64);
    if bytes.len() > 4 << 20 {
        return;
    }
    let sizes: Vec<usize> = sizes.iter().map(|n| usize::from(*n).max(1)).chain([1 << 20]).collect();
    let (found, long) = cut(&bytes, sizes);
    let (usual, usually_long) = cut(&bytes, vec![1 << 30]);
    assert_eq!((&found, &long), (&usual, &usually_long));
    if long.is_empty() {
        assert_eq!(found.iter().flat_map(|line| line.1.clone()).collect::<Vec<u8>>(), bytes);
    }
    for (at, line, open) in &found {
        assert_eq!(&bytes[*at as usize..][..line.len()], &line[..]);
        assert_eq!(*open, !line.ends_with(b"\n"));
    }
});
