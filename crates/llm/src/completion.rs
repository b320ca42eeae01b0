//! One completion: the request as every provider receives it, and the parsed response.
//!
//! Does not know the providers.

use crate::failure::Usage;
use crate::prompt::MaskedPrompt;
use serde_json::Value;

pub(crate) struct CompletionRequest<'q> {
    pub(crate) model: &'q str,
    pub(crate) prompt: &'q MaskedPrompt,
    pub(crate) schema: &'q Value,
    pub(crate) max_tokens: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Completion {
    pub text: String,
    pub usage: Usage,
}
