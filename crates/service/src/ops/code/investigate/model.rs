//! The answer to a question about the code: a model's, where one is configured and may be asked, and the evidence itself otherwise.
//!
//! Does not look for evidence.

use super::super::desk::at_root;
use super::super::notes::harmless::harmless;
use super::super::tree::name_of;
use super::Course;
use super::evidence::Evidence;
use crate::model::Configured;
use crate::{asking, model};
use api::Error;
use api::code::{Exhibit, Found};
use api::spending::INVESTIGATION;
use code::inquiry::{self, Finding};
use llm::{Job, MaskedPrompt, Ran};

/// Who answered.
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

/// The model that may be asked about this tree; none where nobody wants one, and why where it cannot be.
fn allowed(course: &Course<'_>) -> Result<Option<Configured>, String> {
    let configured = model::configured(course.service).map_err(|error| error.to_string())?;
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

/// What the model says, or why it says nothing. It is kept before the ledger forgets it: a kill in between costs no second call.
fn ask(
    course: &mut Course<'_>,
    configured: &Configured,
    evidence: &Evidence,
) -> Result<Result<Found, String>, Error> {
    let service = course.service;
    let masker = asking::masker(service)?;
    let exhibits: Vec<inquiry::Exhibit> = evidence.exhibits.iter().map(shown).collect();
    let asked = inquiry::ask(&course.case.question, &exhibits);
    let prompt = MaskedPrompt::mask(&masker, asked.system, &asked.text);
    let about = format!("{INVESTIGATION} {} {}", name_of(&course.case.root), course.case.id);
    let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
    let Some(_turn) = asking::turn(service)? else {
        return Ok(Err("another run is asking the model".to_string()));
    };
    course.step(format!("asking {} {}", configured.model.provider.name, configured.model.name))?;
    let judge = |text: &str| {
        inquiry::read_finding(&masker.json(text), &|name| there(evidence, name))
            .map_err(|why| why.to_string())
    };
    let mut ledger = model::ledger(service)?;
    let words = (&prompt, &asked.schema, asked.max_tokens);
    let ran = asking::put(service, configured, &mut ledger, &job, words, judge)?;
    Ok(match ran {
        Ran::Answered(finding, _) => {
            if finding.unknown > 0 {
                let many = finding.unknown;
                course.step(format!("{many} of the names that it cites are not there, and were left out"))?;
            }
            let text = harmless(&api::plain::one_line(&finding.text), prompt.text());
            let found = found(course, configured, evidence, &Finding { text, ..finding })?;
            course.done(&found)?;
            ledger.done(&job.key, service.clock.now()).map_err(|error| model::told(&error))?;
            Ok(found)
        }
        Ran::Failed(failure) => Err(failure.message),
        Ran::NotNow(claim) => Err(asking::waits(&claim)),
    })
}

fn shown(exhibit: &Exhibit) -> inquiry::Exhibit {
    let line = |usage: &api::code::Usage| format!("{}:{}: {}", usage.file, usage.line, usage.text);
    inquiry::Exhibit {
        name: exhibit.symbol.path.clone(),
        outline: exhibit.outline.clone(),
        note: exhibit.note.clone().unwrap_or_default(),
        usages: exhibit.usages.iter().map(line).collect(),
    }
}

/// The full name of what a model cites: as it was shown, or by its end if nothing else ends so.
fn there(evidence: &Evidence, name: &str) -> Option<String> {
    if evidence.names.contains(name) {
        return Some(name.to_string());
    }
    let ends = |full: &&String| full.strip_suffix(name).is_some_and(|head| head.ends_with(['.', '+']));
    let mut fit = evidence.names.iter().filter(ends);
    fit.next().filter(|_| fit.next().is_none()).cloned()
}

/// An answer, with the symbols it rests on. Beside it the evidence is only named: whoever wants more asks for an outline.
fn found(
    course: &Course<'_>,
    configured: &Configured,
    evidence: &Evidence,
    finding: &Finding,
) -> Result<Found, Error> {
    let cites = at_root(course.service, &course.case.root, |desk| {
        let symbol = |name: &String| desk.one(name).ok().map(|symbol| desk.told(symbol));
        Ok(finding.cites.iter().filter_map(symbol).collect())
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
