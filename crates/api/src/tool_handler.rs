//! Tool calls of an agent: a tool and its parameters in, an envelope out.
//!
//! Does not know the protocol of the call, nor the engines that implement it.

use crate::envelope::Envelope;
use crate::progress::Progress;
use crate::{Error, Tool};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The context of a tool call, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// The calling session; searches exclude it.
    pub session: Option<String>,
    pub progress: Arc<Progress>,
}

pub trait ToolHandler: Send + Sync {
    fn call(
        &self,
        tool: &'static Tool,
        params: Map<String, Value>,
        context: &CallContext,
    ) -> Result<Envelope, Error>;

    /// Session IDs with this prefix, newest first.
    fn session_ids(&self, prefix: &str) -> Vec<String>;
}
