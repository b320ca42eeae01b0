//! The difference between the tree and one of its commits: change classes, dependents and tests, independent of what was
//! reported before.
//!
//! Does not start git: the caller runs it. The program is used rather than a library, because it reads every repository that the
//! user's own git reads (worktrees, partial clones, alternates), and Loci starts without it.

use super::folders::{is_below, is_test_path, is_test_symbol};
use super::partial::join_partial;
use super::queries::{sites_of_member, sites_of_type};
use super::renames::{excuse_mentions, renamed_members, renamed_words, replace_word};
use super::table::Table;
use super::usage_site::UsageSite;
use super::versions::{WithoutFiles, parse_version};
use super::{ChangedType, PROJECTS, RenamedType, Store, StoreError, to_snapshot};
use code::Certainty;
use code::{Change, ChangeClass, ChangeKind, MemberChange, classify_change};
use code::{Codebase, MemberSummary, SourceFile, TypeSummary};
use project::Project;
use std::collections::{BTreeMap, BTreeSet};
use syntax::{TypeId, TypeKind, language_of};

/// Runs git in the root of the tree with arguments and standard input; returns its output, or its complaint.
pub type RunGit<'a> = &'a dyn Fn(&[&str], Vec<u8>) -> Result<Vec<u8>, String>;

#[derive(Debug, thiserror::Error)]
pub enum SinceError {
    #[error("git: {0}")]
    Git(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<db::Error> for SinceError {
    fn from(error: db::Error) -> SinceError {
        SinceError::Store(error.into())
    }
}

/// What changed since a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangesSince {
    /// The commit, in full.
    pub commit: String,
    /// Source files that differ, by path.
    pub files: Vec<String>,
    /// By name.
    pub changes: Vec<ChangedType>,
    pub aliases: Vec<RenamedType>,
    /// Types that use something whose structure changed, by name.
    pub dependents: Vec<(TypeId, String)>,
    /// Files with tests that reach a changed symbol or one of its dependents.
    pub tests: Vec<String>,
    /// How many changed symbols were not looked for, because there are too many.
    pub unsearched: usize,
}

/// How far tests may be from a changed type, in steps of the dependency graph.
const TEST_DISTANCE: usize = 3;
/// Users are searched for this many changed symbols; a larger change concerns everything anyway.
const MAX_MEMBERS: usize = 200;

impl Store {
    /// Compares the indexed tree with a commit, below a folder (everywhere for an empty path).
    pub fn changes_since(
        &self,
        reference: &str,
        under: &str,
        git: RunGit<'_>,
    ) -> Result<ChangesSince, SinceError> {
        let commit = resolve_commit(reference, git)?;
        let files = changed_files(&commit, git)?;
        let mut contents = old_contents(&commit, &files, git)?;
        let changed: BTreeSet<String> = files.iter().cloned().collect();
        let at_commit = self.parse_files(&files, &contents)?;
        let old = self.parse_files(&files, &contents)?;
        let (before, after) = self.both_versions(&files, old)?;
        let mut report = ChangesSince { commit, files, ..ChangesSince::default() };
        compare_versions(&before, &after, &mut report);
        let words = renamed_words(&report.aliases);
        if !words.is_empty() {
            replace_words(&mut contents, &words);
            let old = self.parse_files(&report.files, &contents)?;
            let mut again = ChangesSince::default();
            compare_versions(&self.both_versions(&report.files, old)?.0, &after, &mut again);
            excuse_mentions(&mut report.changes, &again.changes);
        }
        keep_below(&mut report, under, before.iter().chain(&after));
        self.add_dependents((&before, &after), (&changed, at_commit), &mut report)?;
        self.add_tests(&after, &mut report)?;
        Ok(report)
    }

    /// The symbols of one file whose contract or visible behaviour differs from a commit in which the file had the path `old`; the
    /// most specific first. A renamed type is not a removed one, and neither is a symbol that has its name from `renames`: old
    /// and new.
    pub fn deep_changes_since(
        &self,
        commit: &str,
        old: &str,
        path: &str,
        renames: &[(String, String)],
        git: RunGit<'_>,
    ) -> Result<Vec<DeepChange>, SinceError> {
        let files = [path.to_owned()];
        let mut contents = old_contents(commit, &[old.to_owned()], git)?;
        replace_words(&mut contents, renames);
        let old = self.parse_files(&files, &contents)?;
        let (before, after) = self.both_versions(&files, old)?;
        let mut report = ChangesSince::default();
        compare_versions(&before, &after, &mut report);
        let renamed: BTreeSet<TypeId> = report.aliases.iter().map(|alias| alias.old).collect();
        report.changes.retain(|change| !renamed.contains(&change.id));
        let modules = before.iter().filter(|it| it.kind == TypeKind::Module).map(|it| it.id).collect();
        Ok(deep_changes(&report.changes, &modules))
    }

