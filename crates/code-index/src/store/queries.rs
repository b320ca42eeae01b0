//! Queries on an index: types, dependencies, usages and parse coverage.
//!
//! Does not look at the tree; the caller has refreshed the index.

use super::exact_usages::join_exact_usages;
use super::folders::FileFilter;
use super::partial::join_partial;
use super::table::{SCHEMA_VERSION, Table};
use super::usage_site::{UsageSite, UsageSites, keep_best_sites, usage_site};
use super::{EXTENT, PROBLEMS, PROJECTS, RenamedType, Store, StoreError, UNREAD, delta};
use crate::creation::is_creation;
use code::Outliner;
use code::scip::{Declaration, IndexPlaces, has_index};
use code::{ATTRIBUTE_SUFFIX, Codebase};
use code::{Certainty, Edge, ResolvedReference, Resolver};
use code::{MemberSummary, TypeSummary};
use code::{TypeNames, last_word};
use code::{Usage, UsageFinder};
use project::Project;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;
use syntax::{Digest, FileFacts, MemberKind, Position, Reference, TypeId, TypeKind};

/// The size of a codebase, and how much of it was parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    pub files: u64,
    pub lines: u64,
    /// Files with unparsable places, and the number of such places.
    pub with_gaps: u64,
    pub gaps: u64,
    /// Files without declarations because a condition such as `#if` leaves them out.
    pub inactive: u64,
    /// Files outside of any manifest count as one project.
    pub projects: u64,
    pub types: u64,
    pub edges: u64,
    /// Files that were not read, and why.
    pub unread: Vec<String>,
}

fn type_number(code: &Codebase, of: &TypeSummary) -> Option<u32> {
    code.types.iter().position(|each| each.id == of.id).map(|at| at as u32)
}

/// File, part and index of a member's first declaration.
fn find_declaration(code: &Codebase, of: &TypeSummary, member: &MemberSummary) -> Option<(u32, u32, u32)> {
    let each = code.types.iter().find(|each| each.id == of.id)?;
    each.parts.iter().find_map(|(file, part)| {
        let members = &code.part((*file, *part)).members;
        let at = members.iter().position(|it| (it.kind, &it.key) == (member.kind, &member.key))?;
        Some((*file, *part, at as u32))
    })
}

/// The usages of a type in loaded files; `words` are its name and those that imports give it.
pub(super) fn sites_of_type(
    code: &Codebase,
    resolver: &Resolver<'_>,
    of: &TypeSummary,
    words: &[String],
) -> Vec<UsageSite> {
    let mut found = Vec::new();
    let Some(number) = type_number(code, of) else { return found };
    let names: Vec<u32> = words.iter().filter_map(|word| code.tables.name_id(word)).collect();
    let finder = UsageFinder::new(code, resolver);
    // in TypeScript, a value may have the name of a type without values of its own
    let is_erased = matches!(of.kind, TypeKind::Alias | TypeKind::Interface);
    let names_a_value = is_erased && finder.has_value_named_as(number);
    for (at, file) in code.files.iter().enumerate() {
        let is_value = |it: &Reference| {
            names_a_value && matches!(it.position, Position::Value | Position::Called | Position::Bare)
        };
        let references = file.facts.references.iter().filter(|it| !is_value(it));
        for reference in references.filter(|it| contains_word(&file.facts, it, words)) {
            let mentions = resolver.resolve_reference(at as u32, reference);
            let fits = |mention: &&ResolvedReference| mention.to == number;
            let certainty = mentions.iter().find(fits).map(|mention| mention.certainty);
            let range = (reference.at, reference.name_end);
            found.extend(certainty.map(|certainty| usage_site(file, range, certainty)));
        }
        let imports = finder.imports_of_type(at as u32, number, &names);
        found.extend(imports.into_iter().map(|at| usage_site(file, at, Certainty::Certain)));
        let textual = finder.textual_mentions(at as u32, number, &names);
        found.extend(textual.into_iter().map(|at| usage_site(file, at, Certainty::Possible)));
    }
    found
}

/// The usages of a member in loaded files.
pub(super) fn sites_of_member(
    code: &Codebase,
    resolver: &Resolver<'_>,
    (of, member): (&TypeSummary, &MemberSummary),
    names: &[String],
) -> Vec<UsageSite> {
    let Some(at) = find_declaration(code, of, member) else { return Vec::new() };
    let usages = UsageFinder::new(code, resolver).usages_under(at, names);
    let to_site =
        |usage: &Usage| usage_site(&code.files[usage.file as usize], (usage.at, usage.end), usage.certainty);
    usages.iter().map(to_site).collect()
}

/// Which usages are asked for.
pub struct SiteFilter<'a> {
    pub least: Certainty,
    pub files: FileFilter<'a>,
}

