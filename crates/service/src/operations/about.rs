//! `about` and `handoff`: what is known of a place before it is changed, and of a session before it is continued.
//!
//! Does not know how edits are matched with code: that is `lineage`.

use super::code::code_query::resolve_root;
use crate::{Service, memory_store};
use api::about::{About, AboutFound, Handoff, HandoffMade, RECEIVERS, StatedFact};
use api::code::GetOutline;
use api::operation::shell_quote;
use api::search::stamp_to_ms;
use api::why::{Why, WhyStep};
use api::{Error, Handle, Request};
use history::scope;
use lineage::handoff::sum_up;
use memory::{Fact, Kind, State};
use std::path::Path;

/// Facts that are listed.
const MAX_FACTS: usize = 5;

impl Handle<About> for Service {
    fn handle(&self, request: &About) -> Result<AboutFound, Error> {
        request.check_params()?;
        let (target, root) = (request.target.clone(), request.root.clone());
        let why = Why { target: target.clone(), budget: request.budget, root: root.clone() };
        let found = Handle::<Why>::handle(self, &why)?;
        let file = found.file.clone().unwrap_or_default();
        let outlined = Handle::<GetOutline>::handle(self, &GetOutline { path: target, root });
        let is_known = |step: &WhyStep| step.session_id.is_some();
        let is_failure = |step: &WhyStep| {
            step.undone || step.outcome.as_ref().is_some_and(|outcome| outcome.status == "error")
        };
        let (failed, sessions) = found.steps.into_iter().filter(is_known).partition(is_failure);
        let root = resolve_root(self, request.root.as_ref())?;
        Ok(AboutFound {
            facts: self.facts_about(&root, &found.target, &file)?,
            target: found.target,
            file,
            outline: outlined.map(|outlined| outlined.outline).unwrap_or_default(),
            sessions,
            failed,
        })
    }
}

impl Handle<Handoff> for Service {
    fn handle(&self, request: &Handoff) -> Result<HandoffMade, Error> {
        request.check_params()?;
        let mut made = self.sum_up_session(request.session.trim())?;
        let prefix = api::terminal_text::short_id(&made.session_id);
        let receiver = RECEIVERS.iter().find(|(name, _)| Some(*name) == request.to.as_deref());
        made.command = match receiver {
            Some((_, start)) if made.project.is_empty() => {
                Some(format!("{start} \"$(loci handoff {prefix})\""))
            }
            Some((_, start)) => {
                Some(format!("cd {} && {start} \"$(loci handoff {prefix})\"", shell_quote(&made.project)))
            }
            None => api::resume_command(&made.source, &made.project, &made.session_id),
        };
        Ok(made)
    }
}

impl Service {
    /// A session with its decisions and open points in memory.
    pub(crate) fn sum_up_session(&self, session: &str) -> Result<HandoffMade, Error> {
        let mut made = sum_up(&self.history(), session)?;
        let facts =
            self.current_facts(|fact| fact.evidence.iter().any(|it| it.session_id == made.session_id))?;
        let of = |kinds: &[Kind]| -> Vec<StatedFact> {
            facts.iter().filter(|fact| kinds.contains(&fact.kind)).map(stated).take(2 * MAX_FACTS).collect()
        };
        made.decisions = of(&[Kind::Decision, Kind::Rule, Kind::Constraint, Kind::Preference]);
        made.open = of(&[Kind::Open]);
        Ok(made)
    }

    /// The current facts of a project that mention a symbol or its file.
    fn facts_about(&self, root: &Path, target: &str, file: &str) -> Result<Vec<StatedFact>, Error> {
        let folders = scope::project_folders(&self.history(), root);
        let symbol = target.split('(').next().unwrap_or(target).rsplit(['.', ':']).next().unwrap_or(target);
        let name =
            Path::new(file).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        // A fact says `flush`, `Store.flush` or `src/store.py`.
        let is_named = |word: &str| {
            let is_end = |name: &str| {
                let above = word.trim_end_matches("()").strip_suffix(name);
                above.is_some_and(|above| above.is_empty() || above.ends_with(['.', ':', '/', '#']))
            };
            is_end(&name) || target != file && is_end(symbol)
        };
        let mentions = |fact: &Fact| {
            let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '#' | '-');
            fact.symbols.iter().any(|symbol| is_named(symbol))
                || fact.text.split(|c| !is_letter(c)).any(|word| is_named(word.trim_end_matches(['.', ':'])))
        };
        let facts = self.current_facts(|fact| {
            folders.iter().any(|folder| Path::new(&fact.project).starts_with(folder)) && mentions(fact)
        })?;
        Ok(facts.iter().map(stated).take(MAX_FACTS).collect())
    }

    /// The facts that still hold, newest first.
    fn current_facts(&self, is_meant: impl Fn(&Fact) -> bool) -> Result<Vec<Fact>, Error> {
        let Some(store) = memory_store::open_existing(self)? else { return Ok(Vec::new()) };
        let (_, mut facts) = store.load_all().map_err(|error| memory_store::store_error(&error))?;
        facts.retain(|fact| fact.state == State::Fresh && fact.superseded_by.is_none() && is_meant(fact));
        facts.sort_by(|a, b| (b.made_at, &a.id).cmp(&(a.made_at, &b.id)));
        Ok(facts)
    }
}

fn stated(fact: &Fact) -> StatedFact {
    let (id, text, kind) = (fact.id.clone(), fact.text.clone(), fact.kind.word().to_string());
    StatedFact { id, text, kind, at: stamp_to_ms(fact.made_at) }
}
