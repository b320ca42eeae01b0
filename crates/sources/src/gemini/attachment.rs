//! Names the attachment in a part of a Gemini message or tool result.
//!
//! Does not read its data.

use crate::conversation::value::{attachment_label, text_field};
use serde_json::Value;

/// None if the part is not an attachment.
pub(super) fn attachment_name(part: &Value) -> Option<String> {
    let data = part.get("inlineData").or_else(|| part.get("fileData"))?;
    Some(attachment_label(text_field(data, "mimeType"), text_field(data, "fileUri")))
}
