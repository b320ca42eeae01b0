//! How much of an answer is wanted and in which form: the parameters that every question and every tool takes besides its
//! own.
//!
//! Does not know what is asked; it is applied to the records of whatever answer.

use crate::params::param;
use crate::{Code, Error, Param, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub const JQ_FILTER: Param = param("jq_filter", Shape::Text, "FILTER", "Run a jq filter over the records");
pub const SLURP: Param =
    param("slurp", Shape::Flag, "", "Give the filter all records as one array, however it begins");
pub const STATS_ONLY: Param =
    param("stats_only", Shape::Flag, "", "Instead of the records, how many there are of each kind");
pub const STATS_FIRST: Param =
    param("stats_first", Shape::Flag, "", "How many there are of each kind, then `---`, then the records");
pub const INLINE_THRESHOLD: Param = param(
    "inline_threshold_bytes",
    Shape::Count,
    "N",
    "With --hybrid: an answer larger than this goes into a file [default: 8192, or LOCI_INLINE_THRESHOLD]",
);

/// In the order help lists them.
pub const CONTROL: &[Param] = &[JQ_FILTER, SLURP, STATS_ONLY, STATS_FIRST, INLINE_THRESHOLD];

/// Up to this size an answer stands in the reply.
pub const INLINE: u64 = 8192;
/// What an agent may ask to have in one reply; beyond it clients cut replies off.
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
    /// Takes these parameters out of the others.
    pub fn take(params: &mut Map<String, Value>) -> Result<Control, Error> {
        let given = CONTROL.iter().filter_map(|param| params.shift_remove_entry(param.name));
        let control: Control = serde_json::from_value(Value::Object(given.collect()))
            .map_err(|e| Error::new(Code::InvalidArgument, e.to_string()))?;
        control.check()?;
        Ok(control)
    }

    pub fn check(&self) -> Result<(), Error> {
        let invalid =
            |message: &str, hint: String| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if self.slurp && self.jq_filter.is_none() {
            return invalid("`slurp` is about a jq filter, and none is given", "add --jq '<filter>'".into());
        }
        if self.stats_only && self.stats_first {
            return invalid(
                "`stats_only` and `stats_first` contradict each other",
                "give one of them".into(),
            );
        }
        if self.inline_threshold_bytes.is_some_and(|bytes| bytes > MOST_INLINE) {
            return invalid(
                "`inline_threshold_bytes` is too large for one reply",
                format!("at most {MOST_INLINE}"),
            );
        }
        Ok(())
    }

    /// Whether the records are wanted otherwise than they are.
    pub fn alters(&self) -> bool {
        self.jq_filter.is_some() || self.stats_only || self.stats_first
    }
}
