//! Model calls from the ledger: waiting and parked jobs, and costs.
//!
//! Does not call a model.

use crate::ledger::session_of;
use crate::{Service, ledger, memory_store};
use api::costs::{CostLine, Costs, JobLine, Jobs, MemoryCosts, MemoryJobs, ProviderBackoff, is_session};
use api::search::stamp_to_ms;
use api::{Code, Error, Handle, Request};
use llm::{JobRow, Ledger, Receipt};
use record::Stamp;
use std::collections::{BTreeMap, BTreeSet};

/// Ledger state of an answer that has not been applied yet.
const ANSWERED: &str = "answered";

impl Handle<MemoryJobs> for Service {
    fn handle(&self, request: &MemoryJobs) -> Result<Jobs, Error> {
        request.check_params()?;
        let now = self.clock.now();
        let Some(ledger) = ledger::open_existing(self)? else { return Ok(Jobs::default()) };
        let retried = if request.retry { retry_jobs(self, &ledger, &request.chat_ids, now)? } else { 0 };
        let jobs = matching_jobs(self, &ledger, &request.chat_ids)?;
        let closed = ledger.closed_endpoints(now).map_err(|error| ledger::ledger_error(&error))?;
        Ok(Jobs {
            jobs: jobs.iter().map(|job| job_line(job, now)).collect(),
            closed: closed
                .into_iter()
                .map(|provider| ProviderBackoff {
                    name: provider.name,
                    until: stamp_to_ms(provider.until),
                    class: provider.class,
                    message: provider.message,
                })
                .collect(),
            retried,
        })
    }
}

fn retry_jobs(service: &Service, ledger: &Ledger, ids: &[String], now: Stamp) -> Result<u64, Error> {
    let about: Vec<Option<String>> = match ids {
        [] => vec![None],
        _ => matching_jobs(service, ledger, ids)?.into_iter().map(|job| Some(job.about)).collect(),
    };
    let mut ledger = ledger::open(service)?;
    let mut many = 0;
    for one in &about {
        many += ledger.retry_jobs(one.as_deref(), now).map_err(|error| ledger::ledger_error(&error))? as u64;
    }
    Ok(many)
}

/// The jobs of the named sessions. Each prefix must match at least one job.
fn matching_jobs(service: &Service, ledger: &Ledger, ids: &[String]) -> Result<Vec<JobRow>, Error> {
    let mut jobs = ledger.unfinished_jobs().map_err(|error| ledger::ledger_error(&error))?;
    let kept = applied_answers(service, &jobs)?;
    jobs.retain(|job| !kept.contains(&job.key));
    for id in ids {
        if !jobs.iter().any(|job| session_of(&job.about).1.starts_with(id.trim())) {
            return Err(Error::new(Code::SessionNotFound, format!("no job waits for session `{id}`"))
                .hint("list waiting jobs with `loci memory jobs`"));
        }
    }
    jobs.retain(|job| ids.is_empty() || ids.iter().any(|id| session_of(&job.about).1.starts_with(id.trim())));
    Ok(jobs)
}

/// Keys of answers that memory already contains: the process that stored them was killed before it updated the ledger.
pub(crate) fn applied_answers(service: &Service, jobs: &[JobRow]) -> Result<BTreeSet<String>, Error> {
    if jobs.iter().all(|job| job.state != ANSWERED) {
        return Ok(BTreeSet::new());
    }
    let improved = memory_store::covered_by_model(service)?;
    let is_kept = |job: &&JobRow| {
        let (source, id) = session_of(&job.about);
        job.state == ANSWERED && improved.contains(&(source.to_string(), id.to_string()))
    };
    Ok(jobs.iter().filter(is_kept).map(|job| job.key.clone()).collect())
}

fn job_line(job: &JobRow, now: Stamp) -> JobLine {
    let (source, chat_id) = session_of(&job.about);
    // A job about code is named by its tree, then by its subject.
    let chat_id = if is_session(source) { chat_id } else { session_of(chat_id).1 };
    JobLine {
        chat_id: chat_id.to_string(),
        source: source.to_string(),
        state: if job.state == "open" { "waiting".to_string() } else { job.state.clone() },
        attempts: job.attempts,
        class: job.class.clone(),
        error: job.error.clone(),
        due: (job.state == "open" && job.due > now).then_some(job.due.0),
        changed: stamp_to_ms(job.changed),
    }
}

impl Handle<MemoryCosts> for Service {
    fn handle(&self, request: &MemoryCosts) -> Result<Costs, Error> {
        request.check_params()?;
        // An invalid config is reported when a model is called; it must not hide the costs.
        let tokens_per_day =
            config::model::load_model(&self.places, &self.exe).ok().flatten().map(|it| it.tokens_per_day);
        let Some(ledger) = ledger::open_existing(self)? else {
            return Ok(Costs { tokens_per_day, ..Costs::default() });
        };
        let since = request
            .since
            .as_deref()
            .and_then(|text| self.clock.parse_time(text))
            .unwrap_or(Stamp(i64::MIN + 1));
        let receipts = ledger.receipts_since(since).map_err(|error| ledger::ledger_error(&error))?;
        let by = request.by.as_deref().unwrap_or("day");
        let mut groups: BTreeMap<String, CostLine> = BTreeMap::new();
        let mut total = CostLine::default();
        for receipt in &receipts {
            let group = groups.entry(group_of(receipt, by)).or_default();
            add_receipt(group, receipt);
            add_receipt(&mut total, receipt);
        }
        let mut costs: Vec<CostLine> =
            groups.into_iter().map(|(group, line)| CostLine { group, ..line }).collect();
        if by != "day" {
            costs.sort_by(|a, b| {
                (b.tokens_in + b.tokens_out).cmp(&(a.tokens_in + a.tokens_out)).then(a.group.cmp(&b.group))
            });
        }
        let used_today =
            ledger.tokens_used(self.clock.now()).map_err(|error| ledger::ledger_error(&error))?;
        Ok(Costs { total, costs, used_today, tokens_per_day })
    }
}

fn group_of(receipt: &Receipt, by: &str) -> String {
    match by {
        "model" => format!("{} {}", receipt.provider, receipt.model),
        "session" if receipt.about.is_empty() => "(forgotten)".to_string(),
        "session" => receipt.about.clone(),
        _ => receipt.started.utc_day(),
    }
}

fn add_receipt(line: &mut CostLine, receipt: &Receipt) {
    line.calls += 1;
    line.failed += u64::from(receipt.outcome != "ok");
    line.tokens_in += receipt.tokens_in;
    line.tokens_out += receipt.tokens_out;
    line.bytes_sent += receipt.bytes;
    line.cost += receipt.cost.unwrap_or(0.0);
    line.unpriced += u64::from(receipt.cost.is_none());
}
