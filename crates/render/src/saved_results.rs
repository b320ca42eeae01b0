//! Text of saved results.

use crate::Render;
use crate::format::{plural, size};
use crate::options::RenderOptions;
use api::saved_results::{CleanedUp, RefRead};
use api::terminal_text::put;

impl Render for RefRead {
    /// The JSON lines unchanged.
    fn render(&self, _: &RenderOptions) -> String {
        let mut out = String::new();
        self.lines.iter().for_each(|line| put(&mut out, format_args!("{line}\n")));
        if let Some(part) = &self.part {
            put(&mut out, format_args!("{}\n", part.text));
        }
        if let Some(next) = self.next_offset {
            put(
                &mut out,
                format_args!(
                    "… {} in total; continue with --offset {next}\n",
                    plural(self.total_lines, "line")
                ),
            );
        }
        out
    }
}

impl Render for CleanedUp {
    fn render(&self, _: &RenderOptions) -> String {
        let what = if self.dry_run { "would be removed" } else { "removed" };
        let (gone, left) = (plural(self.removed, "file"), plural(self.kept, "file"));
        format!("{gone} {what} ({}), {left} left ({})\n", size(self.bytes), size(self.kept_bytes))
    }
}
