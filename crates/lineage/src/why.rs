//! Answers why a piece of code is as it is: the chain of edits behind it, oldest first, each with its evidence.
//!
//! Does not decide what a line is worth as evidence: `provenance` does.

use crate::RunGit;
use crate::attestation::{Attestations, AttestingRefs, read_attestations};
use crate::code_history::{CodeHistory, Origin, read_commit};
use crate::fact_check::last_name;
use crate::former_names::find_former_names;
use crate::kept_git::KeptGit;
use crate::named_session::{NamedBy, NamedSession};
use crate::session_context::SessionContext;
use crate::session_edits::{SessionEdit, SessionEdits};
use api::terminal_text::{append_fmt, one_line, short_id};
use api::why::{CommitRef, Evidence, Landed, LineOwner, Why, WhyFound, WhyStep};
use api::{Code, Error};
use history::{History, scope};
use provenance::Commit;
use provenance::commit::{attribute_commit, attribute_new_lines, land_commit, names_of};
use provenance::diff::match_lines;
use provenance::landed::LandedLines;
use provenance::line::{Line, lines_of};
use provenance::pool::{Claim, Pool, Region};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What the answer calls it: a symbol, or the file.
    pub name: String,
    /// Relative to the root of the tree.
    pub file: String,
    /// The first and last line, counted from 1; None for the whole file.
    pub lines: Option<(u32, u32)>,
}

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Place(Place),
    Commit(Box<Commit>),
}

impl Target {
    /// Understands what a person writes: a file, with lines or without, a commit, or a symbol.
    pub fn parse(
        text: &str,
        root: &Path,
        cwd: &Path,
        git: RunGit<'_>,
        find_symbol: &dyn Fn(&str) -> Result<Place, Error>,
    ) -> Result<Target, Error> {
        if let Some(place) = parse_place(text, root, cwd)? {
            return Ok(Target::Place(place));
        }
        let as_commit = || read_commit(git, text).map(|commit| Target::Commit(Box::new(commit)));
        let is_hash = text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if let Some(found) = is_hash.then(as_commit).flatten() {
            return Ok(found);
        }
        find_symbol(text).map(Target::Place).or_else(|error| as_commit().ok_or(error))
    }
}

/// A file of the tree, as `file`, `file:line` or `file:line-line`; None if there is no such file.
fn parse_place(text: &str, root: &Path, cwd: &Path) -> Result<Option<Place>, Error> {
    let (path, lines) = match text.rsplit_once(':').map(|(path, lines)| (path, parse_lines(lines))) {
        Some((path, Some(lines))) => (path, Some(lines)),
        _ => (text, None),
    };
    let Some(file) = [cwd, root].iter().map(|above| above.join(path)).find(|file| file.is_file()) else {
        return Ok(None);
    };
    let file = scope::canonical_path(&file);
    let Ok(inside) = file.strip_prefix(scope::canonical_path(root)) else {
        return Err(Error::new(Code::NotFound, format!("`{path}` is not inside {}", root.display()))
            .hint("--root selects the source tree"));
    };
    let file = inside.to_string_lossy().into_owned();
    let name = match lines {
        Some((from, to)) if from == to => format!("{file}:{from}"),
        Some((from, to)) => format!("{file}:{from}-{to}"),
        None => file.clone(),
    };
    Ok(Some(Place { name, file, lines }))
}

fn parse_lines(text: &str) -> Option<(u32, u32)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (0 < from && from <= to).then_some((from, to))
}

/// The edits of one turn that ended up in one commit.
#[derive(Debug, Default)]
struct Draft {
    at: i64,
    edits: BTreeSet<u32>,
    commit: Option<usize>,
    lines: u32,
    undone: bool,
    /// Whether any of the edits was made to the file itself, and not to a plan.
    is_here: bool,
    /// What says so besides the text.
    named_by: Option<NamedBy>,
    /// The session, if the repository names it and no recorded edit has the lines.
    named: Option<usize>,
}

/// Everything an answer is made of.
struct Join<'j, 'h> {
    history: &'j History<'h>,
    root: &'j Path,
    request: &'j Why,
    read: SessionEdits,
    pool: Pool,
    commits: Vec<Commit>,
    drafts: BTreeMap<(usize, u32, u64, u32), Draft>,
    attestations: Attestations,
    /// The sessions that notes and checkpoints name.
    named: Vec<NamedSession>,
    owners: Vec<LineOwner>,
}

