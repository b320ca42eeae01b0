//! The request of a view: the same parameters on the command line, over MCP and on the socket.

use crate::control::{Control, INLINE_THRESHOLD, JQ_FILTER, SLURP, STATS_FIRST, STATS_ONLY};
use crate::params::{GROUP_WORDS, OFFSET, SINCE, SOURCE, STATUS_WORDS, UNTIL};
use crate::{Code, Error, Param, View, params};
use api_derive::Params;
use serde_json::{Map, Value};

/// The parameters of all views. [`ViewRequest::new`] rejects those that a view does not take.
#[derive(Clone, Debug, PartialEq, Params)]
pub struct ViewRequest {
    /// Only this session, by session ID, ID prefix or subagent ID
    #[param(value = "ID")]
    pub session: Option<String>,
    /// Only sessions of this project, by path, name or git remote [default: the enclosing git repository, or the
    /// current directory]
    #[param(value = "PROJECT")]
    pub project: Option<String>,
    /// Include sessions of all projects
    pub all_projects: bool,
    #[param(like = SOURCE)]
    pub source: Vec<String>,
    #[param(like = SINCE)]
    pub since: Option<String>,
    #[param(like = UNTIL)]
    pub until: Option<String>,
    /// Only records matching this regex; for sessions: the title; for files: the path; for sequences: exact tool names,
    /// as in `Read -> Edit`
    #[param(value = "REGEX")]
    pub pattern: Option<String>,
    /// Only these tools; separate names with commas
    #[param(value = "NAME")]
    pub tool: Vec<String>,
    /// Only success, error, pending or unknown
    #[param(value = "STATUS", spelled = STATUS_WORDS)]
    pub status: Option<String>,
    /// Only this error signature; `loci analyze errors` prints them
    #[param(value = "NAME")]
    pub signature: Option<String>,
    /// Turns to show before and after each error [default: 3]
    pub window: Option<u32>,
    /// Only this file, by path or path suffix
    #[param(value = "PATH")]
    pub file: Option<String>,
    /// Minimum number of occurrences [default: 3 for sequences, 1 for errors, 5 for file-churn]
    pub min_count: Option<u64>,
    /// Minimum length of a gap in minutes [default: 5]
    pub minutes: Option<f64>,
    /// Group results by this field
    #[param(value = "GROUP", spelled = GROUP_WORDS)]
    pub by: Option<String>,
    /// List what was counted and what was not, and by which rule
    pub explain: bool,
    /// List records that could not be read, with their location
    pub problems: bool,
    /// Maximum number of records [default: all]
    pub limit: Option<u64>,
    #[param(like = OFFSET)]
    pub offset: Option<u64>,
    /// Reverse the order: lists by time oldest first
    pub reverse: bool,
    /// Only these fields, in this order, comma-separated
    #[param(value = "NAMES")]
    pub fields: Vec<String>,
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

/// A longer pattern is an attack or a mistake.
const LONGEST_PATTERN: usize = 512;

impl ViewRequest {
    pub fn param_named(name: &str) -> Option<&'static Param> {
        ViewRequest::PARAMS.iter().find(|param| param.name == name)
    }

    /// Validates the parameters of a view: known, accepted by this view, of the right shape, and with existing fields.
    pub fn new(view: &View, params: &Map<String, Value>) -> Result<ViewRequest, Error> {
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
        let mut request = ViewRequest::default();
        params::read(&mut request, ViewRequest::PARAMS, params)
            .map_err(|why| Error::new(Code::InvalidArgument, format!("{}: {why}", view.title())))?;
        request.check_params(view)?;
        Ok(request)
    }

    fn check_params(&self, view: &View) -> Result<(), Error> {
        let invalid =
            |message: String, hint: String| Err(Error::new(Code::InvalidArgument, message).hint(hint));
        params::check(self, ViewRequest::PARAMS, view.example)?;
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
