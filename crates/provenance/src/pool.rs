//! Claims lines for the edits that wrote them.
//!
//! A line is claimed by an edit that added it, earlier, if its neighbours agree too, or if the edit replaced the same text; a line
//! alone must be long and rare, and text from another file must agree at length. Of several such edits one to the file itself wins,
//! then the best supported, then the latest. The same file at the same hour is no evidence. Does not know who made an edit: sessions are numbers.

use crate::diff::match_lines;
use crate::landed::LandedLines;
use crate::line::{Line, lines_of};
use rustc_hash::{FxHashMap, FxHashSet};

/// An edit as its agent recorded it.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'t> {
    pub session: u32,
    /// Milliseconds.
    pub at: i64,
    pub path: &'t str,
    /// None if only the new text is known.
    pub before: Option<&'t str>,
    pub after: &'t str,
}

/// Lines of a file, some of which are to be explained.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// The names of the file inside the repository, present and past.
    pub paths: Vec<String>,
    pub lines: Vec<Line>,
    /// Which lines are asked for; the others are their surroundings.
    pub wanted: Vec<bool>,
    /// Lines that were removed in the same place.
    pub removed: Vec<Line>,
    /// Edits after this time cannot have written them.
    pub until: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub edit: u32,
    /// Characters that agree: of the line, its neighbours and the replaced text.
    pub support: u32,
    /// Whether the edit was made to this file; otherwise its text came from another one.
    pub is_here: bool,
}

/// Edits, searchable by the lines they added.
#[derive(Debug, Default)]
pub struct Pool {
    edits: Vec<Known>,
    /// Where each added line occurs: edit and line.
    index: FxHashMap<u64, Vec<(u32, u32)>>,
}

#[derive(Debug)]
struct Known {
    session: u32,
    at: i64,
    path: String,
    has_base: bool,
    lines: Vec<Line>,
    added: Vec<bool>,
    removed: Vec<Line>,
}

/// Lines compared on each side of a line.
const NEIGHBOURS: usize = 8;
/// Characters that must agree, in at least two lines.
const LEAST_SUPPORT: u32 = 20;
/// A line alone must be this long, and added in no more sessions than this.
const ALONE_LENGTH: u32 = 24;
const ALONE_SESSIONS: usize = 2;
/// Characters that must agree if the edit was made to another file: a plan that has the code, a file that was moved.
const ELSEWHERE_SUPPORT: u32 = 80;
/// More support than this is no better: of two edits that have it, the later one is right. An edit that has landed needs as much to explain
/// a line again.
const ENOUGH_SUPPORT: u32 = 100;
/// A line that occurs more often is claimed only together with its neighbours.
const MAX_PLACES: usize = 400;

impl Pool {
    /// Adds an edit and returns its number.
    pub fn add(&mut self, edit: Edit<'_>) -> u32 {
        let number = self.edits.len() as u32;
        let (lines, before) = (lines_of(edit.after), lines_of(edit.before.unwrap_or_default()));
        let matched = match_lines(&before, &lines);
        let added: Vec<bool> = matched.iter().map(Option::is_none).collect();
        let kept: FxHashSet<u32> = matched.into_iter().flatten().collect();
        let is_gone = |(at, line): &(u32, &Line)| !kept.contains(at) && !line.is_blank();
        let removed = (0..).zip(&before).filter(is_gone).map(|(_, line)| *line).collect();
        for (at, line) in lines.iter().enumerate().filter(|(at, line)| added[*at] && !line.is_blank()) {
            self.index.entry(line.hash).or_default().push((number, at as u32));
        }
        let (path, has_base) = (edit.path.to_string(), edit.before.is_some());
        self.edits.push(Known { session: edit.session, at: edit.at, path, has_base, lines, added, removed });
        number
    }