/// The number of a commit that there is none of.
const UNCOMMITTED: usize = usize::MAX;
/// Above the numbers of recorded sessions: the first of those that the repository names.
const FIRST_NAMED: u32 = 1 << 31;

/// Explains a target.
pub fn explain(
    history: &History<'_>,
    root: &Path,
    git: RunGit<'_>,
    target: Target,
    request: &Why,
) -> Result<WhyFound, Error> {
    match target {
        Target::Place(place) => explain_place(history, root, git, &place, request),
        Target::Commit(commit) => explain_commit(history, root, git, *commit, request),
    }
}

fn explain_place(
    history: &History<'_>,
    root: &Path,
    git: RunGit<'_>,
    place: &Place,
    request: &Why,
) -> Result<WhyFound, Error> {
    let bytes = std::fs::read(root.join(&place.file))
        .map_err(|error| Error::new(Code::ReadError, format!("{}: {error}", place.file)))?;
    let now = String::from_utf8_lossy(&bytes);
    let count = now.lines().count() as u32;
    let (from, to) = place.lines.unwrap_or((1, count.max(1)));
    if from > count.max(1) {
        return Err(Error::new(Code::NotFound, format!("{} has {count} lines", place.file)));
    }
    let (kept, refs) = (KeptGit::new(history, root, git), AttestingRefs::list(git));
    let code = CodeHistory::read(&kept, &place.file, &now, (from, to.min(count)), refs.has_notes());
    let paths = all_names(&place.file, &code.commits);
    let former_names = find_former_names(&code.ranged, last_name(&place.name));
    let mut join = Join::new(history, root, request, &paths, code.commits)?;
    join.read_attestations(git, &refs, code.lines.iter().filter_map(|(_, origin)| origin.as_ref()));
    let mut landed = LandedLines::default();
    let wrote = join.claim_commits(&paths, &code.of_file, &mut landed);
    let region =
        Region { paths, lines: code.text, wanted: code.uncommitted, removed: code.removed, until: i64::MAX };
    let fresh = join.claim_uncommitted(&region, &landed);
    let (mut lines, mut explained) = (0, 0);
    let numbered = (from..).zip(now.lines().skip(from as usize - 1)).zip(&code.lines).zip(&code.written_in);
    for (((number, text), (line, origin)), written_in) in numbered {
        if line.is_blank() {
            continue;
        }
        lines += 1;
        let found = match written_in {
            Some(commit) => wrote.get(&(commit.clone(), line.hash)).copied(),
            None => fresh.get(&line.hash).map(|claim| (UNCOMMITTED, *claim)),
        };
        let noted = origin.as_ref().and_then(|origin| join.noted(origin));
        explained += u32::from(join.count_line((&place.file, number, text), noted, found));
    }
    join.add_attempts(&code.lines);
    join.add_checkpoints(&all_names(&place.file, &join.commits));
    let shown_lines = place.lines.map(|_| (from, to.min(count)));
    let mut found = WhyFound {
        target: history.mask_line(&place.name),
        file: Some(place.file.clone()),
        line: shown_lines.map(|(from, _)| from),
        end_line: shown_lines.map(|(_, to)| to),
        lines,
        explained,
        former_names,
        ..WhyFound::default()
    };
    join.finish(&mut found)?;
    Ok(found)
}

fn explain_commit(
    history: &History<'_>,
    root: &Path,
    git: RunGit<'_>,
    commit: Commit,
    request: &Why,
) -> Result<WhyFound, Error> {
    let paths: Vec<String> = commit.files.iter().flat_map(names_of).collect();
    let mut join = Join::new(history, root, request, &paths, vec![commit])?;
    join.read_attestations(git, &AttestingRefs::list(git), std::iter::empty());
    let mut found = WhyFound::default();
    let mut wrote = Vec::new();
    let counted = attribute_commit(&join.pool, &join.commits[0], &[], &|_| true, |file, hunk, claims| {
        let numbered = (hunk.start..).zip(&hunk.lines).zip(hunk.moved_lines()).zip(claims);
        let said = numbered
            .filter(|(((_, (text, added)), moved), _)| *added && !moved && !Line::new(text).is_blank());
        wrote.extend(
            said.map(|(((line, (text, _)), _), claim)| (file.path.clone(), line, text.clone(), *claim)),
        );
    });
    found.lines = counted.lines;
    for (path, line, text, claim) in wrote {
        let origin = Origin { commit: join.commits[0].hash.clone(), path, line };
        let noted = join.noted(&origin);
        let claim = claim.map(|claim| (0, claim));
        found.explained += u32::from(join.count_line((&origin.path, line, &text), noted, claim));
    }
    join.add_checkpoints(&paths);
    let reference = join.commit_ref(0);
    found.target = format!("{} {}", join.commits[0].short_hash(), reference.subject);
    found.commit = Some(reference);
    join.finish(&mut found)?;
    Ok(found)
}

