//! The answer to a question about the code: a model's, where one is configured and may be asked, and the evidence itself otherwise.
//!
//! Does not look for evidence.

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

/// What the model says, or why it says nothing. It is kept before the ledger forgets it: a kill in between costs no second call.
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
    let asked = investigation::ask(&course.case.question, &exhibits);
    let prompt = MaskedPrompt::mask(&masker, asked.system, &asked.text);
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
    let words = (&prompt, &asked.schema, asked.max_tokens);
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

/// Full names of what is shown, by which it may be cited, each with the id of its type.
type Names = BTreeMap<String, String>;

/// What of the evidence is shown to the model: nothing that lies where nothing is sent from, nor a note that says something of it.
fn leaving(
    course: &Course<'_>,
    configured: &Configured,
    evidence: &Evidence,
) -> Result<(Vec<investigation::Exhibit>, Names), Error> {
    let is_off = |path: &str| configured.is_off(path);
    at_root(course.service, &course.case.root, |desk| {
        let (mut exhibits, mut names) = (Vec::new(), Names::new());
        for exhibit in &evidence.exhibits {
            let of = desk.number(&exhibit.symbol.type_id).filter(|of| !notes::stays(desk, *of, &is_off));
            let Some(of) = of else { continue };
            let note = desk.folder().and_then(|folder| notes::read(desk, &folder, of));
            let note = note.filter(|note| note.may_leave(desk, of, &is_off)).and(exhibit.note.clone());
            let open = |file: &str| !is_off(&desk.root().join(file).to_string_lossy());
            exhibits.push(shown(exhibit, note, &open));
            names.extend(evidence::names(desk, of).into_iter().map(|name| (name, desk.id(of))));
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

/// The full name of what a model cites: as it was shown, or by its end if nothing else ends so.
fn there(names: &Names, name: &str) -> Option<String> {
    if names.contains_key(name) {
        return Some(name.to_string());
    }
    let ends = |full: &&String| full.strip_suffix(name).is_some_and(|head| head.ends_with(['.', '+']));
    let mut fit = names.keys().filter(ends);
    fit.next().filter(|_| fit.next().is_none()).cloned()
}

/// An answer, with the symbols it rests on. Beside it the evidence is only named: whoever wants more asks for an outline.
fn found(
    course: &Course<'_>,
    configured: &Configured,
    evidence: &Evidence,
    names: &Names,
    finding: &Finding,
) -> Result<Found, Error> {
    let cites = at_root(course.service, &course.case.root, |desk| {
        let mut cites: Vec<SymbolRef> = Vec::new();
        for name in &finding.cites {
            // Of overloads none is meant more than the others: their type is.
            let symbol = desk.one(name).ok().or_else(|| desk.one(names.get(name)?).ok());
            let told = symbol.map(|symbol| desk.told(symbol));
            cites.extend(told.filter(|told| cites.iter().all(|cited| cited.path != told.path)));
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
