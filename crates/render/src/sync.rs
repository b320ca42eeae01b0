//! Text of the responses about synchronisation.
//!
//! Does not know the storage.

use crate::Render;
use crate::format::{count_of, format_size};
use crate::options::{RenderOptions, Style};
use api::sync::{
    SyncAdmitted, SyncChecked, SyncDevice, SyncDevices, SyncFinding, SyncItem, SyncJoined, SyncLeft,
    SyncPreviewed, SyncRekeyed, SyncRound, SyncShared, SyncStatus, SyncTaken,
};
use api::terminal_text::{append_fmt, one_line, short_id, truncate_width};

impl Render for SyncJoined {
    fn render(&self, options: &RenderOptions) -> String {
        let (label, url) = (one_line(&self.label), one_line(&self.url));
        let team = self.team.as_deref().map_or(String::new(), |team| format!(" --team {}", one_line(team)));
        if let Some(request) = &self.request {
            return format!(
                "{label} asks to join\n\nRequest: {request}\n\nGive it to an administrator of the team, who types: loci sync admit REQUEST{team}\n\
                 then, with the invitation: loci sync join {url} INVITATION{team}\n"
            );
        }
        let mut out = format!("{label} synchronises with {url}\n");
        if let Some(warning) = &self.warning {
            append_fmt(&mut out, format_args!("warning: {}\n", one_line(warning)));
        }
        if let Some(phrase) = &self.phrase {
            let phrase = options.paint(Style::Bold, phrase);
            append_fmt(
                &mut out,
                format_args!(
                    "\nRecovery phrase: {phrase}\n\nKeep it: it is shown once, and whoever has it can read everything in the space.\n"
                ),
            );
            let who = if self.team.is_some() { "Others" } else { "On another device" };
            append_fmt(&mut out, format_args!("{who}: loci sync join {url}{team}\n"));
        }
        out + &match self.team {
            Some(_) => format!("next: loci sync share ITEM{team}\n"),
            None => "next: loci sync now\n".to_string(),
        }
    }
}

impl Render for SyncAdmitted {
    fn render(&self, options: &RenderOptions) -> String {
        format!(
            "{} may join {} as {}\n\nInvitation: {}\n\nOn the other device: loci sync join {} INVITATION --team {}\n",
            one_line(&self.label),
            one_line(&self.team),
            one_line(&self.role),
            options.paint(Style::Bold, &self.invitation),
            one_line(&self.url),
            one_line(&self.team),
        )
    }
}

/// The kind, the text and the extent of what is shared.
fn render_items(items: &[SyncItem], options: &RenderOptions) -> String {
    let mut out = String::new();
    for item in items {
        let extent = match item.kind.as_str() {
            "session" => {
                format!("{}, {}", count_of(item.messages, "message"), count_of(item.calls, "tool call"))
            }
            _ => String::new(),
        };
        let device =
            item.device.as_deref().map_or(String::new(), |device| format!("from {}", one_line(device)));
        let id = if item.kind == "session" { short_id(&item.id) } else { one_line(&item.id) };
        let facts = [one_line(&item.kind), device, one_line(&item.project), extent, format_size(item.bytes)];
        append_fmt(
            &mut out,
            format_args!(
                "{id:<14}  {}\n                {}\n",
                options.paint(Style::Bold, &one_line(&item.text)),
                options.join_facts(&facts)
            ),
        );
    }
    out
}

impl Render for SyncShared {
    fn render(&self, options: &RenderOptions) -> String {
        let (items, team) = (render_items(&self.items, options), one_line(&self.team));
        let many = count_of(self.items.len() as u64, "item");
        items
            + &match (self.withdrawn, self.dry_run) {
                (true, _) => format!("{many} withdrawn from {team} with the next `loci sync now`\n"),
                (false, true) => format!("{many} would be shared with {team}\n"),
                (false, false) => format!("{many} shared with {team} with the next `loci sync now`\n"),
            }
    }
}

impl Render for SyncTaken {
    fn render(&self, options: &RenderOptions) -> String {
        let session = std::slice::from_ref(&self.session);
        format!("{}next: loci show {}\n", render_items(session, options), short_id(&self.session.id))
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
        for (count, what, next) in [
            (self.suggested, "fact", "to review: loci memory list --state review"),
            (self.offered, "session", "to take over: loci sync status --team NAME"),
            (self.refused, "record", "ignored: in the name of another member"),
            (self.repaired, "object", "published again: the storage had lost or changed it"),
        ] {
            if count > 0 {
                append_fmt(&mut out, format_args!("{} {next}\n", count_of(count, what)));
            }
        }
        for id in &self.withdrawn {
            append_fmt(
                &mut out,
                format_args!("withdrawn by its author, and still yours: {}\n", one_line(id)),
            );
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
        out += &render_items(&self.items, options);
        if !self.items.is_empty() {
            let many = count_of(self.total, "item");
            append_fmt(&mut out, format_args!("{many} ({}) shared\n", format_size(self.bytes)));
            return out;
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
        for (items, title) in
            [(&self.shared, "shared by you:"), (&self.offered, "loci sync take SESSION takes over:")]
        {
            if !items.is_empty() {
                append_fmt(&mut out, format_args!("{title}\n{}", render_items(items, options)));
            }
        }
        if self.team.is_none() && !self.teams.is_empty() {
            append_fmt(&mut out, format_args!("teams: {}\n", one_line(&self.teams.join(", "))));
        }
        if let Some(failure) = &self.failure {
            append_fmt(&mut out, format_args!("the last round failed: {}\n", one_line(failure)));
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

impl Render for SyncRekeyed {
    fn render(&self, options: &RenderOptions) -> String {
        format!(
            "Recovery phrase: {}\n\nKeep it: it is shown once, and replaces the former one in {}.\n",
            options.paint(Style::Bold, &self.phrase),
            one_line(&self.url)
        )
    }
}

impl Render for SyncChecked {
    fn render(&self, _: &RenderOptions) -> String {
        let mut out = match self.bytes {
            0 => format!("{} looked for\n", count_of(self.objects, "object")),
            bytes => {
                format!("{} looked for, {} read\n", count_of(self.objects, "object"), format_size(bytes))
            }
        };
        if self.repaired > 0 {
            append_fmt(&mut out, format_args!("{} published again\n", count_of(self.repaired, "object")));
        }
        if self.findings.is_empty() {
            out.push_str("nothing is missing or damaged\n");
        }
        out + &render_findings(&self.findings)
    }
}

impl Render for SyncLeft {
    fn render(&self, _: &RenderOptions) -> String {
        let mut out = format!("no longer synchronises with {}\n", one_line(&self.url));
        if let Some(warning) = &self.warning {
            append_fmt(&mut out, format_args!("warning: {}\n", one_line(warning)));
        }
        out
    }
}