/// The names of a file, now and in its history.
fn all_names(file: &str, commits: &[Commit]) -> Vec<String> {
    let mut names: BTreeSet<String> = commits.iter().flat_map(|it| &it.files).flat_map(names_of).collect();
    names.insert(file.to_string());
    names.into_iter().filter(|name| !name.is_empty()).collect()
}

impl<'j, 'h> Join<'j, 'h> {
    fn new(
        history: &'j History<'h>,
        root: &'j Path,
        request: &'j Why,
        paths: &[String],
        commits: Vec<Commit>,
    ) -> Result<Join<'j, 'h>, Error> {
        let read = SessionEdits::read(history, root, paths)?;
        let pool = read.to_pool();
        let (drafts, attestations) = (BTreeMap::new(), Attestations::default());
        let (named, owners) = (Vec::new(), Vec::new());
        Ok(Join { history, root, request, read, pool, commits, drafts, attestations, named, owners })
    }

    fn edit(&self, number: u32) -> &SessionEdit {
        &self.read.edits[number as usize]
    }

    /// The draft that an edit belongs to, in a commit.
    fn draft(&mut self, commit: usize, claim: Claim) -> &mut Draft {
        let edit = &self.read.edits[claim.edit as usize];
        let key = (commit, edit.session, edit.row.key, edit.row.turn);
        let draft = self.drafts.entry(key).or_default();
        draft.edits.insert(claim.edit);
        draft.is_here |= claim.is_here;
        draft.commit = (commit != UNCOMMITTED).then_some(commit);
        draft.at = draft.at.max(edit.row.at.0);
        draft
    }

