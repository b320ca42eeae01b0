//! Output controls: parameters that every view and every tool takes in addition to its own.
//!
//! Does not know the request: the controls apply to the records of any response.

use crate::{Code, Error, Param, params};
use api_derive::Params;
use serde_json::{Map, Value};

pub const JQ_FILTER: Param = Param::text("jq_filter", "FILTER", "Run a jq filter over the records");
pub const SLURP: Param = for_programs(Param::flag("slurp", "Pass all records to the jq filter as one array"));
pub const STATS_ONLY: Param =
    for_programs(Param::flag("stats_only", "Print counts and totals instead of the records"));
pub const STATS_FIRST: Param =
    for_programs(Param::flag("stats_first", "Print counts and totals, then `---`, then the records"));
pub const INLINE_THRESHOLD: Param = for_programs(Param::count(
    "inline_threshold_bytes",
    "With --hybrid: save results larger than N bytes to a file [default: 8192, or LOCI_INLINE_THRESHOLD]",
));

const fn for_programs(param: Param) -> Param {
    Param { program: true, ..param }
}

/// Results up to this size are returned inline.
pub const INLINE: u64 = 8192;
/// The largest inline size an agent may request; clients truncate larger replies.
pub const MOST_INLINE: u64 = 65_536;

#[derive(Clone, Debug, PartialEq, Eq, Params)]
pub struct Control {
    #[param(like = JQ_FILTER)]
    pub jq_filter: Option<String>,
    #[param(like = SLURP)]
    pub slurp: bool,
    #[param(like = STATS_ONLY)]
    pub stats_only: bool,
    #[param(like = STATS_FIRST)]
    pub stats_first: bool,
    #[param(like = INLINE_THRESHOLD)]
    pub inline_threshold_bytes: Option<u64>,
}

impl Control {
    /// Removes the output controls from `params` and parses them.
    pub fn take_from_params(params: &mut Map<String, Value>) -> Result<Control, Error> {
        let given =
            Control::PARAMS.iter().filter_map(|param| params.shift_remove_entry(param.name)).collect();
        let mut control = Control::default();
        params::read(&mut control, Control::PARAMS, &given)
            .map_err(|why| Error::new(Code::InvalidArgument, why))?;
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
