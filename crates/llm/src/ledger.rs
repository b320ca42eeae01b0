//! Accounts of model calls: a receipt per call, written before it is made; a lease, so that one process at a time runs a
//! job; a cap on tokens per day that neither a crash nor a clock change can lift; and per endpoint a time before which it
//! is not called again.
//!
//! Makes no calls and never waits: a job that is not due is reported as such.

use crate::failure::{Failure, FailureClass, Fault, Usage};
use db::durable::OpenError;
use db::sealed::{self, SealedConnection};
use db::{Connection, OptionalExtension, Row, Transaction, params};
use record::Stamp;
use std::path::Path;

const MIGRATIONS: &[&str] = &[include_str!("ledger.sql")];

/// A job is parked after this count attempts.
pub const MAX_ATTEMPTS: u32 = 3;
/// The window of the token cap.
pub const DAY_MS: i64 = 24 * 3600 * 1000;
/// A failed job waits one minute, then four.
const RETRY_DELAY_MS: i64 = 60_000;
/// A failing endpoint is called again after half a minute, then after twice as long each time: five calls in ten minutes.
const FIRST_BACKOFF_MS: i64 = 30_000;
const MAX_BACKOFF_MS: i64 = 15 * 60_000;
/// No provider's limit lasts longer than a week; one day more, because prose states no time zone.
const MAX_CLOSED_MS: i64 = 8 * DAY_MS;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("model call ledger: {0}")]
    Db(#[from] db::Error),
}

impl Error {
    /// Whether the ledger was created by a newer Loci.
    pub fn is_newer(&self) -> bool {
        matches!(self, Error::Open(OpenError::Newer { .. }))
    }
}

pub struct Ledger {
    connection: SealedConnection,
}

/// A job, identified by the fingerprint of its prompt, and its subject.
#[derive(Clone, Debug)]
pub struct Job {
    pub key: String,
    pub about: String,
}

/// What a call needs.
#[derive(Clone, Debug)]
pub struct Reservation<'w> {
    pub endpoint: &'w str,
    pub provider: &'w str,
    pub model: &'w str,
    pub bytes: u64,
    pub tokens: u64,
    pub tokens_per_day: u64,
    /// How long the call may take, in milliseconds.
    pub lease: i64,
}

/// Whether the job may run now.
#[derive(Debug, PartialEq)]
pub enum LeaseResult {
    /// This process holds the lease; contains the ID of the receipt.
    Granted(i64),
    /// It was answered, and the answer has not been stored yet.
    Answered(String),
    Done,
    Parked {
        class: String,
        error: String,
    },
    Leased {
        until: Stamp,
    },
    NotDue {
        until: Stamp,
        error: String,
    },
    EndpointClosed {
        until: Stamp,
        class: String,
        message: String,
    },
    OverBudget {
        used: u64,
        wanted: u64,
        cap: u64,
    },
}

/// A job, for display.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    pub key: String,
    pub about: String,
    pub state: String,
    pub attempts: u32,
    pub due: Stamp,
    pub class: Option<String>,
    pub error: Option<String>,
    pub changed: Stamp,
}

/// A call, for display.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    pub about: String,
    pub provider: String,
    pub model: String,
    pub bytes: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub usage_reported: bool,
    pub cost: Option<f64>,
    pub started: Stamp,
    pub ended: Option<Stamp>,
    pub outcome: String,
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClosedEndpoint {
    pub name: String,
    pub until: Stamp,
    pub class: String,
    pub message: String,
}

impl Ledger {
    pub fn open(path: &Path) -> Result<Ledger, Error> {
        Ok(Ledger { connection: sealed::open_writer(path, MIGRATIONS)? })
    }

