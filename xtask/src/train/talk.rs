//! Trains what `memory` keeps of a session: for a person's words and for an agent's, whether they are a fact and of which
//! kind. Sets are left out as a whole: sentences of one speaker resemble each other.
//!
//! Does not know how a candidate is described (`memory::talk`).

use super::boost::{Example, Settings};
use super::linear::{self, Linear};
use super::model::{Model, format_linear, write_text};
use super::talk_set::{LANGUAGES, Session, TalkSet, fold, has};
use crate::Outcome;
use crate::args::Args;
use crate::repository;
use memory::talk::{
    Candidate, WORK_KINDS, describe_work, feature_names, find_candidates, work_feature_names,
};
use record::Role;
use std::path::Path;

const TREES: Settings = Settings {
    trees: 400,
    depth: 3,
    rate: 0.05,
    base: -1.0,
    regularization: 3.0,
    min_leaf: 4.0,
    features_seen: 20,
};
/// The penalty on the weights of the linear models.
const PENALTY: f64 = 100.0;
const KIND_PENALTY: f64 = 25.0;
/// The log odds above which a text is kept, a person's and an agent's: one choice for all sets, because a threshold that is
/// fitted to three speakers is wrong for the fourth (between 73 and 100 % of the kept texts were right).
const THRESHOLDS: [f64; 2] = [0.8, 0.95];
const ROLES: [Role; 2] = [Role::User, Role::Assistant];
const KINDS: [&str; 6] = ["decision", "rule", "preference", "constraint", "cause", "open"];

/// A candidate with what the set says about it.
struct Labelled {
    candidate: Candidate,
    set: usize,
    session: usize,
    is_right: bool,
    /// The kind of the fact of its session that it states.
    kind: Option<usize>,
}

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["sets", "without"], &["folds", "show"])?;
    let folder = args.path_value("sets").ok_or("--sets DIR is missing")?;
    let mut sets = TalkSet::load_all(&folder)?;
    sets.retain(|set| Some(set.name.as_str()) != args.text_value("without"));
    let all = label_candidates(&sets);
    let rights = all.iter().filter(|one| one.is_right).count();
    println!("{} sets, {} candidates, {rights} right", sets.len(), all.len());
    if args.has_switch("folds") {
        print_folds(&sets, &all, args.has_switch("show"));
        return Ok(true);
    }
    let everything: Vec<usize> = (0..sets.len()).collect();
    let target = repository::root().join("crates/memory/src/talk");
    for (role, name) in [(Role::User, "person"), (Role::Assistant, "agent")] {
        let model = train_role(&all, role, &everything);
        model.write(&target, name, &feature_names(role), threshold_of(role))?;
        let kinds = train_kinds(&all, role, &everything);
        let named = KINDS.iter().copied().zip(&kinds);
        write_kinds(&target.join(format!("{name}.kinds.txt")), &feature_names(role), named)?;
    }
    let work = train_work(&sets, &everything);
    let named = WORK_KINDS.iter().map(|(kind, _)| *kind).zip(&work);
    write_kinds(&target.join("work.kinds.txt"), &work_feature_names(), named)?;
    Ok(true)
}

fn label_candidates(sets: &[TalkSet]) -> Vec<Labelled> {
    let mut all = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        for (nth, session) in set.sessions.iter().enumerate() {
            for candidate in find_candidates(&session.digest) {
                let text = fold(&candidate.text);
                let stated = session.facts.iter().find(|fact| has(&text, &fact.words));
                let kind = stated.and_then(|fact| KINDS.iter().position(|kind| *kind == fact.kind));
                let is_right = set.is_right(&candidate.text);
                all.push(Labelled { candidate, set: at, session: nth, is_right, kind });
            }
        }
    }
    all
}

fn train_role(all: &[Labelled], role: Role, sets: &[usize]) -> Model {
    let chosen = all.iter().filter(|one| one.candidate.role == role && sets.contains(&one.set));
    let example = |one: &Labelled| Example {
        features: one.candidate.features.clone(),
        positive: one.is_right,
        weight: 1.0,
    };
    Model::train(&chosen.map(example).collect::<Vec<_>>(), PENALTY, TREES)
}

fn threshold_of(role: Role) -> f64 {
    THRESHOLDS[usize::from(role != Role::User)]
}

// ---- kinds

