//! Token counts of responses. Up to 0.140 Codex writes a running total, again and again; since 0.166 one
//! record per response, and then only those count.
//!
//! Does not know prices, nor which message the tokens belong to.

use crate::json::{self, Cursor};
use record::Tokens;

#[derive(Default)]
pub(super) struct Usage {
    total: Vec<u8>,
    has_records: bool,
}

impl Usage {
    /// The tokens of a new response from a `token_count` event, with the running total after it. An unchanged
    /// total is a repetition.
    pub(super) fn read_token_count(&mut self, info: &[u8]) -> Option<(Tokens, Vec<u8>)> {
        let total = json::get_value(info, b"total_token_usage")?;
        let last = json::get_value(info, b"last_token_usage")?;
        if self.has_records || total == self.total {
            return None;
        }
        self.total = total.to_vec();
        Some((parse_tokens(last), total.to_vec())).filter(|(tokens, _)| !tokens.is_zero())
    }

    /// The tokens of a `token_usage_record`.
    pub(super) fn read_usage_record(&mut self, usage: &[u8]) -> Option<Tokens> {
        self.has_records = true;
        Some(parse_tokens(usage)).filter(|tokens| !tokens.is_zero())
    }
}

/// Codex counts cache reads and writes as part of the input; Loci counts each once.
pub(super) fn parse_tokens(usage: &[u8]) -> Tokens {
    let number = |key: &[u8]| {
        let raw = json::get_value(usage, key)?;
        Cursor::new(raw, 0).read_number().ok().map(|n| n as u32)
    };
    let cache_read = number(b"cached_input_tokens").unwrap_or(0);
    let cache_write = number(b"cache_write_input_tokens").unwrap_or(0);
    Tokens {
        input: number(b"input_tokens").unwrap_or(0).saturating_sub(cache_read).saturating_sub(cache_write),
        output: number(b"output_tokens").unwrap_or(0),
        cache_read,
        cache_write,
        cache_write_1h: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_info(total: u32, last: u32) -> Vec<u8> {
        let usage = |n: u32| format!(r#"{{"input_tokens":{n},"cached_input_tokens":3,"output_tokens":1}}"#);
        format!(r#"{{"total_token_usage":{},"last_token_usage":{}}}"#, usage(total), usage(last)).into_bytes()
    }

    #[test]
    fn a_repeated_total_is_counted_once() {
        let mut usage = Usage::default();
        let counted: Vec<u32> =
            [usage_info(10, 10), usage_info(10, 10), usage_info(25, 15), usage_info(25, 0), usage_info(7, 7)]
                .iter()
                .filter_map(|i| usage.read_token_count(i))
                .map(|(t, _)| t.input + t.cache_read)
                .collect();
        assert_eq!(counted, [10, 15, 7]);
        assert!(usage.read_usage_record(br#"{"input_tokens":5,"output_tokens":1}"#).is_some());
        assert!(usage.read_token_count(&usage_info(99, 9)).is_none());
    }
}
