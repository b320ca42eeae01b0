//! Token counts of responses. Up to 0.140 Codex writes a running total, again and again; since 0.166 one
//! record per response, and then only those count.
//!
//! Does not know prices, nor which message the tokens belong to.

use crate::json::{self, Cursor};
use record::Tokens;

#[derive(Default)]
pub(super) struct Usage {
    total: Vec<u8>,
    records: bool,
}

impl Usage {
    /// The tokens of a new response from a `token_count` event, with the running total after it. An unchanged
    /// total is a repetition.
    pub(super) fn count(&mut self, info: &[u8]) -> Option<(Tokens, Vec<u8>)> {
        let total = json::get(info, b"total_token_usage")?;
        let last = json::get(info, b"last_token_usage")?;
        if self.records || total == self.total {
            return None;
        }
        self.total = total.to_vec();
        Some((tokens(last), total.to_vec())).filter(|(tokens, _)| !tokens.is_zero())
    }

    /// The tokens of a `token_usage_record`.
    pub(super) fn record(&mut self, usage: &[u8]) -> Option<Tokens> {
        self.records = true;
        Some(tokens(usage)).filter(|tokens| !tokens.is_zero())
    }
}

/// Codex counts cache reads and writes as part of the input; Loci counts each once.
pub(super) fn tokens(usage: &[u8]) -> Tokens {
    let number = |key: &[u8]| {
        let raw = json::get(usage, key)?;
        Cursor::new(raw, 0).number().ok().map(|n| n as u32)
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

    fn info(total: u32, last: u32) -> Vec<u8> {
        let usage = |n: u32| format!(r#"{{"input_tokens":{n},"cached_input_tokens":3,"output_tokens":1}}"#);
        format!(r#"{{"total_token_usage":{},"last_token_usage":{}}}"#, usage(total), usage(last)).into_bytes()
    }

    #[test]
    fn a_repeated_total_is_counted_once() {
        let mut usage = Usage::default();
        let counted: Vec<u32> = [info(10, 10), info(10, 10), info(25, 15), info(25, 0), info(7, 7)]
            .iter()
            .filter_map(|i| usage.count(i))
            .map(|(t, _)| t.input + t.cache_read)
            .collect();
        assert_eq!(counted, [10, 15, 7]);
        assert!(usage.record(br#"{"input_tokens":5,"output_tokens":1}"#).is_some());
        assert!(usage.count(&info(99, 9)).is_none());
    }
}