fn train_kinds(all: &[Labelled], role: Role, sets: &[usize]) -> Vec<Linear> {
    let train = |kind: usize| {
        let chosen =
            all.iter().filter(|one| one.candidate.role == role && sets.contains(&one.set) && one.is_right);
        let known: Vec<&Labelled> = chosen.filter(|one| one.kind.is_some()).collect();
        let many = known.iter().filter(|one| one.kind == Some(kind)).count();
        // Of two hundred facts a dozen are open points: without more weight none would be recognised.
        let more = ((known.len() - many) as f32 / many.max(1) as f32).sqrt();
        let example = |one: &&Labelled| {
            let positive = one.kind == Some(kind);
            Example {
                features: one.candidate.features.clone(),
                positive,
                weight: if positive { more } else { 1.0 },
            }
        };
        linear::train(&known.iter().map(example).collect::<Vec<_>>(), KIND_PENALTY)
    };
    (0..KINDS.len()).map(train).collect()
}

fn guess_kind(models: &[Linear], features: &[u8]) -> usize {
    let sums = models.iter().map(|model| model.sum(features)).enumerate();
    sums.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(kind, _)| kind)
}

// ---- kinds of work

/// The penalty for the kinds of work: there are fewer sessions than facts.
const WORK_PENALTY: f64 = 40.0;

fn train_work(sets: &[TalkSet], chosen: &[usize]) -> Vec<Linear> {
    let sessions: Vec<&Session> = chosen.iter().flat_map(|set| &sets[*set].sessions).collect();
    let described: Vec<Vec<u8>> = sessions.iter().map(|session| describe_work(&session.digest)).collect();
    let train = |(kind, _): &(&str, &str)| {
        let examples: Vec<Example> = sessions
            .iter()
            .zip(&described)
            .map(|(session, features)| {
                let positive = session.kinds.iter().any(|known| fold_kind(known) == *kind);
                Example { features: features.clone(), positive, weight: 1.0 }
            })
            .collect();
        linear::train(&examples, WORK_PENALTY)
    };
    WORK_KINDS.iter().map(train).collect()
}

/// How the sets' writers call the kinds of work.
const SYNONYMS: &[(&str, &str)] = &[
    ("bug_fix", "bug debugging hotfix fix"),
    ("refactor", "cleanup simplify"),
    ("performance", "perf optimization slow"),
    ("upgrade", "dependency dependencies dependency_upgrade migration"),
    ("config", "configuration setup ops devops infra infrastructure ci build packaging release"),
    ("incident", "incident_response postmortem post_mortem"),
    ("review", "code_review"),
    ("question", "explanation explain learning q_and_a discussion"),
    ("tests", "test testing"),
    ("chore", "chores maintenance tooling automation"),
    ("design", "decision architecture planning plan"),
    ("research", "spike exploration experiment prototype abandoned"),
];

fn fold_kind(kind: &str) -> &str {
    let known = SYNONYMS.iter().find(|(_, words)| words.split(' ').any(|word| word == kind));
    known.map_or(kind, |(kind, _)| kind)
}

/// The kinds of work that are named for the sessions of a set that was left out, right and all, and how many are named.
fn count_work(sets: &[TalkSet], held: usize) -> (usize, usize, usize) {
    let others: Vec<usize> = (0..sets.len()).filter(|set| *set != held).collect();
    let models = train_work(sets, &others);
    let (mut right, mut named) = (0, 0);
    for session in &sets[held].sessions {
        let features = describe_work(&session.digest);
        let mut sums: Vec<(f64, &str)> =
            models.iter().zip(WORK_KINDS).map(|(model, (kind, _))| (model.sum(&features), *kind)).collect();
        sums.sort_by(|a, b| b.0.total_cmp(&a.0));
        let many = sums.iter().take(3).filter(|(sum, _)| 1.0 / (1.0 + (-sum).exp()) > 0.2).count().max(2);
        named += many;
        right += usize::from(
            sums[..many].iter().any(|(_, kind)| session.kinds.iter().any(|known| fold_kind(known) == *kind)),
        );
    }
    (right, sets[held].sessions.len(), named)
}

// ---- reports

/// What was kept of a set that was left out.
#[derive(Default)]
struct Report {
    wanted: usize,
    found: usize,
    kept: usize,
    right: usize,
    by_kind: [(usize, usize); 6],
    /// By the language of the session: facts found and wanted, texts right and kept.
    by_language: [[usize; 4]; LANGUAGES.len()],
    confusion: [[usize; 6]; 6],
}

/// How much higher thresholds are reported too.
const STRICTER: [f64; 4] = [0.2, 0.4, 0.6, 0.8];