    pub fn len(&self) -> usize {
        self.edits.len()
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    pub fn session_of(&self, edit: u32) -> u32 {
        self.edits[edit as usize].session
    }

    /// Whether the text before the edit is known.
    pub fn has_base(&self, edit: u32) -> bool {
        self.edits[edit as usize].has_base
    }

    /// The sessions that added a line to any file until a time, possibly several times each.
    pub fn writers(&self, line: Line, until: i64) -> impl Iterator<Item = u32> {
        let places = self.index.get(&line.hash).into_iter().flatten();
        let edits = places.map(|(edit, _)| &self.edits[*edit as usize]);
        edits.filter(move |edit| edit.at <= until).map(|edit| edit.session)
    }

    /// For each line of a region, the edit that wrote it. `is_allowed` can exclude sessions.
    pub fn explain(
        &self,
        region: &Region,
        is_allowed: &dyn Fn(u32) -> bool,
        landed: &LandedLines,
    ) -> Vec<Option<Claim>> {
        let removed: FxHashSet<u64> = region.removed.iter().map(|line| line.hash).collect();
        let claim = |at: usize| self.best_claim(region, at, &removed, is_allowed, landed);
        let mut places: Vec<Option<(Claim, u32)>> =
            (0..region.lines.len()).map(|at| if region.wanted[at] { claim(at) } else { None }).collect();
        self.extend_claims(region, &mut places);
        places.into_iter().map(|place| place.map(|(claim, _)| claim)).collect()
    }

    fn best_claim(
        &self,
        region: &Region,
        at: usize,
        removed: &FxHashSet<u64>,
        is_allowed: &dyn Fn(u32) -> bool,
        landed: &LandedLines,
    ) -> Option<(Claim, u32)> {
        let line = region.lines[at];
        let places = self.index.get(&line.hash).filter(|places| places.len() <= MAX_PLACES)?;
        let is_possible = |(edit, _): &&(u32, u32)| {
            let known = &self.edits[*edit as usize];
            known.at <= region.until && is_allowed(known.session)
        };
        let possible: Vec<&(u32, u32)> = places.iter().filter(is_possible).collect();
        let sessions: FxHashSet<u32> =
            possible.iter().map(|(edit, _)| self.edits[*edit as usize].session).collect();
        let scored = possible.into_iter().filter_map(|(edit, place)| {
            let known = &self.edits[*edit as usize];
            let (mut count, mut support) = agreeing(&region.lines, at, &known.lines, *place as usize);
            let replaced = known.removed.iter().filter(|line| removed.contains(&line.hash));
            let replaced = replaced.map(|line| line.length).max().unwrap_or(0);
            (count, support) = (count + u32::from(replaced > 0), support + replaced);
            let is_here = is_same_file(&known.path, &region.paths);
            let is_alone_enough = line.length >= ALONE_LENGTH && sessions.len() <= ALONE_SESSIONS;
            let least = if is_here { LEAST_SUPPORT } else { ELSEWHERE_SUPPORT };
            let is_enough = count >= 2 && support >= least || is_here && is_alone_enough;
            let is_new = support >= ENOUGH_SUPPORT || !landed.contains(*edit, line);
            (is_enough && is_new).then_some((Claim { edit: *edit, support, is_here }, *place, known))
        });
        let best = scored.max_by_key(|(claim, _, known)| {
            (claim.is_here, claim.support.min(ENOUGH_SUPPORT), known.has_base, known.at, claim.edit)
        });
        best.map(|(claim, place, _)| (claim, place))
    }

    /// Extends claims to neighbours that say too little alone: brackets, `return nil`.
    fn extend_claims(&self, region: &Region, places: &mut [Option<(Claim, u32)>]) {
        let mut extend = |at: usize, from: usize, step: i64| {
            if places[at].is_some() || !region.wanted[at] {
                return;
            }
            let Some((claim, place)) = places[from] else { return };
            let known = &self.edits[claim.edit as usize];
            let Some(place) = usize::try_from(i64::from(place) + step).ok() else { return };
            let is_same = known.lines.get(place).is_some_and(|line| *line == region.lines[at]);
            if is_same && known.added[place] {
                places[at] = Some((claim, place as u32));
            }
        };
        (1..region.lines.len()).for_each(|at| extend(at, at - 1, 1));
        (1..region.lines.len()).rev().for_each(|at| extend(at - 1, at, -1));
    }

    /// For each edit, the later one of the same session that removed all it had added.
    pub fn find_undone(&self) -> Vec<Option<u32>> {
        let mut by_file: FxHashMap<(u32, &str), Vec<u32>> = FxHashMap::default();
        for (number, known) in (0..).zip(&self.edits) {
            by_file.entry((known.session, &known.path)).or_default().push(number);
        }
        let mut found = vec![None; self.edits.len()];
        for edits in by_file.values_mut() {
            edits.sort_by_key(|number| (self.edits[*number as usize].at, *number));
            for (at, number) in edits.iter().enumerate() {
                let later = edits[at + 1..].iter().take(MAX_LATER);
                found[*number as usize] = later.copied().find(|other| self.undoes(*other, *number));
            }
        }
        found
    }

    fn undoes(&self, later: u32, earlier: u32) -> bool {
        let (later, earlier) = (&self.edits[later as usize], &self.edits[earlier as usize]);
        let mut added =
            earlier.lines.iter().zip(&earlier.added).filter(|(line, added)| **added && !line.is_blank());
        let Some(first) = added.next() else { return false };
        let is_gone =
            |line: &Line| later.removed.iter().any(|removed| removed == line) && !later.lines.contains(line);
        is_gone(first.0) && added.all(|(line, _)| is_gone(line))
    }
}

/// Later edits of a file that are compared with one.
const MAX_LATER: usize = 60;

/// How many lines around a pair of equal lines agree without a gap, and their characters.
fn agreeing(region: &[Line], at: usize, edit: &[Line], place: usize) -> (u32, u32) {
    let is_same = |(one, other): &(&Line, &Line)| one == other;
    let back = region[..at].iter().rev().zip(edit[..place].iter().rev()).take(NEIGHBOURS).take_while(is_same);
    let ahead = region[at..].iter().zip(&edit[place..]).take(NEIGHBOURS).take_while(is_same);
    let lines = back.chain(ahead).filter(|(line, _)| !line.is_blank());
    lines.fold((0, 0), |(count, support), (line, _)| (count + 1, support + line.length))
}

/// Whether a recorded path is one of these files of the repository: worktrees, clones and machines have other folders above it.
pub fn is_same_file(recorded: &str, paths: &[String]) -> bool {
    let recorded = recorded.strip_prefix("./").unwrap_or(recorded);
    paths.iter().any(|path| {
        recorded.strip_suffix(path.as_str()).is_some_and(|above| above.is_empty() || above.ends_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(edits: &[(u32, i64, Option<&str>, &str)]) -> Pool {
        let mut pool = Pool::default();
        for (session, at, before, after) in edits {
            pool.add(Edit { session: *session, at: *at, path: "/w/src/a.rs", before: *before, after });
        }
        pool
    }

    fn region(text: &str, until: i64) -> Region {
        let lines = lines_of(text);
        let wanted = vec![true; lines.len()];
        Region { paths: vec!["src/a.rs".to_string()], lines, wanted, removed: Vec::new(), until }
    }

    fn sessions(pool: &Pool, region: &Region) -> Vec<Option<u32>> {
        let claims = pool.explain(region, &|_| true, &LandedLines::default());
        claims.into_iter().map(|claim| claim.map(|claim| pool.session_of(claim.edit))).collect()
    }

    const BODY: &str = "fn flush(&self) {\n    retry(2);\n    send_all();\n}\n";

    #[test]
    fn lines_with_their_neighbours_are_claimed_with_their_brackets() {
        let pool = pool(&[(7, 10, Some(""), BODY)]);
        assert_eq!(sessions(&pool, &region(BODY, 20)), [Some(7); 4]);
        assert_eq!(sessions(&pool, &region(BODY, 5)), [None; 4], "the edit came later");
        let mut elsewhere = region(BODY, 20);
        elsewhere.paths = vec!["src/b.rs".to_string()];
        assert_eq!(sessions(&pool, &elsewhere), [None; 4], "too little for another file");
    }

    #[test]
    fn a_long_text_is_recognised_in_another_file() {
        let text = "let first = compute_value(1);\nlet second = compute_value(2);\nlet third = compute_value(first, second);\n";
        let pool = pool(&[(7, 10, Some(""), text)]);
        let mut moved = region(text, 20);
        moved.paths = vec!["src/b.rs".to_string()];
        let claims = pool.explain(&moved, &|_| true, &LandedLines::default());
        assert!(claims.iter().all(|claim| claim.is_some_and(|claim| !claim.is_here)));
    }

    #[test]
    fn a_short_line_alone_is_not_evidence() {
        let pool = pool(&[(7, 10, Some(""), "return nil\n")]);
        assert_eq!(sessions(&pool, &region("other_call(x)\nreturn nil\n}\n", 20)), [None; 3]);
    }

    #[test]
    fn the_replaced_text_is_evidence() {
        let pool = pool(&[(7, 10, Some("let timeout = 5;"), "let timeout = 50;")]);
        let mut changed = region("let timeout = 50;", 20);
        assert_eq!(sessions(&pool, &changed), [None]);
        changed.removed = lines_of("let timeout = 5;");
        assert_eq!(sessions(&pool, &changed), [Some(7)]);
    }

    #[test]
    fn lines_that_an_edit_only_repeats_are_not_its_own() {
        let longer = BODY.replace("send_all();\n", "send_all();\n    wait_for_reply();\n");
        let pool = pool(&[(1, 10, Some(""), BODY), (2, 20, Some(BODY), &longer)]);
        let found = sessions(&pool, &region(&longer, 30));
        assert_eq!(found, [Some(1), Some(1), Some(1), Some(2), None]);
    }

    #[test]
    fn of_equal_edits_the_latest_before_the_commit_counts() {
        let pool = pool(&[(1, 10, Some(""), BODY), (2, 20, Some(""), BODY), (3, 40, Some(""), BODY)]);
        assert_eq!(sessions(&pool, &region(BODY, 30)), [Some(2); 4]);
        let claims = pool.explain(&region(BODY, 30), &|session| session != 2, &LandedLines::default());
        assert!(claims.iter().flatten().all(|claim| pool.session_of(claim.edit) == 1));
    }

    #[test]
    fn an_edit_that_the_session_takes_back_is_undone() {
        let other = BODY.replace("retry(2)", "retry(3)");
        let pool =
            pool(&[(1, 10, Some(BODY), &other), (1, 20, Some(&other), BODY), (2, 30, Some(BODY), &other)]);
        assert_eq!(pool.find_undone(), [Some(1), None, None]);
    }

    #[test]
    fn paths_are_compared_inside_the_repository() {
        let paths = vec!["src/a.rs".to_string()];
        for (recorded, same) in
            [("/home/x/src/a.rs", true), ("src/a.rs", true), ("./src/a.rs", true), ("/x/mysrc/a.rs", false)]
        {
            assert_eq!(is_same_file(recorded, &paths), same, "{recorded}");
        }
    }
}
