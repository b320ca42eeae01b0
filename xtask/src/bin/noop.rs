//! Does nothing, or nothing but read the first bytes of a file: what starting a process costs, for `cargo xtask bench` to compare
//! with.

use std::io::Read;

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(most)) = (args.next(), args.next().and_then(|most| most.parse().ok())) else {
        return;
    };
    let read = std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut Vec::new()));
    assert!(read.is_ok_and(|read| read as u64 == most), "there is less to read");
}