    /// Opens an existing ledger to read. `None` if no call was ever made; an error if it was created by a newer Loci or is
    /// damaged: it must not be taken for an empty one.
    pub fn open_existing(path: &Path) -> Result<Option<Ledger>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        match db::durable::try_open_reader(path, MIGRATIONS)? {
            Some(connection) => Ok(Some(Ledger { connection: SealedConnection::unsealed(connection) })),
            // An older one is migrated.
            None => Ledger::open(path).map(Some),
        }
    }

    /// Leases the job to this process and writes its receipt, if nothing prevents it.
    pub fn lease_job(&mut self, job: &Job, want: &Reservation<'_>, now: Stamp) -> Result<LeaseResult, Error> {
        let work = self.connection.transaction()?;
        clamp_future_times(&work, now, want.lease)?;
        // Another prompt for the same session is another job and makes the older one obsolete.
        work.execute(
            "delete from job where about = ?1 and key <> ?2 and lease_until <= ?3",
            params![job.about, job.key, now.0],
        )?;
        let claim = lease_if_due(&work, job, want, now)?;
        work.commit()?;
        Ok(claim)
    }

    /// Records a valid answer, kept until it is stored. Reopens the endpoint.
    pub fn record_answer(
        &mut self,
        (receipt, endpoint): (i64, &str),
        text: &str,
        usage: &Usage,
        cost: Option<f64>,
        now: Stamp,
    ) -> Result<(), Error> {
        let work = self.connection.transaction()?;
        close_receipt(&work, receipt, usage, cost, ("ok", None), now)?;
        work.execute(
            "update job set state = 'answered', answer = ?2, lease_until = 0, class = null, error = null, changed = ?3
             where key = (select key from receipt where id = ?1)",
            params![receipt, text, now.0],
        )?;
        reopen_endpoint(&work, endpoint)?;
        work.commit()?;
        Ok(())
    }

    /// Discards an answer that is no longer valid; the job runs again.
    pub fn reopen_job(&mut self, key: &str, now: Stamp) -> Result<(), Error> {
        self.connection.execute(
            "update job set state = 'open', answer = null, attempts = 0, due = 0, changed = ?2 where key = ?1",
            params![key, now.0],
        )?;
        Ok(())
    }

    /// Records a failed call. A fault of the job costs it an attempt; a fault of the provider closes its endpoint.
    pub fn record_failure(
        &mut self,
        (receipt, endpoint): (i64, &str),
        failure: &Failure,
        cost: Option<f64>,
        now: Stamp,
    ) -> Result<(), Error> {
        let work = self.connection.transaction()?;
        let word = failure.class.word();
        close_receipt(&work, receipt, &failure.usage, cost, (word, Some(&failure.message)), now)?;
        if failure.unsent {
            work.execute("update receipt set bytes = 0 where id = ?1", [receipt])?;
        }
        // Forgetting a session meanwhile has removed its job.
        let attempts: Option<u32> = work
            .query_row(
                "select attempts from job where key = (select key from receipt where id = ?1)",
                [receipt],
                |row| row.get(0),
            )
            .optional()?;
        let attempts = attempts.unwrap_or(0);
        let (attempts, wait) = if failure.fault == Fault::Provider {
            (attempts.saturating_sub(1), 0)
        } else {
            (attempts, retry_delay(attempts))
        };
        let state = if attempts >= MAX_ATTEMPTS { "parked" } else { "open" };
        work.execute(
            "update job set state = ?2, attempts = ?3, due = ?4, lease_until = 0, class = ?5, error = ?6, changed = ?7
             where key = (select key from receipt where id = ?1)",
            params![receipt, state, attempts, now.0 + wait, word, failure.message, now.0],
        )?;
        match (failure.fault, failure.class) {
            (Fault::Provider | Fault::Either, _) => close_endpoint(&work, endpoint, failure, now)?,
            // It responded, so it is reachable.
            (Fault::Job, FailureClass::Poison | FailureClass::Refused) => reopen_endpoint(&work, endpoint)?,
            (Fault::Job, _) => {}
        }
        work.commit()?;
        Ok(())
    }

    /// Records that the answer has been stored.
    pub fn mark_done(&mut self, key: &str, now: Stamp) -> Result<(), Error> {
        self.connection.execute(
            "update job set state = 'done', answer = null, class = null, error = null, lease_until = 0, changed = ?2 where key = ?1",
            params![key, now.0],
        )?;
        Ok(())
    }

    /// Makes parked and waiting jobs due at once; returns their number. `None`: all jobs.
    pub fn retry_jobs(&mut self, about: Option<&str>, now: Stamp) -> Result<usize, Error> {
        let work = self.connection.transaction()?;
        work.execute("delete from door where class in ('auth', 'transient')", [])?;
        let count = work.execute(
            "update job set state = 'open', attempts = 0, due = 0, changed = ?2
             where (state = 'parked' or (state = 'open' and due > ?2)) and (?1 is null or about = ?1)",
            params![about, now.0],
        )?;
        work.commit()?;
        Ok(count)
    }

    /// Deletes jobs and anonymises receipts whose subject is forgotten. Returns the number of deleted jobs.
    pub fn forget_subjects(&mut self, doomed: &dyn Fn(&str) -> bool) -> Result<u64, Error> {
        db::durable::remove_backups(&self.connection)?;
        let work = self.connection.transaction()?;
        let about: Vec<String> = {
            let mut all = work.prepare("select about from job union select about from receipt")?;
            all.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
        };
        let mut count = 0;
        for one in about.iter().filter(|one| doomed(one)) {
            count += work.execute("delete from job where about = ?1", [one])? as u64;
            work.execute("update receipt set about = '', key = '', error = null where about = ?1", [one])?;
        }
        work.commit()?;
        Ok(count)
    }

    /// Jobs that are not done, oldest first.
    pub fn unfinished_jobs(&self) -> Result<Vec<JobRow>, Error> {
        let mut rows = self.connection.prepare(
            "select key, about, state, attempts, due, class, error, changed from job where state <> 'done' order by changed, key",
        )?;
        let one = |row: &Row<'_>| {
            Ok(JobRow {
                key: row.get(0)?,
                about: row.get(1)?,
                state: row.get(2)?,
                attempts: row.get(3)?,
                due: Stamp(row.get(4)?),
                class: row.get(5)?,
                error: row.get(6)?,
                changed: Stamp(row.get(7)?),
            })
        };
        Ok(rows.query_map([], one)?.collect::<Result<_, _>>()?)
    }

    /// Whether a job was answered and its answer stored.
    pub fn is_done(&self, key: &str) -> Result<bool, Error> {
        let state: Option<String> = self
            .connection
            .query_row("select state from job where key = ?1", [key], |row| row.get(0))
            .optional()?;
        Ok(state.as_deref() == Some("done"))
    }

    /// Calls since a time, oldest first.
    pub fn receipts_since(&self, since: Stamp) -> Result<Vec<Receipt>, Error> {
        let mut rows = self.connection.prepare(
            "select about, provider, model, bytes, coalesce(tokens_in, reserved), coalesce(tokens_out, 0), told, cost, started,
             ended, outcome, error from receipt where started >= ?1 order by id",
        )?;
        let one = |row: &Row<'_>| {
            Ok(Receipt {
                about: row.get(0)?,
                provider: row.get(1)?,
                model: row.get(2)?,
                bytes: row.get::<_, i64>(3)? as u64,
                tokens_in: row.get::<_, i64>(4)? as u64,
                tokens_out: row.get::<_, i64>(5)? as u64,
                usage_reported: row.get(6)?,
                cost: row.get(7)?,
                started: Stamp(row.get(8)?),
                ended: row.get::<_, Option<i64>>(9)?.map(Stamp),
                outcome: row.get(10)?,
                error: row.get(11)?,
            })
        };
        Ok(rows.query_map([since.0], one)?.collect::<Result<_, _>>()?)
    }

    /// Endpoints that must not be called yet.
    pub fn closed_endpoints(&self, now: Stamp) -> Result<Vec<ClosedEndpoint>, Error> {
        let mut rows = self.connection.prepare(
            "select name, closed_until, class, message from door where closed_until > ?1 order by name",
        )?;
        let one = |row: &Row<'_>| {
            Ok(ClosedEndpoint {
                name: row.get(0)?,
                until: Stamp(row.get(1)?),
                class: row.get(2)?,
                message: row.get(3)?,
            })
        };
        Ok(rows.query_map([now.0], one)?.collect::<Result<_, _>>()?)
    }

    /// Tokens used within the last day, including reserved ones.
    pub fn tokens_used(&self, now: Stamp) -> Result<u64, Error> {
        Ok(sum_used_tokens(&self.connection, now)?)
    }
}

