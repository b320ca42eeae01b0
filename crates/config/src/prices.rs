//! Prices per million tokens, by model, from a dated built-in file. A user's own file overrides it, model by model.
//!
//! Does not know what the tokens were used for.

use crate::env::text_var;
use api::{Code, Error};
use record::Tokens;
use serde::Deserialize;
use sources::Environment;
use std::collections::BTreeMap;
use std::path::PathBuf;

const BUILT_IN: &str = include_str!("../prices.toml");

/// Dollars for a million tokens.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Price {
    input: f64,
    output: f64,
    cache_read: f64,
    #[serde(default)]
    cache_write: f64,
    /// For a one-hour cache instead of five minutes; the same if the provider does not distinguish them.
    cache_write_1h: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "made_on")]
    _made_on: String,
    models: BTreeMap<String, Price>,
}

pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    pub fn load(places: &Environment) -> Result<Prices, Error> {
        let mut prices = parse_prices(BUILT_IN, "the built-in prices")?;
        let named = text_var(places, "LOCI_PRICES").map(PathBuf::from);
        let own = named
            .clone()
            .unwrap_or_else(|| places.xdg_dir("XDG_CONFIG_HOME", ".config").join("loci/prices.toml"));
        match std::fs::read_to_string(&own) {
            Ok(text) => prices.extend(parse_prices(&text, &own.display().to_string())?),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && named.is_none() => {}
            Err(e) => return Err(Error::new(Code::ReadError, format!("{}: {e}", own.display()))),
        }
        Ok(Prices(prices))
    }

    /// None: the price of this model is unknown. A dated release (`claude-sonnet-4-5-20250929`) has the price of its
    /// model line; another line (`gpt-5.5`, `o3-pro`) does not.
    pub fn cost_of(&self, model: &str, t: Tokens) -> Option<f64> {
        let price = self.0.get(model).or_else(|| self.0.get(strip_date(model)))?;
        let hour = f64::from(t.cache_write_1h.min(t.cache_write));
        let five = f64::from(t.cache_write) - hour;
        let sum = f64::from(t.input) * price.input
            + f64::from(t.output) * price.output
            + f64::from(t.cache_read) * price.cache_read
            + five * price.cache_write
            + hour * price.cache_write_1h.unwrap_or(price.cache_write);
        Some(sum / 1e6)
    }
}

/// The name without the date or `latest` at its end.
fn strip_date(model: &str) -> &str {
    let dated = |end: &str| end == "latest" || (end.len() >= 8 && end.bytes().all(|b| b.is_ascii_digit()));
    model.rsplit_once(['-', '@']).filter(|(_, end)| dated(end)).map_or(model, |(line, _)| line)
}

fn parse_prices(text: &str, name: &str) -> Result<BTreeMap<String, Price>, Error> {
    let file: File = toml::from_str(text).map_err(|e| {
        Error::new(Code::InvalidArgument, format!("{name}: {e}"))
            .hint("example of a price file:\nmade_on = \"2026-11-15\"\n[models]\n\"my-model\" = { input = 3.0, output = 15.0, cache_read = 0.3, cache_write = 3.75 }")
    })?;
    Ok(file.models)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_the_price_of_its_line_and_no_other() {
        let prices = Prices(parse_prices(BUILT_IN, "built in").unwrap());
        let million = Tokens { input: 1_000_000, ..Tokens::ZERO };
        assert_eq!(prices.cost_of("claude-sonnet-4-5-20250929", million), Some(3.0));
        assert_eq!(prices.cost_of("claude-3-5-haiku-20241022", million), Some(0.8));
        for unknown in ["a-model-nobody-knows", "gpt-5.5", "gpt-5-20", "o3-pro"] {
            assert_eq!(prices.cost_of(unknown, million), None, "{unknown}");
        }
        let hour = Tokens { cache_write: 1_000_000, cache_write_1h: 400_000, ..Tokens::ZERO };
        assert_eq!(prices.cost_of("claude-sonnet-4-5", hour), Some(0.6 * 3.75 + 0.4 * 6.0));
    }
}
