//! `about` and `handoff`: what is known of a place before it is changed, and of a session before it is continued.
//!
//! Does not know how edits are matched with code: that is `lineage`.

use super::code::changes::run_git;
use super::code::code_query::{resolve_root, with_root};
use crate::{Service, memory_store};
use api::about::{About, AboutFound, Handoff, HandoffMade, StaleFact, StatedFact};
use api::code::GetOutline;
use api::search::stamp_to_ms;
use api::why::{Why, WhyFound, WhyStep};
use api::{Code, Error, Handle, Request};
use history::{guard, scope};
use lineage::fact_check::{
    FactCheck, SymbolChange, Version, compared_names, mentions_any, read_file_commits,
};
use lineage::former_names::{names_of, renames_of};
use lineage::handoff::{continue_command, sum_up};
use lineage::remarks::find_remarks;
use memory::{Fact, Kind, State};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Facts that are listed.
const MAX_FACTS: usize = 5;

impl Handle<About> for Service {
    fn handle(&self, request: &About) -> Result<AboutFound, Error> {
        request.check_params()?;
        let (target, root) = (request.target.clone(), request.root.clone());
        let why =
            Why { target: target.clone(), budget: request.budget, root: root.clone(), ..Why::default() };
        let found = Handle::<Why>::handle(self, &why)?;
        let file = found.file.clone().unwrap_or_default();
        let outlined = Handle::<GetOutline>::handle(self, &GetOutline { path: target, root });
        let is_known = |step: &WhyStep| step.session_id.is_some();
        let root = resolve_root(self, request.root.as_ref())?;
        let facts = self.facts_about(&root, &found)?;
        let said = find_remarks(&self.history(), &root, &found)?;
        let mut notes = Vec::new();
        let (stale, facts) = self.check_facts(facts, &root, &found, &mut notes)?;
        let (failed, sessions) = found.steps.into_iter().filter(is_known).partition(WhyStep::is_failure);
        Ok(AboutFound {
            facts: facts.iter().map(stated).take(MAX_FACTS).collect(),
            stale: stale.into_iter().take(MAX_FACTS).collect(),
            target: found.target,
            file,
            outline: outlined.map(|outlined| outlined.outline).unwrap_or_default(),
            said,
            sessions,
            failed,
            notes,
        })
    }
}

impl Handle<Handoff> for Service {
    fn handle(&self, request: &Handoff) -> Result<HandoffMade, Error> {
        request.check_params()?;
        let mut made = self.sum_up_session(request.session.trim())?;
        made.command = continue_command(&made, request.to.as_deref());
        // It is made to be the prompt of an agent.
        Ok(guard::defuse_answer(made))
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

    /// The current facts of a project that mention a symbol, by any name it had, or its file.
    fn facts_about(&self, root: &Path, found: &WhyFound) -> Result<Vec<Fact>, Error> {
        let folders = scope::project_folders(&self.history(), root);
        let file = found.file.as_deref().unwrap_or_default();
        let names = if found.target == file { Vec::new() } else { names_of(found) };
        self.current_facts(|fact| {
            folders.iter().any(|folder| Path::new(&fact.project).starts_with(folder))
                && mentions_any(&fact.text, &fact.symbols, file, &names)
        })
    }

    /// Separates the facts under which the code has changed since the session that stated them.
    fn check_facts(
        &self,
        facts: Vec<Fact>,
        root: &Path,
        found: &WhyFound,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<StaleFact>, Vec<Fact>), Error> {
        let git = |args: &[&str], stdin: Vec<u8>| run_git(self, root, args, stdin);
        let Some(file) = found.file.as_deref().filter(|_| !facts.is_empty()) else {
            return Ok((Vec::new(), facts));
        };
        let ends = self.session_ends()?;
        let failures = RefCell::new(notes);
        let compare = |version: &Version| {
            self.file_changes(root, found, version).or_else(|error| {
                failures.borrow_mut().push(format!("facts were not compared with the code: {error}"));
                Ok(Vec::new())
            })
        };
        // A folder without a repository has no commits.
        let commits = read_file_commits(&git, file).unwrap_or_default();
        let mut check = FactCheck::new(commits, &found.landed, &compare);
        let (mut stale, mut holding) = (Vec::new(), Vec::new());
        for fact in facts {
            let sessions: BTreeSet<&str> = fact.evidence.iter().map(|it| it.session_id.as_str()).collect();
            let ended = sessions.iter().filter_map(|session| ends.get(*session)).max();
            let names = compared_names(&fact.text, &fact.symbols, &names_of(found));
            match check.find_change(&names, &sessions, ended.copied().unwrap_or(fact.made_at.0))? {
                Some((change, since)) => stale.push(StaleFact {
                    fact: stated(&fact),
                    symbol: change.symbol,
                    change_class: change.class,
                    since: since.commit,
                }),
                None => holding.push(fact),
            }
        }
        Ok((stale, holding))
    }

    fn file_changes(&self, root: &Path, why: &WhyFound, since: &Version) -> Result<Vec<SymbolChange>, Error> {
        let (file, renames) = (why.file.as_deref().unwrap_or_default(), renames_of(why));
        let git = |args: &[&str], stdin: Vec<u8>| run_git(self, root, args, stdin);
        with_root(self, root, |query| {
            let found = query.store().deep_changes_since(&since.commit, &since.path, file, &renames, &git);
            let found = found.map_err(|error| Error::new(Code::NotFound, error.to_string()))?;
            Ok(found
                .into_iter()
                .map(|change| SymbolChange {
                    symbol: query.mask_text(change.name),
                    class: if change.removed { "Removed" } else { change.class.name() }.to_string(),
                })
                .collect())
        })
    }

    /// When each session in memory ended.
    fn session_ends(&self) -> Result<BTreeMap<String, i64>, Error> {
        let Some(store) = memory_store::open_existing(self)? else { return Ok(BTreeMap::new()) };
        let (sessions, _) = store.load_all().map_err(|error| memory_store::store_error(&error))?;
        Ok(sessions.into_iter().map(|session| (session.session_id, session.ended_at.0)).collect())
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
