//! A fact as it is shared with a team: without evidence, and with a project that others recognise.
//!
//! Does not know the team.

use crate::document;
use api::memory::KeptFact;
use api::search::stamp_to_ms;
use history::projects::Projects;
use history::{History, catalogue_cache};
use memory::{Fact, Kind, Origin, State, fact_id};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Longer texts are no facts.
const MAX_TEXT: usize = 4_000;
const MAX_SYMBOL: usize = 200;
const MAX_SYMBOLS: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SharedFact {
    pub(crate) text: String,
    pub(crate) kind: String,
    pub(crate) origin: String,
    pub(crate) made_at: Option<i64>,
    pub(crate) symbols: BTreeSet<String>,
    pub(crate) project: SharedProject,
}

/// A project without the folder that a person has it in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SharedProject {
    /// The remote of its repository, such as `github.com/ada/shop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remote: Option<String>,
    /// The name of its folder.
    pub(crate) name: String,
}

impl SharedProject {
    pub(crate) fn of(projects: &Projects, folder: &str) -> SharedProject {
        let key = projects.key_of(Path::new(folder));
        let name =
            Path::new(folder).file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        SharedProject { remote: (!key.starts_with('/') && key != folder).then_some(key), name }
    }

    /// The project as others see it.
    pub(crate) fn display(&self) -> String {
        self.remote.clone().unwrap_or_else(|| self.name.clone())
    }

    /// The folder of the same project here: with the same remote, or else with the same name. The name alone, if there is none.
    pub(crate) fn find_folder(&self, history: &History<'_>, projects: &Projects) -> String {
        let by_remote = self.remote.as_deref().map(|remote| projects.find_named(remote)).unwrap_or_default();
        if let Some(folder) = by_remote.iter().find(|folder| folder.is_dir()).or(by_remote.first()) {
            return folder.to_string_lossy().into_owned();
        }
        let named =
            || catalogue_cache::open_catalogue(history)?.newest_project("", &self.name).ok().flatten();
        named().unwrap_or_else(|| self.name.clone())
    }
}

impl SharedFact {
    pub(crate) fn new(fact: &Fact, projects: &Projects) -> SharedFact {
        SharedFact {
            text: fact.text.clone(),
            kind: fact.kind.word().to_string(),
            origin: fact.origin.word().to_string(),
            made_at: stamp_to_ms(fact.made_at),
            symbols: fact.symbols.clone(),
            project: SharedProject::of(projects, &fact.project),
        }
    }

    /// The suggestion that it becomes here; none if it is no fact.
    pub(crate) fn to_suggestion(&self, history: &History<'_>, projects: &Projects) -> Option<Fact> {
        let text = api::terminal_text::one_line(&self.text);
        let project = self.project.find_folder(history, projects);
        if text.trim().is_empty() || text.len() > MAX_TEXT {
            return None;
        }
        let kept = KeptFact {
            id: fact_id(&project, &text),
            text,
            state: State::Review.word().to_string(),
            origin: Origin::from_word(&self.origin).unwrap_or(Origin::Model).word().to_string(),
            symbols: self
                .symbols
                .iter()
                .filter(|name| name.len() <= MAX_SYMBOL)
                .take(MAX_SYMBOLS)
                .cloned()
                .collect(),
            project,
            made_at: self.made_at,
            kind: Kind::from_word(&self.kind).unwrap_or(Kind::Decision).word().to_string(),
            ..KeptFact::default()
        };
        document::import_fact(kept).ok()
    }
}