impl SiteFilter<'_> {
    pub fn accepts(&self, site: &UsageSite) -> bool {
        site.certainty <= self.least && self.files.accepts(&site.file)
    }
}

/// The last place in a range of a text where one of the names is a whole word.
fn find_word(text: &str, (from, to): (u32, u32), names: &[String]) -> Option<(u32, u32)> {
    let range = text.get(from as usize..to as usize)?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: usize, name: &str| {
        !range[..at].ends_with(is_word) && !range[at + name.len()..].starts_with(is_word)
    };
    let places = names.iter().flat_map(|name| range.match_indices(name.as_str()));
    let last = places.filter(|(at, name)| whole(*at, name)).max_by_key(|(at, name)| (*at, name.len()))?;
    Some((from + last.0 as u32, from + (last.0 + last.1.len()) as u32))
}

/// Whether a reference contains one of these words.
fn contains_word(facts: &FileFacts, reference: &Reference, words: &[String]) -> bool {
    let segments = &facts.reference_path(reference).segments;
    segments.iter().any(|segment| words.iter().any(|word| word == facts.word_text(segment.word)))
}

/// Computes the extent of the codebase.
pub(super) fn compute_extent(table: &mut Table<'_>) -> Result<Extent, StoreError> {
    let unread: BTreeMap<String, String> = table.get_meta(UNREAD)?.unwrap_or_default();
    let problems: Vec<String> = table.get_meta(PROBLEMS)?.unwrap_or_default();
    let unread = unread.into_iter().map(|(path, reason)| format!("{path}: {reason}"));
    Ok(Extent {
        files: table.query_count("select count(*) from files")?,
        lines: table.query_count("select sum(lines) from files")?,
        with_gaps: table.query_count("select count(*) from files where gaps > 0")?,
        gaps: table.query_count("select sum(gaps) from files")?,
        inactive: table.query_count("select count(*) from files where inactive")?,
        projects: table.query_count("select count(distinct project) from files")?,
        types: table.query_count("select count(*) from types")?,
        edges: table.query_count("select count(*) from edges")?,
        unread: unread.chain(problems).collect(),
    })
}

impl Store {
    /// The extent as of the last refresh.
    pub fn extent(&self) -> Result<Extent, StoreError> {
        Ok(Table::new(&self.db).get_meta(EXTENT)?.unwrap_or_default())
    }

    pub fn projects(&self) -> Result<Vec<Project>, StoreError> {
        Ok(Table::new(&self.db).get_meta(PROJECTS)?.unwrap_or_default())
    }

    pub fn type_summary(&self, id: TypeId) -> Result<Option<TypeSummary>, StoreError> {
        Ok(Table::new(&self.db).load_summary(id)?)
    }

    /// Visits every summary.
    pub fn for_each_summary(
        &self,
        take: impl FnMut(TypeSummary) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        Table::new(&self.db).for_each_summary(take)
    }

    /// Every type with its full name, sorted by ID.
    pub fn types(&self) -> Result<Vec<(TypeId, String)>, StoreError> {
        let mut types = Table::new(&self.db).types()?;
        types.sort_unstable();
        Ok(types)
    }

    /// The types that an exactly spelled path may refer to; empty for a pattern.
    pub fn types_named(&self, path: &str) -> Result<Vec<TypeNames>, StoreError> {
        let mut table = Table::new(&self.db);
        let Some(word) = last_word(path) else { return Ok(Vec::new()) };
        let ids = table.types_named(&word)?;
        Ok(table.names_of(&ids)?)
    }

    /// The names of all types and members.
    pub fn all_names(&self) -> Result<Vec<TypeNames>, StoreError> {
        Ok(Table::new(&self.db).all_names()?)
    }

    /// The types whose IDs have this prefix.
    pub fn types_with_prefix(&self, start: &str) -> Result<Vec<TypeId>, StoreError> {
        let Some((from, to)) = TypeId::prefix_range(start) else { return Ok(Vec::new()) };
        Ok(Table::new(&self.db).types_between(from, to)?)
    }

    /// The shortest unambiguous prefix of an ID.
    pub fn short_id(&self, id: TypeId) -> Result<String, StoreError> {
        let mut near = Table::new(&self.db).neighbouring_ids(id)?;
        near.push(id);
        near.sort_unstable();
        Ok(id.unique_prefix(&near))
    }

    /// The outline for reading.
    pub fn outline_text(&self, card: &TypeSummary) -> Result<String, StoreError> {
        Ok(card.outline.replacen(&card.id.to_string(), &self.short_id(card.id)?, 1))
    }