    /// Reads what the repository says about the commits, and about those that lines come from.
    fn read_attestations<'o>(
        &mut self,
        git: RunGit<'_>,
        refs: &AttestingRefs,
        origins: impl Iterator<Item = &'o Origin>,
    ) {
        let mut asked: BTreeSet<&str> = self.commits.iter().map(|commit| commit.hash.as_str()).collect();
        asked.extend(origins.map(|origin| origin.commit.as_str()));
        self.attestations = read_attestations(git, refs, &asked);
    }

    /// The session that a note names for a line, and the number of its commit.
    fn noted(&mut self, origin: &Origin) -> Option<(usize, usize)> {
        let attestation = self.attestations.get(&origin.commit)?;
        let number = attestation.note.session_at(&origin.path, origin.line)?;
        let session = NamedSession::from_note(&attestation.note.sessions[number]);
        let commit = self.commits.iter().position(|commit| commit.hash == origin.commit);
        let commit = commit.unwrap_or_else(|| {
            self.commits.push(attestation.commit.clone());
            self.commits.len() - 1
        });
        Some((commit, self.intern(session)))
    }

    fn intern(&mut self, session: NamedSession) -> usize {
        let known = self.named.iter().position(|it| it.is_same(&session));
        known.unwrap_or_else(|| {
            self.named.push(session);
            self.named.len() - 1
        })
    }

    /// Counts a line for the session that a note names, otherwise for the edit that has its text; false if there is neither.
    fn count_line(
        &mut self,
        (path, line, text): (&str, u32, &str),
        noted: Option<(usize, usize)>,
        found: Option<(usize, Claim)>,
    ) -> bool {
        let (session_id, source, model) = match (noted, found) {
            (Some((_, session)), Some((commit, claim))) if self.is_of(claim, session) => {
                let draft = self.draft(commit, claim);
                (draft.lines, draft.named_by) = (draft.lines + 1, Some(NamedBy::Note));
                self.owner_of(claim)
            }
            (Some((commit, session)), _) => {
                self.draft_named(commit, session, NamedBy::Note).lines += 1;
                let named = &self.named[session];
                (named.id.clone(), named.source.clone(), named.model.clone())
            }
            (None, Some((commit, claim))) => {
                self.draft(commit, claim).lines += 1;
                self.owner_of(claim)
            }
            (None, None) => return false,
        };
        let (path, text) = (path.to_string(), text.to_string());
        self.owners.push(LineOwner { path, line, text, session_id, source, model });
        true
    }

    /// The session of an edit, its source, and its model if it had but one.
    fn owner_of(&self, claim: Claim) -> (String, String, Option<String>) {
        let edit = self.edit(claim.edit);
        let (id, source) = &self.read.sessions[edit.session as usize];
        let models = &self.read.library.session(&edit.row).models;
        let model = Some(models).filter(|models| models.len() == 1).and_then(|models| models.first());
        (id.to_string(), (*source).to_string(), model.map(ToString::to_string))
    }

    /// Whether an edit was made in a session that the repository names.
    fn is_of(&self, claim: Claim, named: usize) -> bool {
        let (id, source) = &self.read.sessions[self.edit(claim.edit).session as usize];
        self.named[named].is_session(source, id)
    }

    /// The draft of a session that the repository names.
    fn draft_named(&mut self, commit: usize, named: usize, by: NamedBy) -> &mut Draft {
        let at = self.commits[commit].until();
        let draft = self.drafts.entry((commit, FIRST_NAMED + named as u32, 0, 0)).or_default();
        (draft.at, draft.commit, draft.named, draft.named_by) = (at, Some(commit), Some(named), Some(by));
        draft
    }

    /// Confirms drafts whose session a checkpoint names. A commit that nothing else explains gets the sessions of its checkpoint that
    /// changed one of these files: which of its lines are theirs, a checkpoint does not say.
    fn add_checkpoints(&mut self, paths: &[String]) {
        for at in 0..self.commits.len() {
            let Some(attestation) = self.attestations.get(&self.commits[at].hash) else { continue };
            let sessions = attestation.checkpoint.clone();
            let ids: BTreeSet<&str> = sessions.iter().map(|it| it.session.id.as_str()).collect();
            let mut is_explained = false;
            for draft in self.drafts.values_mut().filter(|draft| draft.commit == Some(at)) {
                is_explained = true;
                let edit = draft.edits.first().map(|number| &self.read.edits[*number as usize]);
                let id = edit.map(|edit| &*self.read.sessions[edit.session as usize].0);
                if id.is_some_and(|id| ids.contains(id)) {
                    draft.named_by.get_or_insert(NamedBy::Checkpoint);
                }
            }
            let touched =
                sessions.iter().filter(|it| it.session.files.iter().any(|file| paths.contains(file)));
            for session in touched.filter(|_| !is_explained) {
                let named = self.intern(NamedSession::from_checkpoint(session));
                self.draft_named(at, named, NamedBy::Checkpoint);
            }
        }
    }

    /// Claims the added lines of every commit; returns the edit behind each line of a commit, and the commit it came with. `of_file` are all commits
    /// of the file, newest first; what they brought is added to `landed`.
    fn claim_commits(
        &mut self,
        aliases: &[String],
        of_file: &[Commit],
        landed: &mut LandedLines,
    ) -> FxHashMap<(String, u64), (usize, Claim)> {
        let mut wrote = FxHashMap::default();
        // Who brought a line, None if nobody is known to: a commit that only moves or formats it does not take it away.
        let mut brought: FxHashMap<u64, Option<(usize, Claim)>> = FxHashMap::default();
        let (mut origins, mut older) = (Vec::new(), of_file);
        for (at, commit) in self.commits.iter().enumerate().rev() {
            land_commits(&mut older, commit, |it| land_commit(&self.pool, it, aliases, landed));
            let has_note = self.attestations.get(&commit.hash).is_some_and(|it| !it.note.sessions.is_empty());
            attribute_new_lines(&self.pool, commit, aliases, landed, |file, hunk, claims| {
                let numbered = (hunk.start..).zip(&hunk.lines).zip(claims).zip(hunk.moved_lines());
                for (((line, (text, added)), claim), moved) in numbered.filter(|(((_, line), _), _)| line.1) {
                    let hash = Line::new(text).hash;
                    if has_note && *added && !moved {
                        let (commit, path) = (commit.hash.clone(), file.path.clone());
                        origins.push((Origin { commit, path, line }, hash, *claim));
                    }
                    let found = match brought.get(&hash) {
                        Some(known) if moved => *known,
                        _ => claim.map(|claim| (at, claim)),
                    };
                    brought.insert(hash, found);
                    wrote.extend(found.map(|found| ((commit.hash.clone(), hash), found)));
                }
            });
        }
        older.iter().rev().for_each(|commit| land_commit(&self.pool, commit, aliases, landed));
        self.add_noted(origins, &mut wrote);
        for (commit, claim) in wrote.values() {
            self.draft(*commit, *claim);
        }
        wrote
    }

    /// Adds the sessions that notes name for lines of the history, and drops the edits that they contradict.
    fn add_noted(
        &mut self,
        origins: Vec<(Origin, u64, Option<Claim>)>,
        wrote: &mut FxHashMap<(String, u64), (usize, Claim)>,
    ) {
        for (origin, text, claim) in origins {
            let Some((commit, session)) = self.noted(&origin) else { continue };
            match claim {
                Some(claim) if self.is_of(claim, session) => {
                    self.draft(commit, claim).named_by = Some(NamedBy::Note);
                }
                _ => {
                    self.draft_named(commit, session, NamedBy::Note);
                    wrote.remove(&(origin.commit, text));
                }
            }
        }
    }

    /// Claims lines that are not committed; returns the edit behind each.
    fn claim_uncommitted(&mut self, region: &Region, landed: &LandedLines) -> FxHashMap<u64, Claim> {
        let claims = self.pool.explain(region, &|_| true, landed);
        let mut wrote = FxHashMap::default();
        for (line, claim) in region.lines.iter().zip(&claims) {
            if let Some(claim) = claim.filter(|_| !line.is_blank()) {
                wrote.insert(line.hash, claim);
            }
        }
        for claim in wrote.values() {
            self.draft(UNCOMMITTED, *claim);
        }
        wrote
    }

    /// Adds edits of the same lines that were taken back in their session and never landed.
    fn add_attempts(&mut self, lines: &[(Line, Option<Origin>)]) {
        let landed: FxHashSet<u32> =
            self.drafts.values().flat_map(|draft| draft.edits.iter().copied()).collect();
        let patches = self.commits.iter().flat_map(|commit| &commit.files).flat_map(|file| &file.hunks);
        let added = patches.flat_map(|hunk| &hunk.lines).filter(|(_, added)| *added);
        let mut known: FxHashSet<u64> = added.map(|(text, _)| Line::new(text).hash).collect();
        known.extend(lines.iter().map(|(line, _)| line.hash));
        let undone = self.pool.find_undone();
        let is_meant = |edit: &SessionEdit| {
            let before = lines_of(edit.edit.before.as_deref().unwrap_or_default());
            let said: Vec<&Line> = before.iter().filter(|line| !line.is_blank()).collect();
            let same = said.iter().filter(|line| known.contains(&line.hash) && line.length >= 8).count();
            same > 0 && 2 * same >= said.len()
        };
        let attempts: Vec<u32> = (0..)
            .zip(&self.read.edits)
            .filter(|(number, edit)| {
                let is_undone =
                    undone[*number as usize].is_some() || self.read.library.is_abandoned(&edit.row);
                is_undone && !landed.contains(number) && is_meant(edit)
            })
            .map(|(number, _)| number)
            .collect();
        for number in attempts {
            let edit = &self.read.edits[number as usize];
            // A turn that also has edits that stayed is a step of its own for those it took back.
            let key = (UNCOMMITTED - 1, edit.session, edit.row.key, edit.row.turn);
            let draft = self.drafts.entry(key).or_default();
            draft.edits.insert(number);
            (draft.undone, draft.at) = (true, draft.at.max(edit.row.at.0));
        }
    }

    fn commit_ref(&self, at: usize) -> CommitRef {
        let commit = &self.commits[at];
        let subject = self.history.mask_line(&commit.subject);
        CommitRef { hash: commit.hash.clone(), subject, at: commit.at }
    }

    /// Fills in steps and summary.
    fn finish(mut self, found: &mut WhyFound) -> Result<(), Error> {
        let mut drafts: Vec<Draft> = std::mem::take(&mut self.drafts).into_values().collect();
        drafts.sort_by_key(|draft| (draft.at, draft.commit));
        let explained: BTreeSet<usize> = drafts.iter().filter_map(|draft| draft.commit).collect();
        let mut unknown: Vec<usize> = (0..self.commits.len()).filter(|at| !explained.contains(at)).collect();
        found.landed = drafts.iter().filter_map(|draft| self.landed(draft)).collect();
        found.owners = std::mem::take(&mut self.owners);
        let limit = self.request.max_steps();
        let total = drafts.len() + unknown.len();
        drafts.drain(..drafts.len().saturating_sub(limit));
        // Newest first: those beyond the limit are the oldest.
        unknown.truncate(limit - drafts.len());
        found.omitted = (total - drafts.len() - unknown.len()) as u32;
        let sessions = drafts.iter().filter_map(|draft| self.session_id(draft));
        let context = SessionContext::read(self.history, self.root, &sessions.collect())?;
        let room = self.request.budget as usize * CHARS_PER_TOKEN / drafts.len().max(1);
        found.steps = drafts.iter().map(|draft| self.step(&context, draft, room)).collect();
        found.steps.extend(unknown.into_iter().map(|at| WhyStep {
            at: Some(self.commits[at].at),
            commit: Some(self.commit_ref(at)),
            ..WhyStep::default()
        }));
        found.steps.sort_by_key(|step| step.at);
        if !self.read.problems.is_empty() {
            found.notes.push(format!("{} edits could not be read", self.read.problems.len()));
        }
        found.summary = summarize(self.history, found);
        Ok(())
    }

    /// The commit that contains a draft, and whose it is.
    fn landed(&self, draft: &Draft) -> Option<Landed> {
        Some(Landed { session_id: self.session_id(draft)?, commit: self.commits[draft.commit?].hash.clone() })
    }

    fn session_id(&self, draft: &Draft) -> Option<String> {
        if let Some(named) = draft.named {
            return Some(self.named[named].id.clone());
        }
        let edit = self.edit(*draft.edits.first()?);
        Some(self.read.sessions[edit.session as usize].0.to_string())
    }

    /// A session that the repository names. Its prompt is that of the transcript if it is here, otherwise what the repository kept.
    fn named_step(
        &self,
        context: &SessionContext<'_, '_>,
        draft: &Draft,
        named: &NamedSession,
        room: usize,
    ) -> WhyStep {
        let asked = context.last_prompt(&named.id, draft.at);
        let (turn, source, prompt) = match &asked {
            Some((row, text)) => (Some(row.turn), context.session(row).source.to_string(), text.as_str()),
            None => (None, named.source.clone(), named.prompt.as_str()),
        };
        WhyStep {
            evidence: Evidence::Attested,
            attested_by: draft.named_by.map(|by| by.as_str().to_string()),
            at: Some(draft.at),
            session_id: Some(named.id.clone()),
            source: Some(source).filter(|source| !source.is_empty()),
            model: named.model.clone(),
            turn,
            lines: draft.lines,
            prompt: truncate(&self.history.mask_text(prompt.trim()), room * 6 / 10),
            commit: draft.commit.map(|at| self.commit_ref(at)),
            ..WhyStep::default()
        }
    }

    fn step(&self, context: &SessionContext<'_, '_>, draft: &Draft, room: usize) -> WhyStep {
        if let Some(named) = draft.named {
            return self.named_step(context, draft, &self.named[named], room);
        }
        let edits: Vec<&SessionEdit> = draft.edits.iter().map(|number| self.edit(*number)).collect();
        let Some(last) = edits.last() else { return WhyStep::default() };
        let (id, source) = &self.read.sessions[last.session as usize];
        let commit = draft.commit.map(|at| self.commit_ref(at));
        let is_made = || commit.as_ref().is_some_and(|commit| context.attests(&last.row, &commit.hash));
        let named_by = draft.named_by.or_else(|| is_made().then_some(NamedBy::Commit));
        let has_base = draft.edits.iter().any(|number| self.pool.has_base(*number));
        let evidence = match (named_by.is_some(), has_base && (draft.is_here || draft.undone)) {
            (true, _) => Evidence::Attested,
            (_, true) => Evidence::Textual,
            _ => Evidence::Likely,
        };
        let diff: String = edits.iter().map(|edit| short_diff(edit)).collect();
        let mut calls: Vec<String> = edits.iter().map(|edit| edit.call.clone()).collect();
        calls.dedup();
        let part = |text: &str, share: usize| truncate(&self.history.mask_text(text), room * share / 10);
        WhyStep {
            device: None,
            evidence,
            attested_by: named_by.map(|by| by.as_str().to_string()),
            model: None,
            at: Some(draft.at),
            session_id: Some(id.to_string()),
            source: Some((*source).to_string()),
            turn: Some(last.row.turn),
            calls,
            lines: draft.lines,
            undone: draft.undone,
            prompt: part(context.prompt(&edits[0].row).trim(), 3),
            reasoning: part(context.reasoning(&edits[0].row).trim(), 3),
            diff: part(&diff, 4),
            outcome: context.outcome(&last.row),
            commit,
        }
    }
}