fn print_folds(sets: &[TalkSet], all: &[Labelled], show: bool) {
    let mut total = Report::default();
    let mut stricter: [Report; STRICTER.len()] = Default::default();
    for held in 0..sets.len() {
        let others: Vec<usize> = (0..sets.len()).filter(|set| *set != held).collect();
        let mut kept: Vec<&Labelled> = Vec::new();
        let mut scored: Vec<(f64, &Labelled)> = Vec::new();
        let mut report = Report::default();
        for role in ROLES {
            let model = train_role(all, role, &others);
            let threshold = threshold_of(role);
            let kinds = train_kinds(all, role, &others);
            let own = all.iter().filter(|one| one.candidate.role == role && one.set == held);
            let above = own.map(|one| (model.score(&one.candidate.features) - threshold, one));
            let above: Vec<(f64, &Labelled)> = above.filter(|(above, _)| *above > 0.0).collect();
            for (_, one) in &above {
                if let Some(kind) = one.kind {
                    report.confusion[kind][guess_kind(&kinds, &one.candidate.features)] += 1;
                }
                kept.push(one);
            }
            scored.extend(above);
        }
        for (step, sum) in STRICTER.iter().zip(&mut stricter) {
            let mut report = Report::default();
            let kept = scored.iter().filter(|(above, _)| above > step).map(|(_, one)| *one);
            report.count(&sets[held], &kept.collect::<Vec<_>>());
            sum.add(&report);
        }
        report.count(&sets[held], &kept);
        report.print(&format!("set {}, not trained on", sets[held].name));
        let (right, sessions, named) = count_work(sets, held);
        println!(
            "  kinds of work: right for {right} of {sessions} sessions, {:.1} named each",
            named as f64 / sessions as f64
        );
        if show {
            print_errors(&sets[held], &kept);
        }
        total.add(&report);
    }
    total.print("all sets, each not trained on");
    for (step, report) in STRICTER.iter().zip(&stricter) {
        report.print(&format!("  thresholds higher by {step}"));
    }
    println!(
        "\nkind stated (row) and guessed (column):\n{:12}{}",
        "",
        KINDS.map(|kind| format!("{kind:>12}")).concat()
    );
    for (kind, row) in KINDS.iter().zip(total.confusion) {
        println!("{kind:12}{}", row.map(|many| format!("{many:>12}")).concat());
    }
}

impl Report {
    fn count(&mut self, set: &TalkSet, kept: &[&Labelled]) {
        self.kept = kept.len();
        self.right = kept.iter().filter(|one| one.is_right).count();
        let texts: Vec<String> = kept.iter().map(|one| fold(&one.candidate.text)).collect();
        for one in kept {
            let language = &mut self.by_language[set.sessions[one.session].language()];
            language[2] += usize::from(one.is_right);
            language[3] += 1;
        }
        let facts =
            set.sessions.iter().flat_map(|session| session.facts.iter().map(move |fact| (session, fact)));
        for (session, fact) in facts.filter(|(_, fact)| !fact.is_superseded) {
            let is_found = texts.iter().any(|text| has(text, &fact.words));
            self.by_language[session.language()][0] += usize::from(is_found);
            self.by_language[session.language()][1] += 1;
            self.wanted += 1;
            self.found += usize::from(is_found);
            if let Some(kind) = KINDS.iter().position(|kind| *kind == fact.kind) {
                self.by_kind[kind].0 += usize::from(is_found);
                self.by_kind[kind].1 += 1;
            }
        }
    }

    fn add(&mut self, other: &Report) {
        self.wanted += other.wanted;
        self.found += other.found;
        self.kept += other.kept;
        self.right += other.right;
        for (sum, part) in self.by_language.iter_mut().flatten().zip(other.by_language.iter().flatten()) {
            *sum += part;
        }
        for (kind, (found, wanted)) in other.by_kind.iter().enumerate() {
            self.by_kind[kind].0 += found;
            self.by_kind[kind].1 += wanted;
            for (guess, many) in other.confusion[kind].iter().enumerate() {
                self.confusion[kind][guess] += many;
            }
        }
    }

    fn print(&self, title: &str) {
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        println!(
            "{title}: recall {:.1} % of {}, precision {:.1} % of {}",
            share(self.found, self.wanted),
            self.wanted,
            share(self.right, self.kept),
            self.kept
        );
        let kinds =
            KINDS.iter().zip(self.by_kind).map(|(kind, (found, wanted))| format!("{kind} {found}/{wanted}"));
        println!("  {}", kinds.collect::<Vec<_>>().join(", "));
        for (language, [found, wanted, right, kept]) in LANGUAGES.iter().zip(self.by_language) {
            println!("  {language}: recall {found}/{wanted}, precision {right}/{kept}");
        }
    }
}

fn print_errors(set: &TalkSet, kept: &[&Labelled]) {
    for one in kept.iter().filter(|one| !one.is_right) {
        println!(
            "  wrong  {} {:?}: {}",
            set.sessions[one.session].slug, one.candidate.role, one.candidate.text
        );
    }
}

// ---- files

fn write_kinds<'m>(
    path: &Path,
    names: &[String],
    models: impl Iterator<Item = (&'m str, &'m Linear)>,
) -> Result<(), String> {
    let parts = models.map(|(kind, model)| format!("# {kind}\n{}", format_linear(names, model)));
    write_text(path, &parts.collect::<String>())
}
