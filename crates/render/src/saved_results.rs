//! Text of saved results.

use crate::Render;
use crate::format::{count_of, format_size};
use crate::options::RenderOptions;
use api::saved_results::{CleanedUp, RefRead};
use api::terminal_text::append_fmt;

impl Render for RefRead {
    /// The JSON lines unchanged.
    fn render(&self, _: &RenderOptions) -> String {
        let mut out = String::new();
        self.lines.iter().for_each(|line| append_fmt(&mut out, format_args!("{line}\n")));
        if let Some(part) = &self.part {
            append_fmt(&mut out, format_args!("{}\n", part.text));
        }
        if let Some(next) = self.next_offset {
            append_fmt(
                &mut out,
                format_args!(
                    "… {} in total; continue with --offset {next}\n",
                    count_of(self.total_lines, "line")
                ),
            );
        }
        out
    }
}

impl Render for CleanedUp {
    fn render(&self, _: &RenderOptions) -> String {
        let what = if self.dry_run { "would be removed" } else { "removed" };
        let (gone, left) = (count_of(self.removed, "file"), count_of(self.kept, "file"));
        format!(
            "{gone} {what} ({}), {left} left ({})\n",
            format_size(self.bytes),
            format_size(self.kept_bytes)
        )
    }
}