/// Passes the commits of a file before a commit to `land`, oldest first, and drops them from the list, which is newest first.
fn land_commits(commits: &mut &[Commit], before: &Commit, mut land: impl FnMut(&Commit)) {
    while let Some((oldest, newer)) = commits.split_last() {
        if oldest.hash == before.hash || oldest.at > before.at {
            break;
        }
        land(oldest);
        *commits = newer;
    }
}

const CHARS_PER_TOKEN: usize = 4;

/// The first characters of a text, with `…` if there are more.
fn truncate(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_string();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)])
}

/// The removed and added lines of an edit, without context.
fn short_diff(edit: &SessionEdit) -> String {
    let before = edit.edit.before.as_deref().unwrap_or_default();
    let (old, new) = (lines_of(before), lines_of(&edit.edit.after));
    let matched = match_lines(&old, &new);
    let kept: FxHashSet<u32> = matched.iter().flatten().copied().collect();
    let mut out = String::new();
    for (_, line) in (0..).zip(before.lines()).filter(|(at, _)| !kept.contains(at)) {
        append_fmt(&mut out, format_args!("-{line}\n"));
    }
    for (_, line) in matched.iter().zip(edit.edit.after.lines()).filter(|(old, _)| old.is_none()) {
        append_fmt(&mut out, format_args!("+{line}\n"));
    }
    out
}

