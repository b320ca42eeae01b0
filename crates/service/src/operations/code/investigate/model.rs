//! Answers a question about the code with a model if one is configured and allowed, and with the evidence otherwise.
//!
//! Does not search for evidence.

use super::super::code_query::at_root;
use super::super::notes;
use super::super::tree::name_of;
use super::Course;
use super::evidence::{self, Evidence};
use crate::model_config::Configured;
use crate::{ledger, model_config, model_run};
use api::Error;
use api::code::{Exhibit, Found, SymbolRef};
use api::costs::INVESTIGATION;
use code::investigation::{self, Finding};
use llm::{Job, MaskedPrompt, Ran, harmless};
use std::collections::BTreeMap;

/// Value of `Found::by` for an answer written by a model.
pub(super) const BY: &str = "model";

pub(super) fn answered(course: &mut Course<'_>, evidence: Evidence) -> Result<Found, Error> {
    let plain = |evidence: Evidence, why: Option<String>| Found {
        by: "evidence".to_string(),
        evidence: evidence.exhibits,
        coverage: evidence.coverage,
        why,
        ..Found::default()
    };
    let configured = match allowed(course) {
        Ok(Some(configured)) if !evidence.exhibits.is_empty() => configured,
        Ok(_) => return Ok(plain(evidence, None)),
        Err(why) => return Ok(plain(evidence, Some(why))),
    };
    match ask(course, &configured, &evidence)? {
        Ok(found) => Ok(found),
        Err(why) => {
            course.step(format!("no model answered: {why}"))?;
            Ok(plain(evidence, Some(why)))
        }
    }
}

/// The model to call for this tree; `None` if none is configured, or the reason why it must not be called.
fn allowed(course: &Course<'_>) -> Result<Option<Configured>, String> {
    let configured = model_config::configured(course.service).map_err(|error| error.to_string())?;
    match configured {
        Some(configured) if configured.is_off(&course.case.root.to_string_lossy()) => {
            Err("nothing of this project is sent (`model.projects_off`)".to_string())
        }
        Some(configured) if !configured.code => {
            Err("the model is not told of source: `code = true` below `[model]` allows it".to_string())
        }
        other => Ok(other),
    }
}

/// Calls the model and returns its answer, or why there is none. The answer is stored before the ledger entry is closed: a
/// kill in between costs no second call.
fn ask(
    course: &mut Course<'_>,
    configured: &Configured,
    evidence: &Evidence,
) -> Result<Result<Found, String>, Error> {
    let service = course.service;
    let masker = model_run::masker(service)?;
    let (exhibits, names) = leaving(course, configured, evidence)?;
    if exhibits.is_empty() {
        return Ok(Err("nothing of what fits is sent (`model.projects_off`)".to_string()));
    }
    let prompt_spec = investigation::ask(&course.case.question, &exhibits);
    let prompt = MaskedPrompt::mask(&masker, prompt_spec.system, &prompt_spec.text);
    let about = format!("{INVESTIGATION} {} {}", name_of(&course.case.root), course.case.id);
    let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
    let Some(_turn) = model_run::turn(service)? else {
        return Ok(Err("another run is asking the model".to_string()));
    };
    course.step(format!("asking {} {}", configured.model.provider.name, configured.model.name))?;
    let judge = |text: &str| {
        investigation::read_finding(&masker.json(text), &|name| there(&names, name))
            .map_err(|why| why.to_string())
    };
    let mut ledger = ledger::open(service)?;
    let words = (&prompt, &prompt_spec.schema, prompt_spec.max_tokens);
    let ran = model_run::put(service, configured, &mut ledger, &job, words, judge)?;
    Ok(match ran {
        Ran::Answered(finding, _) => {
            if finding.unknown > 0 {
                let many = finding.unknown;
                course.step(format!("{many} of the names that it cites are not there, and were left out"))?;
            }
            let text = harmless(&api::terminal_text::one_line(&finding.text), prompt.text());
            let found = found(course, configured, evidence, &names, &Finding { text, ..finding })?;
            if !found.cites.is_empty() {
                course.done(&found)?;
            }
            ledger.done(&job.key, service.clock.now()).map_err(|error| ledger::told(&error))?;
            let proven = Some(found).filter(|found| !found.cites.is_empty());
            proven.ok_or_else(|| "what the answer cites is not there any more".to_string())
        }
        Ran::Failed(failure) => Err(failure.message),
        Ran::NotNow(claim) => Err(model_run::waits(&claim)),
    })
}

