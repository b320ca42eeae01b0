//! Text of the responses about synchronisation.
//!
//! Does not know the storage.

use crate::Render;
use crate::format::{count_of, format_size};
use crate::options::{RenderOptions, Style};
use api::sync::{
    SyncDevice, SyncDevices, SyncFinding, SyncJoined, SyncLeft, SyncPreviewed, SyncRound, SyncStatus,
};
use api::terminal_text::{append_fmt, one_line, truncate_width};

impl Render for SyncJoined {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = format!("{} synchronises with {}\n", one_line(&self.label), one_line(&self.url));
        if let Some(phrase) = &self.phrase {
            append_fmt(
                &mut out,
                format_args!(
                    "\nRecovery phrase: {}\n\nKeep it: it is shown once, and whoever has it can read everything in the space.\nOn another device: loci sync join {} -\n",
                    options.paint(Style::Bold, phrase),
                    one_line(&self.url)
                ),
            );
        }
        out + "next: loci sync now\n"
    }
}

impl Render for SyncRound {
    fn render(&self, _: &RenderOptions) -> String {
        let mut out = format!(
            "sent {}, received {}, {} in memory\n",
            count_of(self.sent, "record"),
            count_of(self.transcripts, "transcript"),
            count_of(self.memory, "change")
        );
        let kept = [
            (self.forgotten, "forgotten, as on another device"),
            (self.excluded, "not sent: in an excluded project"),
            (self.withheld, "not sent: newer rules mask something in it"),
            (self.too_large, "not sent: larger than a record may be"),
        ];
        for (count, why) in kept.iter().filter(|(count, _)| *count > 0) {
            append_fmt(&mut out, format_args!("{} {why}\n", count_of(*count, "transcript")));
        }
        for key in self.unreadable.iter().take(5) {
            append_fmt(&mut out, format_args!("cannot be read: {}\n", one_line(key)));
        }
        out + &render_findings(&self.findings)
    }
}

/// The findings that are listed.
const LISTED: usize = 10;

fn render_findings(findings: &[SyncFinding]) -> String {
    let mut out = String::new();
    for finding in findings.iter().take(LISTED) {
        append_fmt(&mut out, format_args!("storage: {} at {}\n", finding.problem, one_line(&finding.object)));
    }
    if findings.len() > LISTED {
        append_fmt(&mut out, format_args!("storage: {} more\n", findings.len() - LISTED));
    }
    out
}

impl Render for SyncPreviewed {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        for one in &self.transcripts {
            append_fmt(
                &mut out,
                format_args!(
                    "{:>9}  {:<12} {}  {}\n",
                    format_size(one.bytes),
                    one_line(&one.source),
                    truncate_width(&one_line(&one.title), 60),
                    options.paint(Style::Dim, &options.display_path(&one_line(&one.project)))
                ),
            );
        }
        append_fmt(
            &mut out,
            format_args!(
                "{} ({}), {} and {} of memory\n",
                count_of(self.total, "transcript"),
                format_size(self.bytes),
                count_of(self.sessions, "session"),
                count_of(self.facts, "fact")
            ),
        );
        if self.pending > 0 {
            let records = count_of(self.pending, "record");
            append_fmt(&mut out, format_args!("{records} of earlier rounds that could not be sent yet\n"));
        }
        if self.excluded > 0 {
            append_fmt(
                &mut out,
                format_args!("{} of excluded projects stay here\n", count_of(self.excluded, "transcript")),
            );
        }
        out
    }
}

impl Render for SyncStatus {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = format!(
            "{} synchronises with {}; {} to send\n",
            one_line(&self.label),
            one_line(&self.url),
            count_of(self.pending, "record")
        );
        out += &render_devices(&self.devices, options);
        if let Some(failure) = &self.failure {
            append_fmt(
                &mut out,
                format_args!("the last round of the daemon failed: {}\n", one_line(failure)),
            );
        }
        for project in &self.excluded {
            append_fmt(&mut out, format_args!("excluded: {}\n", options.display_path(&one_line(project))));
        }
        out + &render_findings(&self.findings)
    }
}

impl Render for SyncDevices {
    fn render(&self, options: &RenderOptions) -> String {
        render_devices(&self.devices, options)
    }
}

fn render_devices(devices: &[SyncDevice], options: &RenderOptions) -> String {
    let mut out = String::new();
    for device in devices {
        let label = if device.label.is_empty() { "(removed)" } else { &device.label };
        let written = device.written_at.map_or("never".to_string(), |at| options.format_when(Some(at)));
        let received =
            format!("{}, {}", count_of(device.sessions, "session"), count_of(device.facts, "fact"));
        let (has, note) = match (device.this, device.confirmed) {
            (true, _) => ("sent", "this device"),
            (false, true) => ("from it", ""),
            (false, false) => ("from it", "has not yet forgotten what you forgot"),
        };
        let transcripts = count_of(device.transcripts, "transcript");
        let counts = if device.this { transcripts } else { format!("{transcripts}, {received}") };
        append_fmt(
            &mut out,
            format_args!(
                "  {:<16} {}  written {written}; {has}: {counts}  {note}\n",
                one_line(label),
                options.paint(Style::Dim, device.device.get(..8).unwrap_or(&device.device)),
            ),
        );
    }
    out
}

impl Render for SyncLeft {
    fn render(&self, _: &RenderOptions) -> String {
        format!("no longer synchronises with {}\n", one_line(&self.url))
    }
}
