//! Answers a question about the code with a model if one is configured and allowed, and with the evidence otherwise.
//!
//! Does not search for evidence.

use super::super::code_query::with_root;
use super::super::notes;
use super::super::tree::tree_name;
use super::InvestigationRun;
use super::evidence::{self, Evidence};
use crate::{ledger, model_run};
use ::notes::finding::{self, Finding};
use api::Error;
use api::code::{Conclusion, EvidenceItem, SymbolRef};
use api::costs::INVESTIGATION;
use config::model::ConfiguredModel;
use llm::{CallOutcome, Job, MaskedPrompt, remove_instructions};
use std::collections::BTreeMap;

/// Value of `SavedFile::by` for an answer written by a model.
pub(super) const BY_MODEL: &str = "model";

pub(super) fn answer_question(
    course: &mut InvestigationRun<'_>,
    evidence: Evidence,
) -> Result<Conclusion, Error> {
    let plain = |evidence: Evidence, why: Option<String>| Conclusion {
        by: "evidence".to_string(),
        evidence: evidence.exhibits,
        coverage: evidence.coverage,
        why,
        ..Conclusion::default()
    };
    let configured = match allowed_model(course) {
        Ok(Some(configured)) if !evidence.exhibits.is_empty() => configured,
        Ok(_) => return Ok(plain(evidence, None)),
        Err(why) => return Ok(plain(evidence, Some(why))),
    };
    match call_model(course, &configured, &evidence)? {
        Ok(found) => Ok(found),
        Err(why) => {
            course.record_step(format!("no answer from the model: {why}"))?;
            Ok(plain(evidence, Some(why)))
        }
    }
}

/// The model to call for this tree; `None` if none is configured, or the reason why it must not be called.
fn allowed_model(course: &InvestigationRun<'_>) -> Result<Option<ConfiguredModel>, String> {
    let configured = config::model::load_model(&course.service.places, &course.service.exe)
        .map_err(|error| error.to_string())?;
    match configured {
        Some(configured) if configured.is_off(&course.case.root.to_string_lossy()) => {
            Err("this project is excluded from model calls (`model.projects_off`)".to_string())
        }
        Some(configured) if !configured.code => {
            Err("sending source code is not allowed; set `code = true` in `[model]` to allow it".to_string())
        }
        other => Ok(other),
    }
}

/// Calls the model and returns its answer, or why there is none. The answer is stored before the ledger entry is closed: a
/// kill in between costs no second call.
fn call_model(
    course: &mut InvestigationRun<'_>,
    configured: &ConfiguredModel,
    evidence: &Evidence,
) -> Result<Result<Conclusion, String>, Error> {
    let service = course.service;
    let masker = model_run::prompt_masker(service)?;
    let (exhibits, names) = sendable_evidence(course, configured, evidence)?;
    if exhibits.is_empty() {
        return Ok(
            Err("all matching types are excluded from model calls (`model.projects_off`)".to_string()),
        );
    }
    let prompt_spec = finding::build_prompt(&course.case.question, &exhibits);
    let prompt = MaskedPrompt::mask(&masker, prompt_spec.system, &prompt_spec.text);
    let about = format!("{INVESTIGATION} {} {}", tree_name(&course.case.root), course.case.id);
    let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
    let Some(_turn) = model_run::try_model_lock(service)? else {
        return Ok(Err("another run is calling the model".to_string()));
    };
    course.record_step(format!("calling {} {}", configured.model.provider.name, configured.model.name))?;
    let judge = |text: &str| {
        finding::parse_finding(&masker.mask_json(text), &|name| resolve_citation(&names, name))
            .map_err(|why| why.to_string())
    };
    let mut ledger = ledger::open(service)?;
    let words = (&prompt, &prompt_spec.schema, prompt_spec.max_tokens);
    let ran = model_run::run_job(service, configured, &mut ledger, &job, words, judge)?;
    Ok(match ran {
        CallOutcome::Answered(finding, _) => {
            if finding.unknown > 0 {
                let many = finding.unknown;
                course.record_step(format!("ignored {many} cited names that do not exist"))?;
            }
            let text = remove_instructions(&api::terminal_text::one_line(&finding.text), prompt.text());
            let found = build_answer(course, configured, evidence, &names, &Finding { text, ..finding })?;
            if !found.cites.is_empty() {
                course.store_answer(&found)?;
            }
            ledger.mark_done(&job.key, service.clock.now()).map_err(|error| ledger::ledger_error(&error))?;
            let proven = Some(found).filter(|found| !found.cites.is_empty());
            proven.ok_or_else(|| "the symbols cited in the answer no longer exist".to_string())
        }
        CallOutcome::Failed(failure) => Err(failure.message),
        CallOutcome::NotCalled(claim) => Err(model_run::skip_reason(&claim)),
    })
}

