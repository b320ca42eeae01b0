//! Does nothing, or only reads the first bytes of a file: the cost of starting a process, for comparison in
//! `cargo xtask bench`.

use std::io::Read;

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(length)) = (args.next(), args.next().and_then(|length| length.parse().ok())) else {
        return;
    };
    let read = std::fs::File::open(path).and_then(|file| file.take(length).read_to_end(&mut Vec::new()));
    assert!(read.is_ok_and(|read| read as u64 == length), "the file is too short");
}