    fn parse_files(
        &self,
        files: &[String],
        contents: &[Option<Vec<u8>>],
    ) -> Result<Vec<SourceFile>, SinceError> {
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let mut found = Vec::new();
        for (path, bytes) in files.iter().zip(contents) {
            let Some(bytes) = bytes else { continue };
            let project = match table.find_file(path)? {
                Some(row) => row.project,
                None => project_of(&projects, path),
            };
            found.extend(parse_version(&projects, path, project, bytes));
        }
        Ok(found)
    }

    /// The types of the changed files, at the commit and now.
    fn both_versions(
        &self,
        files: &[String],
        old: Vec<SourceFile>,
    ) -> Result<(Vec<TypeSummary>, Vec<TypeSummary>), SinceError> {
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let changed: BTreeSet<String> = files.iter().cloned().collect();
        let (mut after, mut start) = (BTreeMap::new(), old);
        for path in files {
            let Some(row) = table.find_file(path)? else { continue };
            for id in table.types_in(row.id)? {
                after.extend(table.load_summary(id)?.map(|summary| (id, summary)));
            }
        }
        // the unchanged parts of changed types
        let parts: BTreeSet<&String> = after.values().flat_map(|summary| &summary.files).collect();
        for path in parts.into_iter().filter(|path| !changed.contains(*path)) {
            if let Some(row) = table.find_file(path)? {
                start.push(table.load_source(row.id)?);
            }
        }
        let ids: BTreeSet<TypeId> = after.keys().copied().collect();
        let mut source = WithoutFiles { table, files: &changed };
        let before = source.summarize(&projects, start, &ids)?;
        // a type may have lost a part and still exist elsewhere
        let mut after: Vec<TypeSummary> = after.into_values().collect();
        for summary in before.iter().filter(|summary| !ids.contains(&summary.id)) {
            after.extend(source.table.load_summary(summary.id)?);
        }
        Ok((before, after))
    }

    /// The types that depend on structural changes: through the graph, through usages of free functions, and through usages at the
    /// commit of what is gone.
    fn add_dependents(
        &self,
        (before, after): (&[TypeSummary], &[TypeSummary]),
        (changed_files, at_commit): (&BTreeSet<String>, Vec<SourceFile>),
        report: &mut ChangesSince,
    ) -> Result<(), StoreError> {
        let table = Table::new(&self.db);
        let changed: BTreeSet<TypeId> = report.changes.iter().map(|it| it.id).collect();
        let (mut found, mut there, mut gone) = (BTreeSet::new(), Vec::new(), Vec::new());
        for change in &report.changes {
            let summary = after.iter().find(|summary| summary.id == change.id);
            let is_module = summary.is_some_and(|summary| summary.kind == TypeKind::Module);
            let is_deep = change.change.as_ref().is_none_or(|it| it.class == ChangeClass::Structure);
            if is_deep && !is_module {
                found.extend(table.users_of(change.id, false)?);
            }
            if is_module {
                there.extend(members_with(summary, change, |it| {
                    it.class == ChangeClass::Structure && it.change == ChangeKind::Changed
                }));
            }
            gone.extend(gone_symbols(before.iter().find(|summary| summary.id == change.id), change));
        }
        report.unsearched = there.len().saturating_sub(MAX_MEMBERS) + gone.len().saturating_sub(MAX_MEMBERS);
        let mut users = self.users_in(&there, &BTreeSet::new(), Vec::new())?;
        users.extend(self.users_in(&gone, changed_files, at_commit)?);
        found.extend(users.into_iter().filter_map(|user| user.of));
        found.retain(|id| !changed.contains(id));
        let named = self.names_of(&found.into_iter().collect::<Vec<_>>())?;
        report.dependents = named.into_iter().map(|names| (names.id, names.name)).collect();
        report.dependents.sort_by(|one, other| one.1.cmp(&other.1));
        Ok(())
    }