/// Full names of the symbols in the prompt, by which the model may cite them, each with its type ID.
type CitableNames = BTreeMap<String, String>;

/// The evidence that may be sent to the model: no types in excluded folders, and no notes that describe such types.
fn sendable_evidence(
    course: &InvestigationRun<'_>,
    configured: &ConfiguredModel,
    evidence: &Evidence,
) -> Result<(Vec<finding::Evidence>, CitableNames), Error> {
    let is_off = |path: &str| configured.is_off(path);
    with_root(course.service, &course.case.root, |query| {
        let (mut exhibits, mut names) = (Vec::new(), CitableNames::new());
        for exhibit in &evidence.exhibits {
            let of = query
                .type_by_id(&exhibit.symbol.type_id)
                .filter(|of| !notes::is_excluded(query, *of, &is_off));
            let Some(of) = of else { continue };
            let note = query.folder().and_then(|folder| notes::read_note(query, &folder, of));
            let note = note.filter(|note| note.may_be_sent(query, of, &is_off)).and(exhibit.note.clone());
            let open = |file: &str| !is_off(&query.root().join(file).to_string_lossy());
            exhibits.push(to_prompt_exhibit(exhibit, note, &open));
            names.extend(evidence::symbol_names(query, of).into_iter().map(|name| (name, query.id(of))));
        }
        Ok((exhibits, names))
    })
}

fn to_prompt_exhibit(
    exhibit: &EvidenceItem,
    note: Option<String>,
    open: &dyn Fn(&str) -> bool,
) -> finding::Evidence {
    let line = |usage: &api::code::Usage| format!("{}:{}: {}", usage.file, usage.line, usage.text);
    finding::Evidence {
        name: exhibit.symbol.path.clone(),
        outline: exhibit.outline.clone(),
        note: note.unwrap_or_default(),
        usages: exhibit.usages.iter().filter(|usage| open(&usage.file)).map(line).collect(),
    }
}

/// Resolves a cited name to a full name: exact, or by a unique suffix.
fn resolve_citation(names: &CitableNames, name: &str) -> Option<String> {
    if names.contains_key(name) {
        return Some(name.to_string());
    }
    let ends = |full: &&String| full.strip_suffix(name).is_some_and(|head| head.ends_with(['.', '+']));
    let mut fit = names.keys().filter(ends);
    fit.next().filter(|_| fit.next().is_none()).cloned()
}

/// Builds the response with the cited symbols. The evidence is listed by name only; `outline` has the details.
fn build_answer(
    course: &InvestigationRun<'_>,
    configured: &ConfiguredModel,
    evidence: &Evidence,
    names: &CitableNames,
    finding: &Finding,
) -> Result<Conclusion, Error> {
    let cites = with_root(course.service, &course.case.root, |query| {
        let mut cites: Vec<SymbolRef> = Vec::new();
        for name in &finding.cites {
            // A citation of overloaded members is ambiguous; cite their type instead.
            let symbol =
                query.resolve_symbol(name).ok().or_else(|| query.resolve_symbol(names.get(name)?).ok());
            let reference = symbol.map(|symbol| query.symbol_ref(symbol));
            cites.extend(reference.filter(|new| cites.iter().all(|cited| cited.path != new.path)));
        }
        Ok(cites)
    })?;
    let named =
        |exhibit: &EvidenceItem| EvidenceItem { symbol: exhibit.symbol.clone(), ..EvidenceItem::default() };
    Ok(Conclusion {
        by: BY_MODEL.to_string(),
        text: Some(finding.text.clone()),
        cites,
        evidence: evidence.exhibits.iter().map(named).collect(),
        model: Some(format!("{} {}", configured.model.provider.name, configured.model.name)),
        why: None,
        coverage: evidence.coverage.clone(),
    })
}