/// Clamps times in the future to now: setting the clock back must neither lift the cap nor block jobs for years.
fn clamp_future_times(work: &Transaction<'_>, now: Stamp, lease: i64) -> Result<(), db::Error> {
    work.execute("update receipt set counted = ?1 where counted > ?1", [now.0])?;
    work.execute("update job set due = ?1 where due > ?1 + ?2", [now.0, retry_delay(MAX_ATTEMPTS)])?;
    work.execute("update job set lease_until = ?1 + ?2 where lease_until > ?1 + ?2", [now.0, lease])?;
    work.execute(
        "update door set closed_until = ?1 + ?2 where closed_until > ?1 + ?2",
        [now.0, MAX_CLOSED_MS],
    )?;
    Ok(())
}

fn sum_used_tokens(connection: &Connection, now: Stamp) -> Result<u64, db::Error> {
    let sum = "select coalesce(sum(case when told then tokens_in + tokens_out else reserved end), 0) from receipt where counted > ?1";
    connection.query_row(sum, [now.0 - DAY_MS], |row| row.get::<_, i64>(0)).map(|sum| sum as u64)
}

type JobState = (String, u32, i64, i64, Option<String>, Option<String>, Option<String>);

fn lease_if_due(
    work: &Transaction<'_>,
    job: &Job,
    want: &Reservation<'_>,
    now: Stamp,
) -> Result<LeaseResult, db::Error> {
    work.execute(
        "insert into job(key, about, changed) values (?1, ?2, ?3) on conflict do nothing",
        params![job.key, job.about, now.0],
    )?;
    let (state, attempts, due, lease, class, error, answer): JobState = work.query_row(
        "select state, attempts, due, lease_until, class, error, answer from job where key = ?1",
        [&job.key],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?)),
    )?;
    let parked = |class: Option<String>, error: Option<String>| LeaseResult::Parked {
        class: class.unwrap_or_default(),
        error: error.unwrap_or_default(),
    };
    match state.as_str() {
        "done" => return Ok(LeaseResult::Done),
        "answered" => return Ok(LeaseResult::Answered(answer.unwrap_or_default())),
        "parked" => return Ok(parked(class, error)),
        _ if lease > now.0 => return Ok(LeaseResult::Leased { until: Stamp(lease) }),
        _ if lease > 0 => mark_lost(work, &job.key, now)?,
        _ => {}
    }
    // The process running it died each time.
    if attempts >= MAX_ATTEMPTS {
        return park_lost(work, &job.key, now);
    }
    if due > now.0 {
        return Ok(LeaseResult::NotDue { until: Stamp(due), error: error.unwrap_or_default() });
    }
    if let Some(closed) = find_closed_endpoint(work, want, now)? {
        return Ok(closed);
    }
    let used = sum_used_tokens(work, now)?;
    if used + want.tokens > want.tokens_per_day {
        return Ok(LeaseResult::OverBudget { used, wanted: want.tokens, cap: want.tokens_per_day });
    }
    grant_lease(work, job, want, now).map(LeaseResult::Granted)
}

