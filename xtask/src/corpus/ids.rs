//! IDs and timestamps in the format of Claude Code.
//!
//! Does not know what they identify.

use super::rng::Rng;
use std::fmt::Write;

pub(super) const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn draw_uuid(rng: &mut Rng) -> String {
    let (a, b) = (rng.next(), rng.next());
    let mut id = String::with_capacity(36);
    let _ = write!(
        id,
        "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        8 + (b >> 62),
        b >> 48 & 0xfff,
        b & 0xffff_ffff_ffff
    );
    id
}

/// `msg_01…`, `toolu_01…`, `req_011…`: a prefix and twenty-two letters and digits.
pub(super) fn draw_tagged_id(rng: &mut Rng, prefix: &str) -> String {
    let mut id = String::with_capacity(prefix.len() + 22);
    id.push_str(prefix);
    for _ in 0..2 {
        let mut draw = rng.next();
        for _ in 0..11 {
            // The first 62 characters of base64 are the letters and digits.
            id.push(char::from(BASE64[(draw % 62) as usize]));
            draw /= 62;
        }
    }
    id
}

/// Writes milliseconds since 1970 as a timestamp, by the usual civil-from-days arithmetic.
pub(super) fn write_timestamp(ms: u64, out: &mut String) {
    let (days, second) = (ms / 86_400_000 + 719_468, ms / 1000 % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second, ms) = (second / 3600, second / 60 % 60, second % 60, ms % 1000);
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_formatted_in_utc() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
        ] {
            let mut out = String::new();
            write_timestamp(ms, &mut out);
            assert_eq!(out, text);
        }
    }
}