    /// The outline of a member, from the stored facts of its file. `line_of` counts the lines of a file up to a byte.
    pub fn member_outline(
        &self,
        of: &TypeSummary,
        key: &str,
        line_of: &dyn Fn(&str, usize) -> u32,
    ) -> Result<String, StoreError> {
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let mut files = Vec::new();
        for path in &of.files {
            if let Some(row) = table.find_file(path)? {
                files.push(table.load_source(row.id)?);
            }
        }
        let code = Codebase::new(projects, files);
        let resolver = Resolver::new(&code);
        let at = code.types.iter().position(|each| each.name == of.name);
        let outline =
            at.and_then(|at| Outliner::new(&code, &resolver).member_outline(at as u32, key, line_of));
        Ok(outline.unwrap_or_default())
    }

    /// The token cost of the outline and the source of a type, or of the member with this key. Computed once, by `count`, until
    /// the type changes: loading the vocabulary alone takes a tenth of a second.
    pub fn token_costs(
        &self,
        of: TypeId,
        key: &str,
        count: impl FnOnce() -> (u64, u64),
    ) -> Result<(u64, u64), StoreError> {
        if let Some(known) = Table::new(&self.db).token_costs(of, key)? {
            return Ok(known);
        }
        let counted = count();
        self.write_best_effort(|table| table.set_tokens(of, key, counted));
        Ok(counted)
    }