/// The answer in one line: the last cause, its outcome, and how much is explained.
fn summarize(history: &History<'_>, found: &WhyFound) -> String {
    let share = format!("{} of {} lines explained", found.explained, found.lines);
    let is_cause = |step: &&WhyStep| step.session_id.is_some() && !step.undone;
    let Some(last) = found.steps.iter().rev().find(is_cause) else {
        return format!("`{}`: unknown, no recorded session explains it ({share})", found.target);
    };
    let prompt = match one_line(&last.prompt) {
        prompt if prompt.is_empty() => String::new(),
        prompt => format!("\"{}\" ", truncate(&prompt, 160)),
    };
    let day = last.at.map(|at| history.clock.local_day(record::Stamp(at))).unwrap_or_default();
    let session = short_id(last.session_id.as_deref().unwrap_or_default());
    let who = format!("{}, {day}, session {session}", last.source.as_deref().unwrap_or("agent"));
    let mut out = format!("`{}`: {prompt}({who})", found.target);
    if let Some(outcome) = &last.outcome {
        let result = match outcome.status.as_str() {
            "success" => "passed",
            "error" => "failed",
            _ => "ran",
        };
        append_fmt(&mut out, format_args!("; `{}` {result} afterwards", truncate(&outcome.command, 60)));
    }
    if found.commit.is_none() {
        let later = found.steps.iter().rev().take_while(|step| step.at > last.at);
        let changed = later.filter(|step| !step.undone).count();
        out += if changed == 0 { "; unchanged since" } else { "; changed since" };
    }
    format!("{out}; {share}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_one_or_a_range() {
        assert_eq!(parse_lines("3"), Some((3, 3)));
        assert_eq!(parse_lines("3-9"), Some((3, 9)));
        for wrong in ["0", "9-3", "x", "3-", ":", ""] {
            assert_eq!(parse_lines(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn files_are_found_from_the_root_and_the_working_directory() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("src")).unwrap();
        std::fs::write(root.path().join("src/a.rs"), "x\n").unwrap();
        let cwd = root.path().join("src");
        let place = |text: &str| parse_place(text, root.path(), &cwd).unwrap();
        let found = place("a.rs:2-3").unwrap();
        assert_eq!((found.file.as_str(), found.lines), ("src/a.rs", Some((2, 3))));
        assert_eq!(place("src/a.rs").unwrap().lines, None);
        assert_eq!(place("Store.get"), None);
    }

    #[test]
    fn a_text_is_cut_with_an_ellipsis() {
        assert_eq!(truncate("abc", 3), "abc");
        assert_eq!(truncate("abcd", 3), "abc…");
        assert_eq!(truncate("éé", 3), "é…");
    }
}