fn grant_lease(
    work: &Transaction<'_>,
    job: &Job,
    want: &Reservation<'_>,
    now: Stamp,
) -> Result<i64, db::Error> {
    work.execute(
        "update job set attempts = attempts + 1, lease_until = ?2, changed = ?3 where key = ?1",
        params![job.key, now.0 + want.lease, now.0],
    )?;
    // This call probes an endpoint that failed: others wait for its result.
    work.execute(
        "update door set closed_until = ?2 where name = ?1",
        params![want.endpoint, now.0 + want.lease],
    )?;
    work.execute(
        "insert into receipt(key, about, provider, model, bytes, reserved, started, counted) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
        params![job.key, job.about, want.provider, want.model, want.bytes as i64, want.tokens as i64, now.0],
    )?;
    Ok(work.last_insert_rowid())
}

/// The lease expired without a result.
fn mark_lost(work: &Transaction<'_>, key: &str, now: Stamp) -> Result<(), db::Error> {
    work.execute(
        "update receipt set outcome = 'lost', ended = ?2 where key = ?1 and outcome = 'under_way'",
        params![key, now.0],
    )?;
    work.execute("update job set lease_until = 0 where key = ?1", [key])?;
    Ok(())
}

fn park_lost(work: &Transaction<'_>, key: &str, now: Stamp) -> Result<LeaseResult, db::Error> {
    let (class, error) = (FailureClass::Poison.word(), "loci was interrupted during every attempt");
    work.execute(
        "update job set state = 'parked', class = ?2, error = ?3, changed = ?4 where key = ?1",
        params![key, class, error, now.0],
    )?;
    Ok(LeaseResult::Parked { class: class.to_string(), error: error.to_string() })
}