    /// The places that use symbols, in a version of the tree in which some files have other contents.
    fn users_in(
        &self,
        symbols: &[Asked<'_>],
        changed: &BTreeSet<String>,
        contents: Vec<SourceFile>,
    ) -> Result<Vec<User>, StoreError> {
        let symbols = &symbols[..symbols.len().min(MAX_MEMBERS)];
        if symbols.is_empty() {
            return Ok(Vec::new());
        }
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let (mut files, mut names, mut start) = (BTreeSet::new(), Vec::new(), contents);
        for (of, member) in symbols {
            let words = self.names_with_aliases(member.map_or(&of.simple_name, |it| &it.name))?;
            for word in &words {
                files.extend(table.files_mentioning(word)?);
            }
            for path in &of.files {
                files.extend(table.find_file(path)?.map(|row| row.id));
            }
            names.push(words);
        }
        for file in files {
            start.push(table.load_source(file)?);
        }
        let mut seen = BTreeSet::new();
        start.retain(|file| seen.insert(file.path.clone()));
        let mut source = WithoutFiles { table, files: changed };
        let (_, found) = join_partial(&mut source, &projects, start, |code, resolver| {
            let mut sites = Vec::new();
            for ((of, member), names) in symbols.iter().zip(&names) {
                sites.extend(match member {
                    Some(member) => sites_of_member(code, resolver, (of, member), names),
                    None => sites_of_type(code, resolver, of, names),
                });
            }
            sites.retain(|site| site.certainty <= Certainty::Likely);
            sites
                .iter()
                .map(|site| User { file: site.file.clone(), of: type_around(code, site) })
                .collect::<Vec<_>>()
        })?;
        Ok(found)
    }

    fn add_tests(&self, after: &[TypeSummary], report: &mut ChangesSince) -> Result<(), StoreError> {
        let table = Table::new(&self.db);
        let is_deep =
            |change: &ChangedType| change.change.as_ref().is_none_or(|it| it.class <= ChangeClass::Internal);
        let changed = report.changes.iter().filter(|change| is_deep(change)).map(|change| change.id);
        let mut open: Vec<TypeId> = changed.chain(report.dependents.iter().map(|(id, _)| *id)).collect();
        let mut tests: BTreeSet<String> =
            report.files.iter().filter(|file| is_test_path(file)).cloned().collect();
        // a free function is used without a type in between
        let mut members = Vec::new();
        for change in &report.changes {
            let summary = after.iter().find(|it| it.id == change.id && it.kind == TypeKind::Module);
            members.extend(members_with(summary, change, |it| it.class <= ChangeClass::Internal));
        }
        for user in self.users_in(&members, &BTreeSet::new(), Vec::new())? {
            open.extend(user.of);
            tests.extend(Some(user.file).filter(|file| is_test_path(file)));
        }
        let mut seen: BTreeSet<TypeId> = open.iter().copied().collect();
        for _ in 0..TEST_DISTANCE {
            let mut next = Vec::new();
            for id in std::mem::take(&mut open) {
                next.extend(table.users_of(id, false)?.into_iter().filter(|user| seen.insert(*user)));
            }
            open = next;
        }
        for id in seen {
            let Some(summary) = self.type_summary(id)? else { continue };
            tests.extend(summary.files.into_iter().filter(|file| is_test_symbol(file, &summary.name)));
        }
        report.tests = tests.into_iter().collect();
        Ok(())
    }
}

/// Drops what changed elsewhere; a type that has left the folder stays. All files are compared first, because a type may come from
/// another folder.
fn keep_below<'a>(report: &mut ChangesSince, under: &str, types: impl Iterator<Item = &'a TypeSummary>) {
    let is_here = |summary: &&TypeSummary| summary.files.iter().any(|file| is_below(file, under));
    let here: BTreeSet<TypeId> = types.filter(is_here).map(|summary| summary.id).collect();
    report.files.retain(|file| is_below(file, under));
    report.changes.retain(|change| here.contains(&change.id));
    report.aliases.retain(|alias| here.contains(&alias.old) || here.contains(&alias.new));
}

/// A symbol whose contract or visible behaviour changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeepChange {
    pub name: String,
    pub class: ChangeClass,
    pub removed: bool,
}

/// Members first, because a change of a member is one of its type too. The functions of a module are not parts of one thing.
fn deep_changes(changes: &[ChangedType], modules: &BTreeSet<TypeId>) -> Vec<DeepChange> {
    let mut found = Vec::new();
    for changed in changes {
        let members: &[MemberChange] = changed.change.as_ref().map_or(&[], |change| &change.members);
        let is_deep =
            |it: &&MemberChange| it.class <= ChangeClass::PublicBehavior && it.change != ChangeKind::Added;
        found.extend(members.iter().filter(is_deep).map(|member| DeepChange {
            name: format!("{}.{}", changed.name, member.key),
            class: member.class,
            removed: member.change == ChangeKind::Removed && !has_successor(member, members),
        }));
    }
    for changed in changes.iter().filter(|changed| !modules.contains(&changed.id)) {
        let class = changed.change.as_ref().map(|change| change.class);
        let (class, removed) = (class.unwrap_or(ChangeClass::Structure), changed.removed);
        if class <= ChangeClass::PublicBehavior && (removed || changed.change.is_some()) {
            found.push(DeepChange { name: changed.name.clone(), class, removed });
        }
    }
    found
}