/// Full names of the symbols in the prompt, by which the model may cite them, each with its type ID.
type Names = BTreeMap<String, String>;

/// The evidence that may be sent to the model: no types in excluded folders, and no notes that describe such types.
fn leaving(
    course: &Course<'_>,
    configured: &Configured,
    evidence: &Evidence,
) -> Result<(Vec<investigation::Exhibit>, Names), Error> {
    let is_off = |path: &str| configured.is_off(path);
    at_root(course.service, &course.case.root, |query| {
        let (mut exhibits, mut names) = (Vec::new(), Names::new());
        for exhibit in &evidence.exhibits {
            let of = query.number(&exhibit.symbol.type_id).filter(|of| !notes::stays(query, *of, &is_off));
            let Some(of) = of else { continue };
            let note = query.folder().and_then(|folder| notes::read(query, &folder, of));
            let note = note.filter(|note| note.may_leave(query, of, &is_off)).and(exhibit.note.clone());
            let open = |file: &str| !is_off(&query.root().join(file).to_string_lossy());
            exhibits.push(shown(exhibit, note, &open));
            names.extend(evidence::names(query, of).into_iter().map(|name| (name, query.id(of))));
        }
        Ok((exhibits, names))
    })
}

fn shown(exhibit: &Exhibit, note: Option<String>, open: &dyn Fn(&str) -> bool) -> investigation::Exhibit {
    let line = |usage: &api::code::Usage| format!("{}:{}: {}", usage.file, usage.line, usage.text);
    investigation::Exhibit {
        name: exhibit.symbol.path.clone(),
        outline: exhibit.outline.clone(),
        note: note.unwrap_or_default(),
        usages: exhibit.usages.iter().filter(|usage| open(&usage.file)).map(line).collect(),
    }
}

/// Resolves a cited name to a full name: exact, or by a unique suffix.
fn there(names: &Names, name: &str) -> Option<String> {
    if names.contains_key(name) {
        return Some(name.to_string());
    }
    let ends = |full: &&String| full.strip_suffix(name).is_some_and(|head| head.ends_with(['.', '+']));
    let mut fit = names.keys().filter(ends);
    fit.next().filter(|_| fit.next().is_none()).cloned()
}

/// Builds the response with the cited symbols. The evidence is listed by name only; `outline` has the details.
fn found(
    course: &Course<'_>,
    configured: &Configured,
    evidence: &Evidence,
    names: &Names,
    finding: &Finding,
) -> Result<Found, Error> {
    let cites = at_root(course.service, &course.case.root, |query| {
        let mut cites: Vec<SymbolRef> = Vec::new();
        for name in &finding.cites {
            // A citation of overloaded members is ambiguous; cite their type instead.
            let symbol = query.one(name).ok().or_else(|| query.one(names.get(name)?).ok());
            let reference = symbol.map(|symbol| query.told(symbol));
            cites.extend(reference.filter(|new| cites.iter().all(|cited| cited.path != new.path)));
        }
        Ok(cites)
    })?;
    let named = |exhibit: &Exhibit| Exhibit { symbol: exhibit.symbol.clone(), ..Exhibit::default() };
    Ok(Found {
        by: BY.to_string(),
        text: Some(finding.text.clone()),
        cites,
        evidence: evidence.exhibits.iter().map(named).collect(),
        model: Some(format!("{} {}", configured.model.provider.name, configured.model.name)),
        why: None,
        coverage: evidence.coverage.clone(),
    })
}
