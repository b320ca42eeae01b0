//! What a code base that is known can say: its types one by one, who uses whom, how much of it was understood.
//!
//! Does not look at the tree; whoever asks has brought it up to date.

use super::table::Table;
use super::{PROBLEMS, PROJECTS, Renamed, Store, StoreError, UNREAD};
use crate::graph::Graph;
use crate::hash::Digest;
use crate::id::TypeId;
use crate::project::Project;
use crate::resolve::Edge;
use crate::state::State;
use crate::store::card::Card;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How much there is, and how much of it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub files: u64,
    pub lines: u64,
    /// Files with places that could not be understood.
    pub with_gaps: u64,
    pub types: u64,
    pub edges: u64,
    /// What was not read, and why.
    pub unread: Vec<String>,
}

impl Store {
    pub fn extent(&self) -> Result<Extent, StoreError> {
        let mut table = Table::new(&self.db);
        let unread: BTreeMap<String, String> = table.meta(UNREAD)?.unwrap_or_default();
        let problems: Vec<String> = table.meta(PROBLEMS)?.unwrap_or_default();
        let unread = unread.into_iter().map(|(path, reason)| format!("{path}: {reason}"));
        Ok(Extent {
            files: table.count("select count(*) from files")?,
            lines: table.count("select sum(lines) from files")?,
            with_gaps: table.count("select count(*) from files where gaps")?,
            types: table.count("select count(*) from types")?,
            edges: table.count("select count(*) from edges")?,
            unread: unread.chain(problems).collect(),
        })
    }

    pub fn projects(&self) -> Result<Vec<Project>, StoreError> {
        Ok(Table::new(&self.db).meta(PROJECTS)?.unwrap_or_default())
    }

    pub fn card(&self, id: TypeId) -> Result<Option<Card>, StoreError> {
        Ok(Table::new(&self.db).card(id)?)
    }

    /// Every card, one after another.
    pub fn each_card(&self, take: impl FnMut(Card) -> Result<(), StoreError>) -> Result<(), StoreError> {
        Table::new(&self.db).each_card(take)
    }

    /// Every type with its full name, by id.
    pub fn types(&self) -> Result<Vec<(TypeId, String)>, StoreError> {
        let mut types = Table::new(&self.db).types()?;
        types.sort_unstable();
        Ok(types)
    }

    /// The shortest spelling of an id that no other has.
    pub fn short_id(&self, id: TypeId) -> Result<String, StoreError> {
        let mut near = Table::new(&self.db).neighbours(id)?;
        near.push(id);
        near.sort_unstable();
        Ok(id.short(&near))
    }

    /// The outline as it is read.
    pub fn outline(&self, card: &Card) -> Result<String, StoreError> {
        Ok(card.outline.replacen(&card.id.to_string(), &self.short_id(card.id)?, 1))
    }

    /// Who uses whom, among the types whose ids are given, in their order.
    pub fn graph(&self, ids: &[TypeId]) -> Result<(Graph, Vec<Edge>), StoreError> {
        let edges = Table::new(&self.db).edges(ids)?;
        Ok((Graph::new(ids.len(), &edges), edges))
    }

    pub fn uses(&self, of: TypeId) -> Result<Vec<TypeId>, StoreError> {
        Ok(Table::new(&self.db).uses(of)?)
    }

    /// Those that a type mentions among its bases.
    pub fn bases(&self, of: TypeId) -> Result<Vec<TypeId>, StoreError> {
        Ok(Table::new(&self.db).bases(of)?)
    }

    pub fn users(&self, of: TypeId) -> Result<Vec<TypeId>, StoreError> {
        Ok(Table::new(&self.db).users(of, false)?)
    }

    /// What has happened to a type since it was first seen.
    pub fn state(&self, of: TypeId) -> Result<State, StoreError> {
        Ok(Table::new(&self.db).state(of)?.unwrap_or_default())
    }

    /// Types that have another name now.
    pub fn renamed(&self) -> Result<Vec<Renamed>, StoreError> {
        Ok(Table::new(&self.db).aliases()?)
    }

    /// Everything that follows from the tree alone, in a number: two stores of the same tree have the same.
    pub fn fingerprint(&self) -> Result<Digest, StoreError> {
        let mut told = String::new();
        self.each_card(|card| {
            let _ = writeln!(told, "{card:?}");
            Ok(())
        })?;
        let ids: Vec<TypeId> = self.types()?.into_iter().map(|(id, _)| id).collect();
        let _ = write!(told, "{:?}", self.graph(&ids)?.1);
        Ok(Digest::of(told.as_bytes()))
    }
}