fn find_closed_endpoint(
    work: &Transaction<'_>,
    want: &Reservation<'_>,
    now: Stamp,
) -> Result<Option<LeaseResult>, db::Error> {
    work.query_row(
        "select closed_until, class, message from door where name = ?1 and closed_until > ?2",
        params![want.endpoint, now.0],
        |row| {
            Ok(LeaseResult::EndpointClosed {
                until: Stamp(row.get(0)?),
                class: row.get(1)?,
                message: row.get(2)?,
            })
        },
    )
    .optional()
}

fn close_receipt(
    work: &Transaction<'_>,
    receipt: i64,
    usage: &Usage,
    cost: Option<f64>,
    (outcome, error): (&str, Option<&str>),
    now: Stamp,
) -> Result<(), db::Error> {
    let reported = |n: u64| usage.reported.then_some(n as i64);
    work.execute(
        "update receipt set tokens_in = ?2, tokens_out = ?3, told = ?4, cost = ?5, ended = ?6, outcome = ?7, error = ?8 where id = ?1",
        params![receipt, reported(usage.tokens_in), reported(usage.tokens_out), usage.reported, cost, now.0, outcome, error],
    )?;
    Ok(())
}

fn close_endpoint(
    work: &Transaction<'_>,
    endpoint: &str,
    failure: &Failure,
    now: Stamp,
) -> Result<(), db::Error> {
    let before: u32 = work
        .query_row("select failures from door where name = ?1", [endpoint], |row| row.get(0))
        .optional()?
        .unwrap_or(0);
    let rest = (FIRST_BACKOFF_MS << before.min(16)).min(MAX_BACKOFF_MS);
    let until = failure.until.map_or(now.0 + rest, |until| until.0.max(now.0)).min(now.0 + MAX_CLOSED_MS);
    work.execute(
        "insert into door values (?1, ?2, ?3, ?4, ?5) on conflict(name) do update set
         failures = excluded.failures, closed_until = excluded.closed_until, class = excluded.class, message = excluded.message",
        params![endpoint, before + 1, until, failure.class.word(), failure.message],
    )?;
    Ok(())
}

fn reopen_endpoint(work: &Transaction<'_>, endpoint: &str) -> Result<(), db::Error> {
    work.execute("delete from door where name = ?1", [endpoint]).map(|_| ())
}

fn retry_delay(attempts: u32) -> i64 {
    RETRY_DELAY_MS << (2 * attempts.saturating_sub(1)).min(8)
}
