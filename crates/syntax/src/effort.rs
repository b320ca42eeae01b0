//! What reading one file may cost: steps in proportion to its size, and the wish of the caller to go on.
//!
//! Counts what is done instead of time where it can, so that the same file is read, or is not, on every machine.

use crate::thread_clock::ThreadClock;
use std::cell::Cell;
use std::time::Duration;

/// Steps that each file may take, and those it may take for each byte. A step is one node visited or one token looked at. Of nineteen
/// thousand real files, bundled and generated ones among them, none takes a twentieth of this; nor of the other limits.
const STEPS: u64 = 25_000_000;
const STEPS_PER_BYTE: u64 = 60;

/// After this many steps, the caller is asked whether to go on.
const STEPS_BETWEEN_CHECKS: u64 = 1 << 14;

/// Parse actions that each file may take, and those it may take for each byte. Of nine thousand real files, a table of Unicode ranges
/// takes the most, 3.4 for each byte.
const ACTIONS: u64 = 100_000;
const ACTIONS_PER_BYTE: u64 = 35;

/// tree-sitter reports its progress after this many parse actions.
const ACTIONS_PER_REPORT: u64 = 100;

/// The parser is given the text in pieces of this size. What it reads of each more than once, it reads because of a scanner that looks
/// far ahead, such as for the end of a string that has none. Kotlin tests read some pieces forty times.
pub(crate) const PIECE: usize = 512;
const PIECES: u64 = 20_000;
const READS_PER_PIECE: u64 = 200;

/// The CPU time of parsing one file. Where operators stand without operands, error recovery looks at all that it has of an expression
/// with each parse action, which shows in no other count. Of nine thousand real files, the slowest takes a twentieth of this.
const PARSE_TIME: Duration = Duration::from_secs(1);
const PARSE_TIME_PER_BYTE: Duration = Duration::from_micros(6);

/// The budget of one file.
pub(crate) struct EffortLimit<'a> {
    steps: Cell<u64>,
    next_check: Cell<u64>,
    most_steps: u64,
    actions: Cell<u64>,
    most_actions: u64,
    reads: Cell<u64>,
    most_reads: u64,
    most_time: Duration,
    clock: ThreadClock,
    is_wanted: &'a (dyn Fn() -> bool + Sync),
    is_cancelled: Cell<bool>,
}

impl<'a> EffortLimit<'a> {
    pub(crate) fn new(bytes: usize, is_wanted: &'a (dyn Fn() -> bool + Sync)) -> EffortLimit<'a> {
        EffortLimit {
            steps: Cell::new(0),
            next_check: Cell::new(STEPS_BETWEEN_CHECKS),
            most_steps: STEPS + STEPS_PER_BYTE * bytes as u64,
            actions: Cell::new(0),
            most_actions: ACTIONS + ACTIONS_PER_BYTE * bytes as u64,
            reads: Cell::new(0),
            most_reads: PIECES + READS_PER_PIECE * (bytes / PIECE) as u64,
            most_time: PARSE_TIME + PARSE_TIME_PER_BYTE * bytes as u32,
            clock: ThreadClock::start(),
            is_wanted,
            is_cancelled: Cell::new(false),
        }
    }

    /// Takes some steps; returns false if the budget is spent or the caller has cancelled.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        let taken = self.steps.get() + steps as u64;
        self.steps.set(taken);
        if taken >= self.next_check.get() {
            self.next_check.set(taken + STEPS_BETWEEN_CHECKS);
            self.ask_caller();
        }
        taken <= self.most_steps && !self.is_cancelled.get()
    }

    /// Begins to count the actions of one parse: a damaged file is parsed several times.
    pub(crate) fn begin_parse(&self) {
        self.actions.set(0);
        self.reads.set(0);
    }

    /// Counts one report of the parser; returns false if it must stop.
    pub(crate) fn spend_report(&self) -> bool {
        self.actions.set(self.actions.get() + ACTIONS_PER_REPORT);
        self.ask_caller();
        let is_in_time = self.clock.used() <= self.most_time;
        self.actions.get() <= self.most_actions && self.can_read() && is_in_time && !self.is_cancelled.get()
    }

    /// Counts one piece of text that the parser reads; returns false if it gets no more.
    pub(crate) fn spend_read(&self) -> bool {
        self.reads.set(self.reads.get() + 1);
        self.can_read()
    }

    pub(crate) fn can_read(&self) -> bool {
        self.reads.get() <= self.most_reads
    }

    fn ask_caller(&self) {
        if !(self.is_wanted)() {
            self.cancel();
        }
    }

    pub(crate) fn cancel(&self) {
        self.is_cancelled.set(true);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.steps.get() > self.most_steps
    }
}
