//! The columns of the lists. A new column is one row of a table here.
//!
//! Does not know where a list is drawn.

use crate::clean_text::clean_line;
use crate::ink::Ink;
use crate::request::{ErrorGroup, UsageLine};
use crate::screens::total_tokens;
use crate::times::{clock_time, day, parse_ms};
use api::memory::MemoryLine;
use api::search::ChatFound;
use api::sessions::SessionLine;
use api::why::WhyStep;
use render::RenderOptions;
use render::format::group_digits;

pub(super) struct Column<T> {
    /// 0 takes the columns that the others leave.
    pub(super) width: u16,
    /// The width of the list from which the column is shown.
    pub(super) from: u16,
    pub(super) right: bool,
    pub(super) ink: fn(&T) -> Ink,
    pub(super) value: fn(&T, &RenderOptions) -> String,
}

const fn column<T>(width: u16, from: u16, value: fn(&T, &RenderOptions) -> String) -> Column<T> {
    Column { width, from, right: false, ink: |_| Ink::Plain, value }
}

const fn dim<T>(width: u16, from: u16, value: fn(&T, &RenderOptions) -> String) -> Column<T> {
    Column { ink: |_| Ink::Dim, ..column(width, from, value) }
}

const fn number<T>(width: u16, from: u16, value: fn(&T, &RenderOptions) -> String) -> Column<T> {
    Column { right: true, ..column(width, from, value) }
}

/// The last part of a path.
fn folder(path: Option<&str>) -> String {
    clean_line(path.and_then(|path| path.rsplit('/').find(|part| !part.is_empty())).unwrap_or_default())
}

pub(super) const SEARCH: &[Column<ChatFound>] = &[
    dim(10, 0, |found, options| day(options.clock, found.time_range.to)),
    dim(11, 60, |found, _| clean_line(&found.source)),
    dim(14, 76, |found, _| folder(found.project.as_deref())),
    column(0, 0, |found, _| clean_line(&found.title)),
    number(4, 46, |found, _| if found.hits > 0 { found.hits.to_string() } else { String::new() }),
];

pub(super) const SESSIONS: &[Column<SessionLine>] = &[
    dim(5, 0, |line, options| clock_time(options.clock, line.time_range.to)),
    dim(11, 46, |line, _| clean_line(&line.source)),
    dim(14, 76, |line, _| folder(line.project.as_deref())),
    column(0, 0, |line, _| clean_line(&line.title)),
    number(5, 56, |line, _| line.turns.to_string()),
    Column {
        ink: |line| if line.errors > 0 { Ink::Bad } else { Ink::Dim },
        ..number(4, 90, |line, _| if line.errors > 0 { format!("✗{}", line.errors) } else { String::new() })
    },
];

pub(super) const MEMORY: &[Column<MemoryLine>] = &[
    column(1, 0, |line, _| if line.pinned { "●".to_string() } else { String::new() }),
    Column {
        ink: |line| if line.state.as_deref() == Some("fresh") { Ink::Good } else { Ink::Warn },
        ..column(10, 50, |line, _| clean_line(line.state.as_deref().unwrap_or("session")))
    },
    dim(10, 70, |line, options| day(options.clock, line.at)),
    dim(12, 90, |line, _| folder(line.project.as_deref())),
    column(0, 0, |line, _| clean_line(&line.text)),
];

pub(super) const ERRORS: &[Column<ErrorGroup>] = &[
    number(6, 0, |group, _| group_digits(group.count)),
    column(12, 0, |group, _| clean_line(&group.tool)),
    number(5, 70, |group, _| group_digits(group.sessions)),
    dim(10, 60, |group, options| day(options.clock, parse_ms(group.last_at.as_deref()))),
    Column { ink: |_| Ink::Bad, ..column(0, 0, |group, _| clean_line(&group.message)) },
];

pub(super) const USAGE: &[Column<UsageLine>] = &[
    column(0, 0, |line, options| clean_line(&options.display_path(line.group()))),
    number(8, 60, |line, _| group_digits(line.messages)),
    number(15, 0, |line, _| group_digits(total_tokens(line))),
    number(12, 0, |line, _| line.money()),
];

pub(super) const WHY: &[Column<WhyStep>] = &[
    dim(10, 0, |step, options| day(options.clock, step.at)),
    dim(11, 60, |step, _| clean_line(step.source.as_deref().unwrap_or(""))),
    Column {
        ink: |step| if step.session_id.is_some() { Ink::Good } else { Ink::Dim },
        ..column(8, 46, |step, _| step.evidence.as_str().to_string())
    },
    number(5, 70, |step, _| step.lines.to_string()),
    column(0, 0, |step, _| {
        let subject = step.commit.as_ref().map_or("", |commit| &commit.subject);
        clean_line(if step.prompt.is_empty() { subject } else { &step.prompt })
    }),
];
