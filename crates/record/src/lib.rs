//! The domain types: sessions, messages and tool calls, how times and errors are named, and how one record
//! becomes one line of output.
//!
//! Does not know files, agents' formats, sockets or terminals.

pub mod call;
pub mod cell;
pub mod clock;
pub mod coverage;
pub mod encode;
pub mod message;
pub mod row;
pub mod session;
pub mod signature;
pub mod stamp;

pub use call::{Call, Status};
pub use cell::{Cell, Record};
pub use clock::{Clock, parse_local_time, tz_override};
pub use coverage::{Coverage, Problem, ProblemKind};
pub use message::{Kind, Message, Role, Tokens};
pub use row::{Row, RowKind};
pub use session::{Session, TitleOrigin};
pub use signature::error_signature;
pub use stamp::Stamp;

/// A 64-bit hash of some bytes: two rows with the same key are copies of one event. At ten million keys a
/// false match has odds of about one in 400,000. The catalogue and the archive store keys, so the algorithm
/// is written out here and never changes.
pub fn event_key(domain: u8, parts: &[&[u8]]) -> u64 {
    let start = mix_bits(u64::from(domain).wrapping_mul(MIX_MULTIPLIERS[0]));
    mix_bits(parts.iter().fold(start, |key, part| fold_part(key, part)))
}

const MIX_MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9];

/// Hashes eight bytes at a time. The length closes each part, so that two parts never hash like one.
fn fold_part(mut key: u64, part: &[u8]) -> u64 {
    let mut words = part.chunks_exact(8);
    for word in &mut words {
        let word = word.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        key = (key.rotate_left(23) ^ word).wrapping_mul(MIX_MULTIPLIERS[0]);
    }
    let rest = words.remainder().iter().rev().fold(part.len() as u64, |n, byte| n << 8 | u64::from(*byte));
    mix_bits((key.rotate_left(23) ^ rest).wrapping_mul(MIX_MULTIPLIERS[0]))
}

fn mix_bits(key: u64) -> u64 {
    let key = (key ^ key >> 29).wrapping_mul(MIX_MULTIPLIERS[1]);
    key ^ key >> 32
}
