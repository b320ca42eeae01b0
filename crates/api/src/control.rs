//! Output controls: parameters that every view and every tool takes in addition to its own.
//!
//! Does not know the request: the controls apply to the records of any response.

use crate::params::param;
use crate::{Code, Error, Param, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub const JQ_FILTER: Param = param("jq_filter", Shape::Text, "FILTER", "Run a jq filter over the records");
pub const SLURP: Param = param("slurp", Shape::Flag, "", "Pass all records to the jq filter as one array");
pub const STATS_ONLY: Param =
    param("stats_only", Shape::Flag, "", "Print counts and totals instead of the records");
pub const STATS_FIRST: Param =
    param("stats_first", Shape::Flag, "", "Print counts and totals, then `---`, then the records");
pub const INLINE_THRESHOLD: Param = param(
    "inline_threshold_bytes",
    Shape::Count,
    "N",
    "With --hybrid: save results larger than N bytes to a file [default: 8192, or LOCI_INLINE_THRESHOLD]",
);

/// In the order of help.
pub const CONTROL: &[Param] = &[JQ_FILTER, SLURP, STATS_ONLY, STATS_FIRST, INLINE_THRESHOLD];

/// Results up to this size are returned inline.
pub const INLINE: u64 = 8192;
/// The largest inline size an agent may request; clients truncate larger replies.
pub const MOST_INLINE: u64 = 65_536;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    pub jq_filter: Option<String>,
    pub slurp: bool,
    pub stats_only: bool,
    pub stats_first: bool,
    pub inline_threshold_bytes: Option<u64>,
}

impl Control {
    /// Removes the output controls from `params` and parses them.
    pub fn take_from_params(params: &mut Map<String, Value>) -> Result<Control, Error> {
        let given = CONTROL.iter().filter_map(|param| params.shift_remove_entry(param.name));
        let control: Control = serde_json::from_value(Value::Object(given.collect()))
            .map_err(|e| Error::new(Code::InvalidArgument, e.to_string()))?;
        control.check_params()?;
        Ok(control)
    }

    pub fn check_params(&self) -> Result<(), Error> {
        let invalid =
            |message: &str, hint: String| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if self.slurp && self.jq_filter.is_none() {
            return invalid("`slurp` needs a jq filter", "add --jq '<filter>'".into());
        }
        if self.stats_only && self.stats_first {
            return invalid("`stats_only` and `stats_first` cannot be combined", "use one of them".into());
        }
        if self.inline_threshold_bytes.is_some_and(|bytes| bytes > MOST_INLINE) {
            return invalid("`inline_threshold_bytes` is too large", format!("at most {MOST_INLINE}"));
        }
        Ok(())
    }

    /// Whether the records are transformed at all.
    pub fn alters_records(&self) -> bool {
        self.jq_filter.is_some() || self.stats_only || self.stats_first
    }
}
