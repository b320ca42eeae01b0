//! What a response cost. Up to 0.140 Codex writes a running total, again and again; since 0.166 one record for each
//! response, which is then the only one believed.
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
    /// The cost of a new response told by `token_count`, with the running total it led to. A total that did not
    /// change is an old one said again.
    pub(super) fn count(&mut self, info: &[u8]) -> Option<(Tokens, Vec<u8>)> {
        let total = json::get(info, b"total_token_usage")?;
        let last = json::get(info, b"last_token_usage")?;
        if self.records || total == self.total {
            return None;
        }
        self.total = total.to_vec();
        Some((tokens(last), total.to_vec())).filter(|(tokens, _)| !tokens.is_zero())
    }

    /// The cost told by a `token_usage_record`.
    pub(super) fn record(&mut self, usage: &[u8]) -> Option<Tokens> {
        self.records = true;
        Some(tokens(usage)).filter(|tokens| !tokens.is_zero())
    }
}

/// Codex counts what came from and went to the cache as part of the input; Loci counts each once.
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
    fn a_total_said_again_is_counted_once() {
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