/// Whether a member of the same name was added: with other parameters it has another key, and is changed rather than removed.
fn has_successor(removed: &MemberChange, members: &[MemberChange]) -> bool {
    let name = |member: &MemberChange| member.key.split('(').next().unwrap_or_default().to_owned();
    members.iter().any(|other| other.change == ChangeKind::Added && name(other) == name(removed))
}

/// A type, or one of its members.
type Asked<'a> = (&'a TypeSummary, Option<&'a MemberSummary>);

/// A place that uses a symbol.
struct User {
    file: String,
    /// The innermost type around it.
    of: Option<TypeId>,
}

fn type_around(code: &Codebase, site: &UsageSite) -> Option<TypeId> {
    let file = code.files.iter().position(|it| it.path == site.file)?;
    let parts = code.files[file].facts.types.iter().enumerate();
    let around = parts.filter(|(_, part)| (part.span.from..part.span.to).contains(&site.at));
    let (part, _) = around.min_by_key(|(_, part)| part.span.to - part.span.from)?;
    Some(code.types[code.tables.type_of(file as u32, part as u32) as usize].id)
}

/// The members of a type that changed in a way.
fn members_with<'a>(
    summary: Option<&'a TypeSummary>,
    changed: &ChangedType,
    is_wanted: impl Fn(&MemberChange) -> bool,
) -> Vec<Asked<'a>> {
    let (Some(summary), Some(change)) = (summary, &changed.change) else { return Vec::new() };
    let keys: BTreeSet<&str> =
        change.members.iter().filter(|it| is_wanted(it)).map(|it| it.key.as_str()).collect();
    let wanted = summary.members.iter().filter(|member| keys.contains(member.key.as_str()));
    wanted.map(|member| (summary, Some(member))).collect()
}

/// What a type had at the commit and has no longer. With other parameters, a function has another key.
fn gone_symbols<'a>(before: Option<&'a TypeSummary>, changed: &ChangedType) -> Vec<Asked<'a>> {
    let Some(summary) = before else { return Vec::new() };
    match (changed.removed, summary.kind == TypeKind::Module) {
        (true, true) => summary.members.iter().map(|member| (summary, Some(member))).collect(),
        (true, false) => vec![(summary, None)],
        (false, true) => members_with(before, changed, |it| it.change == ChangeKind::Removed),
        // what uses the type is found through the graph
        (false, false) => Vec::new(),
    }
}

fn compare_versions(before: &[TypeSummary], after: &[TypeSummary], report: &mut ChangesSince) {
    let old: BTreeMap<TypeId, &TypeSummary> = before.iter().map(|summary| (summary.id, summary)).collect();
    let new: BTreeMap<TypeId, &TypeSummary> = after.iter().map(|summary| (summary.id, summary)).collect();
    let changed = |summary: &TypeSummary, change: Option<Change>, removed: bool| ChangedType {
        id: summary.id,
        name: summary.name.clone(),
        change,
        removed,
    };
    for (id, summary) in &new {
        match old.get(id) {
            Some(before) => {
                let change = classify_change(&before.hashes, &summary.hashes);
                report.aliases.extend(renamed_members(before, summary, 0));
                report.changes.extend(change.map(|change| changed(summary, Some(change), false)));
            }
            None => report.changes.push(changed(summary, None, false)),
        }
    }
    let gone: Vec<&TypeSummary> =
        old.iter().filter(|(id, _)| !new.contains_key(id)).map(|(_, summary)| *summary).collect();
    report.changes.extend(gone.iter().map(|summary| changed(summary, None, true)));
    let added = new.iter().filter(|(id, _)| !old.contains_key(id)).map(|(_, summary)| *summary);
    let olds: Vec<_> = gone.iter().map(|summary| to_snapshot(summary)).collect();
    let news: Vec<_> = added.map(to_snapshot).collect();
    for alias in code::detect_renames(&olds, &news, &|_| None).0 {
        let name =
            |all: &BTreeMap<TypeId, &TypeSummary>, id| all.get(&id).map_or("", |it| &it.name).to_owned();
        let (old_name, new_name) = (name(&old, alias.old), name(&new, alias.new));
        let (old, new, reason) = (alias.old, alias.new, alias.reason);
        report.aliases.push(RenamedType { old, old_name, new, new_name, reason, at: 0 });
    }
    report.changes.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
}

