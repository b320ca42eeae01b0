//! The request of a view: the same parameters on the command line, over MCP and on the socket.

use crate::control::Control;
use crate::lenient;
use crate::{Code, Error, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The parameters of all views. [`ViewRequest::new`] rejects those that a view does not take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ViewRequest {
    pub session: Option<String>,
    pub project: Option<String>,
    pub all_projects: bool,
    pub source: Vec<String>,
    pub since: Option<String>,
    pub until: Option<String>,
    pub pattern: Option<String>,
    pub tool: Vec<String>,
    pub status: Option<String>,
    pub signature: Option<String>,
    pub window: Option<u32>,
    pub file: Option<String>,
    pub min_count: Option<u64>,
    pub minutes: Option<f64>,
    pub by: Option<String>,
    pub explain: bool,
    pub problems: bool,
    pub limit: Option<u64>,
    pub offset: Option<u64>,
    pub reverse: bool,
    pub fields: Vec<String>,
    pub jq_filter: Option<String>,
    pub slurp: bool,
    pub stats_only: bool,
    pub stats_first: bool,
    pub inline_threshold_bytes: Option<u64>,
}

/// A longer pattern is an attack or a mistake.
const LONGEST_PATTERN: usize = 512;

impl ViewRequest {
    /// Validates the parameters of a view: known, accepted by this view, of the right shape, and with existing fields.
    pub fn new(view: &View, mut params: Map<String, Value>) -> Result<ViewRequest, Error> {
        lenient::normalize(&mut params);
        for name in params.keys() {
            if !view.accepts_param(name) {
                let known = view.params().collect::<Vec<_>>().join(", ");
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!("{}: unknown parameter `{name}`", view.title()),
                )
                .hint(format!("parameters: {known}")));
            }
        }
        let ask: ViewRequest = serde_json::from_value(Value::Object(params))
            .map_err(|e| Error::new(Code::InvalidArgument, format!("{}: {e}", view.title())))?;
        ask.check_params(view)?;
        Ok(ask)
    }

    fn check_params(&self, view: &View) -> Result<(), Error> {
        let invalid =
            |message: String, hint: String| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        if let Some(field) = self.fields.iter().find(|f| !view.fields.contains(&f.as_str())) {
            return invalid(
                format!("{} has no field `{field}`", view.title()),
                format!("fields: {}", view.fields.join(", ")),
            );
        }
        if let Some(status) = &self.status
            && record::Status::from_name(status).is_none()
        {
            return invalid(
                format!("unknown status `{status}`"),
                "one of: success, error, pending, unknown".to_string(),
            );
        }
        if let Some(by) = &self.by
            && !view.by.contains(&by.as_str())
        {
            return invalid(
                format!("{} cannot be grouped by `{by}`", view.title()),
                format!("one of: {}", view.by.join(", ")),
            );
        }
        if self.project.is_some() && self.all_projects {
            return invalid(
                "--project and --all-projects cannot be combined".to_string(),
                "use one of them".to_string(),
            );
        }
        if self.session.as_deref() == Some("") {
            return invalid(
                "--session is empty".to_string(),
                "pass a session ID or a prefix of it".to_string(),
            );
        }
        if self.minutes.is_some_and(|m| !m.is_finite() || m < 0.0) {
            return invalid(
                "--minutes must not be negative".to_string(),
                "for example --minutes 15".to_string(),
            );
        }
        if self.pattern.as_ref().is_some_and(|pattern| pattern.len() > LONGEST_PATTERN) {
            return invalid(
                "the pattern is too long".to_string(),
                format!("at most {LONGEST_PATTERN} bytes"),
            );
        }
        self.output_controls().check_params()
    }

    /// The output controls of this request.
    pub fn output_controls(&self) -> Control {
        Control {
            jq_filter: self.jq_filter.clone(),
            slurp: self.slurp,
            stats_only: self.stats_only,
            stats_first: self.stats_first,
            inline_threshold_bytes: self.inline_threshold_bytes,
        }
    }
}