    /// Writes a cached value; failing to do so is harmless.
    pub(super) fn write_best_effort(&self, write: impl FnOnce(&mut Table<'_>) -> Result<(), db::Error>) {
        let _ = self.write_within(Duration::ZERO, write);
    }

    /// Writes, waiting at most this long for another writer.
    pub(super) fn write_within(
        &self,
        patience: Duration,
        write: impl FnOnce(&mut Table<'_>) -> Result<(), db::Error>,
    ) -> Result<(), db::Error> {
        let Some(path) = &self.read_only_path else { return write(&mut Table::new(&self.db)) };
        let (db, _) = db::derived::open_writer(path, SCHEMA_VERSION)?;
        db.busy_timeout(patience).and_then(|()| write(&mut Table::new(&db)))
    }

    /// The edges between types, as positions in the sorted list `ids`.
    pub fn edges(&self, ids: &[TypeId]) -> Result<Vec<Edge>, StoreError> {
        Ok(Table::new(&self.db).all_edges(ids)?)
    }

    /// All files joined, as reading the tree would join them: to plan an edit, which looks at every mention of a name.
    pub fn codebase(&self) -> Result<Codebase, StoreError> {
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let mut files = Vec::new();
        for row in table.files()?.into_values() {
            files.push(table.load_source(row.id)?);
        }
        Ok(Codebase::new(projects, files))
    }

    /// The indexed files with their number of lines.
    pub fn files(&self) -> Result<Vec<(String, u64)>, StoreError> {
        Ok(Table::new(&self.db).line_counts()?)
    }

    /// The names of some types; unknown IDs are skipped.
    pub fn names_of(&self, ids: &[TypeId]) -> Result<Vec<TypeNames>, StoreError> {
        Ok(Table::new(&self.db).names_of(ids)?)
    }

    pub fn uses(&self, of: TypeId) -> Result<Vec<TypeId>, StoreError> {
        Ok(Table::new(&self.db).used_by_type(of)?)
    }

    /// The direct bases of a type.
    pub fn bases(&self, of: TypeId) -> Result<Vec<TypeId>, StoreError> {
        Ok(Table::new(&self.db).bases_of(of)?)
    }

    pub fn users(&self, of: TypeId) -> Result<Vec<TypeId>, StoreError> {
        Ok(Table::new(&self.db).users_of(of, false)?)
    }

    /// The usages of a type, by file and position. Only files that mention its name are loaded.
    pub fn type_usages(&self, of: &TypeSummary) -> Result<UsageSites, StoreError> {
        let mut words = self.names_with_aliases(&of.simple_name)?;
        words.extend(of.simple_name.strip_suffix(ATTRIBUTE_SUFFIX).map(str::to_owned));
        let declared = |code: &Codebase| Some(Declaration { of: type_number(code, of)?, member: None });
        let query = |code: &Codebase, resolver: &Resolver<'_>| sites_of_type(code, resolver, of, &words);
        self.find_usages(&words, &of.files, &declared, query)
    }

    /// Narrows usages of a whole path to the word in it that names the symbol.
    fn narrow_to_words(&self, sites: &mut [UsageSite], words: &[String]) {
        let mut read: Option<(String, String)> = None;
        for site in sites.iter_mut() {
            if words.iter().any(|word| word.len() == (site.end - site.at) as usize) {
                continue;
            }
            if read.as_ref().is_none_or(|(path, _)| *path != site.file) {
                let bytes = project::read_source(&self.root, &site.file).unwrap_or_default();
                read = Some((site.file.clone(), syntax::decode_text(&bytes).into_owned()));
            }
            let text = read.as_ref().map_or("", |(_, text)| text);
            if let Some((at, end)) = find_word(text, (site.at, site.end), words) {
                (site.at, site.end) = (at, end);
            }
        }
    }

    /// A name, and the names that imports give to whatever has this name.
    pub(super) fn names_with_aliases(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let mut table = Table::new(&self.db);
        let (mut names, mut new) = (BTreeSet::from([name.to_owned()]), BTreeSet::from([name.to_owned()]));
        while !new.is_empty() {
            let mut files = BTreeSet::new();
            for name in &new {
                files.extend(table.files_renaming(name)?);
            }
            let mut found = BTreeSet::new();
            for file in files {
                found.extend(delta::aliases_of(&table.load_facts(file)?, &new));
            }
            new = found.difference(&names).cloned().collect();
            names.extend(new.iter().cloned());
        }
        Ok(names.into_iter().collect())
    }

    /// The usages of a member.
    pub fn member_usages(&self, of: &TypeSummary, member: &MemberSummary) -> Result<UsageSites, StoreError> {
        match member.kind {
            MemberKind::Constructor => return self.creations(of),
            MemberKind::Destructor | MemberKind::Indexer | MemberKind::Operator => {
                let problem = format!("uses of an {} have no name and are not found", member.kind.name());
                return Ok(UsageSites { sites: Vec::new(), problems: vec![problem] });
            }
            _ => {}
        }
        let declared = |code: &Codebase| {
            Some(Declaration {
                of: type_number(code, of)?,
                member: Some(find_declaration(code, of, member)?),
            })
        };
        let names = self.names_with_aliases(&member.name)?;
        let query =
            |code: &Codebase, resolver: &Resolver<'_>| sites_of_member(code, resolver, (of, member), &names);
        self.find_usages(&names, &of.files, &declared, query)
    }

    /// The places that create a value of a type. Which of several constructors they call is not certain.
    fn creations(&self, of: &TypeSummary) -> Result<UsageSites, StoreError> {
        let mut found = self.type_usages(of)?;
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        found.sites.retain(|site| {
            let text = texts.entry(site.file.clone()).or_insert_with(|| self.read_text(&site.file));
            is_creation(&site.file, text, (site.at, site.end))
        });
        if of.members.iter().filter(|it| it.kind == MemberKind::Constructor).count() > 1 {
            found.sites.iter_mut().for_each(|it| it.certainty = it.certainty.max(Certainty::Likely));
        }
        Ok(found)
    }

    /// Runs `query` on the files that contain one of `words`, and on the files `besides`. A compiler's index may know usages under
    /// other names, so with an index all files are loaded.
    fn find_usages(
        &self,
        words: &[String],
        besides: &[String],
        declared: &dyn Fn(&Codebase) -> Option<Declaration>,
        query: impl Fn(&Codebase, &Resolver<'_>) -> Vec<UsageSite>,
    ) -> Result<UsageSites, StoreError> {
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let (mut files, mut start) = (BTreeSet::new(), Vec::new());
        for word in words {
            files.extend(table.files_mentioning(word)?);
        }
        for path in besides {
            files.extend(table.find_file(path)?.map(|row| row.id));
        }
        let indexed = has_index(self.scip_places(), &projects);
        if indexed {
            files.extend(table.files()?.into_values().map(|row| row.id));
        }
        for file in files {
            start.push(table.load_source(file)?);
        }
        let (code, places) = join_partial(&mut table, &projects, start, query)?;
        let mut found = UsageSites { sites: places, problems: Vec::new() };
        self.narrow_to_words(&mut found.sites, words);
        if indexed {
            join_exact_usages(&code, self.scip_places(), declared(&code), &mut found);
        }
        keep_best_sites(&mut found.sites);
        Ok(found)
    }

    fn scip_places(&self) -> IndexPlaces<'_> {
        IndexPlaces { root: &self.root, cache: self.scip_folder.as_deref() }
    }

    /// All renamed types.
    pub fn renamed_types(&self) -> Result<Vec<RenamedType>, StoreError> {
        Ok(Table::new(&self.db).load_aliases()?)
    }

    /// A digest of everything that is derived from the tree: two stores of the same tree have the same.
    pub fn fingerprint(&self) -> Result<Digest, StoreError> {
        let mut text = String::new();
        self.for_each_summary(|card| {
            let _ = writeln!(text, "{card:?}");
            Ok(())
        })?;
        let ids: Vec<TypeId> = self.types()?.into_iter().map(|(id, _)| id).collect();
        let _ = write!(text, "{:?}", self.edges(&ids)?);
        Ok(Digest::of_bytes(text.as_bytes()))
    }
}