fn replace_words(contents: &mut [Option<Vec<u8>>], words: &[(String, String)]) {
    for (old, new) in words {
        contents.iter_mut().flatten().for_each(|bytes| *bytes = replace_word(bytes, old, new));
    }
}

/// The project with the longest folder around a path; the first project has no manifest and owns the rest.
fn project_of(projects: &[Project], path: &str) -> u32 {
    let folder = |project: &Project| project.path.rsplit_once('/').map_or(0, |(folder, _)| folder.len());
    let around = |project: &Project| {
        let (folder, _) = project.path.rsplit_once('/').unwrap_or_default();
        !project.path.is_empty()
            && (folder.is_empty() || path.strip_prefix(folder).is_some_and(|it| it.starts_with('/')))
    };
    let fitting = projects.iter().enumerate().filter(|(_, project)| around(project));
    fitting.max_by_key(|(_, project)| folder(project)).map_or(0, |(at, _)| at as u32)
}

fn resolve_commit(reference: &str, git: RunGit<'_>) -> Result<String, SinceError> {
    if reference.starts_with('-') || reference.trim().is_empty() {
        return Err(SinceError::Git(format!("`{reference}` is not a commit")));
    }
    let wanted = format!("{reference}^{{commit}}");
    let printed = git(&["rev-parse", "--verify", "--quiet", &wanted], Vec::new()).map_err(|error| {
        SinceError::Git(format!("`{reference}` is not a commit of this tree {error}").trim().to_owned())
    })?;
    Ok(String::from_utf8_lossy(&printed).trim().to_owned())
}

/// Source files that differ from a commit, committed or not, and untracked ones; by path.
fn changed_files(commit: &str, git: RunGit<'_>) -> Result<Vec<String>, SinceError> {
    let differing = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--ignore-submodules=all",
        "--relative",
        "--name-only",
        "-z",
        commit,
        "--",
    ];
    let disabled = disabled_filters(git);
    let differing: Vec<&str> = disabled.iter().map(String::as_str).chain(differing).collect();
    let untracked = ["ls-files", "--others", "--exclude-standard", "-z"];
    let mut found = BTreeSet::new();
    for args in [&differing[..], &untracked[..]] {
        let printed = git(args, Vec::new()).map_err(SinceError::Git)?;
        let paths = printed.split(|byte| *byte == 0).map(|path| String::from_utf8_lossy(path).into_owned());
        found.extend(paths.filter(|path| language_of(path.as_ref()).is_some() && !path.contains('\n')));
    }
    Ok(found.into_iter().collect())
}

/// Options that disable the filters of the repository's own configuration. To compare a file with a commit, git runs the
/// program that a filter names, and a repository that was unpacked from an archive brings its configuration with it.
/// Filters that the user has configured for all repositories stay.
fn disabled_filters(git: RunGit<'_>) -> Vec<String> {
    let asked = ["config", "--show-scope", "--name-only", "-z", "--get-regexp", "^filter\\."];
    // Git reports an error if there is none.
    let printed = git(&asked, Vec::new()).unwrap_or_default();
    let words: Vec<String> =
        printed.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let own = words.chunks_exact(2).filter(|pair| !matches!(&*pair[0], "system" | "global"));
    let drivers: BTreeSet<&str> = own.filter_map(|pair| Some(pair[1].rsplit_once('.')?.0)).collect();
    let disable =
        |driver: &&str| ["clean=", "process=", "required=false"].map(|setting| format!("{driver}.{setting}"));
    drivers.iter().flat_map(disable).flat_map(|setting| ["-c".to_owned(), setting]).collect()
}

/// The contents of files at a commit; `None` for a file that it does not have.
fn old_contents(commit: &str, files: &[String], git: RunGit<'_>) -> Result<Vec<Option<Vec<u8>>>, SinceError> {
    let asked: Vec<String> = files.iter().map(|path| format!("{commit}:./{path}\n")).collect();
    let printed = git(&["cat-file", "--batch"], asked.concat().into_bytes()).map_err(SinceError::Git)?;
    let mut rest = printed.as_slice();
    let mut found = Vec::new();
    for _ in files {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = rest.get(end + 1..).unwrap_or_default();
        let size =
            head.rsplit_once(" blob ").or_else(|| head.split_once("blob ")).map(|(_, size)| size.trim());
        match size.and_then(|size| size.parse::<usize>().ok()).filter(|size| *size <= rest.len()) {
            Some(size) => {
                found.push(Some(rest[..size].to_vec()));
                rest = rest.get(size + 1..).unwrap_or_default();
            }
            None => found.push(None),
        }
    }
    Ok(found)
}
