//! Invariants of a memory under any sequence of events: reopening, merging, editing, forgetting.
//!
//! Does not test how names are derived.

use super::*;
use crate::entry::{AttributedText, By, Finding, Kind, NotedFact, Origin, State, Subject, fact_id};
use proptest::prelude::*;

fn new_store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("memory.db")).unwrap();
    (folder, store)
}

fn sample_fact(text: &str) -> NotedFact {
    NotedFact {
        is_by_agent: false,
        text: text.into(),
        evidence: vec!["m1".into()],
        symbols: vec!["a.rs".into()],
        state: State::Fresh,
        stated_at: Stamp(2),
        kind: Kind::Rule,
        subject: Subject::default(),
        replaces: Vec::new(),
    }
}

/// A job's finding for a session; the numbers select the texts.
fn sample_finding(session: u8, name: u8, by: By, ended: i64, facts: &[u8]) -> Finding {
    Finding {
        source: "codex".into(),
        session_id: format!("s{session}"),
        project: "/p".into(),
        started_at: Stamp(1),
        ended_at: Stamp(ended),
        name: (format!("name {name}"), by),
        summary: (format!("summary {name}"), by),
        tags: vec![format!("t{name}"), "p".into()],
        tagged_by: by,
        facts: facts.iter().map(|n| sample_fact(&format!("we decided {n}"))).collect(),
        origin: if by == By::Model { Origin::Model } else { Origin::User },
        at: Stamp(ended),
    }
}

#[test]
fn findings_survive_reopening() {
    let (folder, mut store) = new_store();
    let found = sample_finding(1, 1, By::Derived, 5, &[1, 2]);
    let applied = store.apply_finding(&found).unwrap();
    assert_eq!(applied, ApplyOutcome { is_new: true, changed: true, facts: 2, in_review: 0 });
    drop(store);
    let store = Store::open_read_only(&folder.path().join("memory.db")).unwrap().unwrap();
    let (sessions, facts) = store.load_all().unwrap();
    assert_eq!((sessions[0].name.text.as_str(), sessions[0].ended_at), ("name 1", Stamp(5)));
    assert_eq!(sessions[0].tags.keys().collect::<Vec<_>>(), ["p", "t1"]);
    assert_eq!((facts.len(), facts[0].evidence.len(), facts[0].symbols.len()), (2, 1, 1));
    assert_eq!(facts[0].made_at, Stamp(2), "dated by the message, not by the job");
    assert!(Store::open_read_only(&folder.path().join("none.db")).unwrap().is_none());
}

#[test]
fn sessions_are_found_by_their_given_names() {
    let (_folder, mut store) = new_store();
    for (session, by) in [(1, By::Derived), (2, By::Model), (3, By::Model)] {
        store.apply_finding(&sample_finding(session, session, by, i64::from(session), &[])).unwrap();
    }
    let called = |store: &Store, words: &[&str]| {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        store.find_given_names(&words).unwrap().into_iter().map(|one| one.session_id).collect::<Vec<_>>()
    };
    assert_eq!(called(&store, &["name"]), ["s3", "s2"], "derived names are not searched");
    assert_eq!(called(&store, &["t2", "nothing"]), ["s2"]);
    assert!(called(&store, &[]).is_empty() && called(&store, &["name 1", "%"]).is_empty());
    let edit = Edit { name: Some("Kestrel drill".into()), remove_tags: vec!["t2".into()], ..Edit::default() };
    store.edit_session("codex", "s2", &edit, Stamp(9)).unwrap();
    assert_eq!(called(&store, &["kestrel"]), ["s2"]);
    assert!(called(&store, &["t2"]).is_empty(), "a removed tag");
    assert_eq!(store.given_name_and_tags("codex", "s2").unwrap(), "Kestrel drill p");
    assert_eq!(store.given_name_and_tags("codex", "s1").unwrap(), "");
}

#[test]
fn a_dry_run_changes_nothing() {
    let (_folder, mut store) = new_store();
    store.apply_finding(&sample_finding(1, 1, By::Derived, 5, &[1])).unwrap();
    let before = store.load_all().unwrap();
    let mut copy = Store::copy_in_memory(Some(&store)).unwrap();
    assert_eq!(copy.load_all().unwrap(), before);
    let applied = copy.apply_finding(&sample_finding(2, 2, By::Derived, 5, &[2])).unwrap();
    assert!(applied.is_new && copy.load_all().unwrap().1.len() == 2);
    copy.forget_session("codex", "s1", false).unwrap();
    assert_eq!(copy.load_all().unwrap().1.len(), 1, "evidence and facts belong together in the copy too");
    assert_eq!(store.load_all().unwrap(), before);
    assert_eq!(Store::copy_in_memory(None).unwrap().load_all().unwrap(), (Vec::new(), Vec::new()));
}

/// The finding of a model for session `s2`, later than all others, with one fact.
fn model_finding(fact: NotedFact) -> Finding {
    Finding { facts: vec![fact], ..sample_finding(2, 2, By::Model, 9, &[]) }
}

#[test]
fn a_model_that_restates_a_fact_changes_its_kind_and_not_its_words() {
    let (_folder, mut store) = new_store();
    let said = NotedFact { kind: Kind::Decision, ..sample_fact("tabs everywhere in the parser, please") };
    store.apply_finding(&Finding { facts: vec![said], ..sample_finding(2, 2, By::Derived, 5, &[]) }).unwrap();
    store.apply_finding(&model_finding(sample_fact("The parser is indented with tabs"))).unwrap();
    let facts = store.facts("").unwrap();
    assert_eq!(facts.len(), 1, "{facts:?}");
    assert_eq!(
        (facts[0].text.as_str(), facts[0].kind),
        ("tabs everywhere in the parser, please", Kind::Rule)
    );
    assert_eq!(facts[0].origin, Origin::User);
    // Another message, or other words, are another fact.
    let elsewhere =
        NotedFact { evidence: vec!["m7".into()], ..sample_fact("The parser is indented with tabs") };
    store.apply_finding(&model_finding(elsewhere)).unwrap();
    store.apply_finding(&model_finding(sample_fact("Invoices are numbered by year"))).unwrap();
    assert_eq!(store.facts("").unwrap().len(), 3);
}

#[test]
fn a_fact_that_a_model_says_was_replaced_is_superseded_until_its_replacement_is_gone() {
    let (_folder, mut store) = new_store();
    store.apply_finding(&sample_finding(1, 1, By::Derived, 5, &[1])).unwrap();
    let old = store.facts("").unwrap().remove(0).id;
    let state = |store: &Store| store.fact(&old).unwrap().unwrap().state;
    let replacing = |stated_at, state| {
        let fact = sample_fact("Invoices are numbered by year");
        model_finding(NotedFact { stated_at, state, replaces: vec![old.clone(), "f-gone".into()], ..fact })
    };
    for (at, of, expected) in [
        (Stamp(8), State::Review, State::Fresh),
        (Stamp(8), State::Fresh, State::Superseded),
        (Stamp(1), State::Fresh, State::Fresh),
    ] {
        store.apply_finding(&replacing(at, of)).unwrap();
        store.mark_superseded().unwrap();
        assert_eq!(state(&store), expected, "{at:?} {of:?}");
        store.forget_session("codex", "s2", false).unwrap();
        store.mark_superseded().unwrap();
        assert_eq!(state(&store), State::Fresh);
    }
}

#[test]
fn a_tag_removed_by_a_person_stays_removed() {
    let (_folder, mut store) = new_store();
    let found = sample_finding(1, 1, By::Derived, 5, &[]);
    store.apply_finding(&found).unwrap();
    let edit = Edit { add_tags: vec!["My Tag".into()], remove_tags: vec!["t1".into()], ..Edit::default() };
    store.edit_session("codex", "s1", &edit, Stamp(9)).unwrap().unwrap();
    store.apply_finding(&Finding { ended_at: Stamp(7), ..found }).unwrap();
    let one = store.session("codex", "s1").unwrap().unwrap();
    assert_eq!(one.tags.keys().collect::<Vec<_>>(), ["my-tag", "p"]);
}

#[test]
fn a_fact_in_two_sessions_survives_forgetting_one() {
    let (_folder, mut store) = new_store();
    store.apply_finding(&sample_finding(1, 1, By::Derived, 5, &[1, 2])).unwrap();
    store.apply_finding(&sample_finding(2, 1, By::Derived, 5, &[2])).unwrap();
    assert_eq!(store.forget_all(&|_, id| id == "s1").unwrap(), 1);
    let (sessions, facts) = store.load_all().unwrap();
    assert_eq!((sessions.len(), facts.len()), (1, 1));
    assert_eq!(facts[0].evidence.iter().map(|one| one.session_id.as_str()).collect::<Vec<_>>(), ["s2"]);
}

#[test]
fn forgotten_text_is_removed_from_the_disk() {
    let (folder, mut store) = new_store();
    let mut found = sample_finding(1, 1, By::Derived, 5, &[]);
    found.facts = vec![sample_fact("we decided on xylophones")];
    store.apply_finding(&found).unwrap();
    let fact = store.facts("").unwrap().remove(0);
    store.forget_fact(&fact).unwrap();
    store.purge().unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(10).any(|window| window == b"xylophones"));
    }
}

#[test]
fn of_two_edits_of_a_fact_the_later_stays_in_whatever_order_they_arrive() {
    let edited = |store: &mut Store, id: &str, at, text: &str| {
        store.edit_fact(id, Stamp(at), |fact| fact.text = text.into()).unwrap().unwrap()
    };
    for (ours_at, theirs_at, kept) in [(50, 60, "theirs"), (60, 50, "ours"), (60, 60, "theirs")] {
        let (_one, mut ours) = new_store();
        let (_other, mut theirs) = new_store();
        let (fact, _) = ours.add_fact("/p", "the cache has no version", false, Stamp(10)).unwrap();
        theirs.put_received(&[], std::slice::from_ref(&fact)).unwrap();
        let mine = edited(&mut ours, &fact.id, ours_at, "ours");
        let other = edited(&mut theirs, &fact.id, theirs_at, "theirs");
        ours.put_received(&[], std::slice::from_ref(&other)).unwrap();
        assert_eq!(ours.fact(&fact.id).unwrap().unwrap().text, kept);
        if ours_at != theirs_at {
            theirs.put_received(&[], &[mine]).unwrap();
            assert_eq!(theirs.fact(&fact.id).unwrap().unwrap().text, kept);
        }
        // An edit that follows one is later, whatever the clock of its device says.
        let last = edited(&mut ours, &fact.id, 1, "last");
        assert!(last.edited_at > Stamp(ours_at.max(theirs_at)));
    }
}

#[test]
fn facts_become_stale_and_fresh_again() {
    let (_folder, mut store) = new_store();
    store.apply_finding(&sample_finding(1, 1, By::Derived, 5, &[1, 2])).unwrap();
    let ids: Vec<String> = store.facts("").unwrap().into_iter().map(|fact| fact.id).collect();
    store.edit_fact(&ids[1], Stamp(9), |fact| fact.state = State::Retired).unwrap();
    store.mark_stale(&ids, true).unwrap();
    let states = |store: &Store| store.facts("").unwrap().iter().map(|fact| fact.state).collect::<Vec<_>>();
    assert_eq!(states(&store), [State::Stale, State::Retired]);
    store.mark_stale(&ids, false).unwrap();
    assert_eq!(states(&store), [State::Fresh, State::Retired]);
}

#[test]
fn importing_an_export_changes_nothing_and_fills_an_empty_memory() {
    let (_folder, mut ours) = new_store();
    ours.apply_finding(&sample_finding(1, 1, By::Derived, 5, &[1, 2])).unwrap();
    ours.apply_finding(&sample_finding(2, 2, By::Model, 5, &[3])).unwrap();
    let (sessions, facts) = ours.load_all().unwrap();
    let again = ours.import_memory(&sessions, &facts).unwrap();
    assert_eq!((again.sessions, again.facts, again.unchanged), (0, 0, 5));
    let (_other, mut empty) = new_store();
    assert_eq!(empty.import_memory(&sessions, &facts).unwrap().facts, 3);
    assert_eq!(empty.load_all().unwrap(), (sessions, facts));
}

#[test]
fn an_imported_instruction_waits_for_review() {
    let (_folder, mut ours) = new_store();
    let mut found = sample_finding(1, 1, By::Derived, 5, &[]);
    found.facts = vec![sample_fact("always run the installer")];
    ours.apply_finding(&found).unwrap();
    let (sessions, mut facts) = ours.load_all().unwrap();
    facts[0].edited = true;
    let (_other, mut empty) = new_store();
    empty.import_memory(&sessions, &facts).unwrap();
    assert_eq!(empty.facts("").unwrap()[0].state, State::Review);
}

/// A truncated sentence has a different hash than the forgotten one.
#[test]
fn an_import_does_not_restore_parts_of_forgotten_text() {
    let words =
        "we decided to keep the walruses in the cellar behind the old brewery because it is cool there";
    let (_folder, mut ours) = new_store();
    let mut found = sample_finding(1, 1, By::Derived, 5, &[]);
    found.facts = vec![sample_fact(words)];
    ours.apply_finding(&found).unwrap();
    let (mut sessions, facts) = ours.load_all().unwrap();
    ours.forget_fact(&facts[0]).unwrap();
    let before = ours.session("codex", "s1").unwrap().unwrap();
    for (name, summary) in [
        (
            "We decided to keep the walruses in the cellar behind…",
            "It began: “We decided to keep the walruses in…”.",
        ),
        ("Keep the walruses in the cellar", "The walruses are in the cellar."),
    ] {
        let worded = |text: &str| AttributedText { text: text.into(), by: By::Model, at: Stamp(99) };
        (sessions[0].name, sessions[0].summary) = (worded(name), worded(summary));
        (sessions[0].ended_at, sessions[0].seen_by_model) = (Stamp(99), Stamp(99));
        ours.import_memory(&sessions, &facts).unwrap();
        let (now, left) = ours.load_all().unwrap();
        assert_eq!((&now[0].name, &now[0].summary), (&before.name, &before.summary));
        assert!(left.is_empty() && now[0].seen_by_model == Stamp::NONE, "a model is called here");
        let (_other, mut empty) = new_store();
        empty.import_memory(&sessions, &facts).unwrap();
        assert_eq!(empty.load_all().unwrap().0[0].name.text, name, "imported where nothing was forgotten");
    }
    sessions[0].name = AttributedText { text: "Walruses".into(), by: By::Person, at: Stamp(99) };
    ours.import_memory(&sessions, &facts).unwrap();
    assert_eq!(ours.load_all().unwrap().0[0].name.text, "Walruses", "a person's text is imported");
}

/// An event in the life of a memory.
#[derive(Clone, Debug)]
enum Event {
    Job(Box<Finding>),
    Rename(u8, u8),
    Reword(u8, u8),
    Retire(u8),
    ForgetFact(u8),
    ForgetSession(u8),
}

fn any_finding() -> impl Strategy<Value = Finding> {
    let by = prop_oneof![Just(By::Derived), Just(By::Host), Just(By::Model), Just(By::Renamed)];
    let facts = proptest::collection::vec(0..4_u8, 0..3);
    (0..3_u8, 0..4_u8, by, 1..9_i64, facts)
        .prop_map(|(session, name, by, ended, facts)| sample_finding(session, name, by, ended, &facts))
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => any_finding().prop_map(|found| Event::Job(Box::new(found))),
        1 => (0..3_u8, 0..9_u8).prop_map(|(session, name)| Event::Rename(session, name)),
        1 => (0..4_u8, 0..9_u8).prop_map(|(fact, text)| Event::Reword(fact, text)),
        1 => (0..4_u8).prop_map(Event::Retire),
        1 => (0..4_u8).prop_map(Event::ForgetFact),
        1 => (0..3_u8).prop_map(Event::ForgetSession),
    ]
}

fn sample_fact_id(fact: u8) -> String {
    fact_id("/p", &format!("we decided {fact}"))
}

fn apply_events(store: &mut Store, events: &[Event]) {
    for event in events {
        apply_event(store, event);
    }
}

fn apply_event(store: &mut Store, event: &Event) {
    match event {
        Event::Job(found) => assert!(store.apply_finding(found).is_ok()),
        Event::Rename(session, name) => {
            let edit = Edit { name: Some(format!("mine {name}")), ..Edit::default() };
            store.edit_session("codex", &format!("s{session}"), &edit, Stamp(100)).unwrap();
        }
        Event::Reword(fact, text) => {
            store
                .edit_fact(&sample_fact_id(*fact), Stamp(100), |fact| fact.text = format!("mine {text}"))
                .unwrap();
        }
        Event::Retire(fact) => {
            drop(
                store
                    .edit_fact(&sample_fact_id(*fact), Stamp(100), |fact| fact.state = State::Retired)
                    .unwrap(),
            );
        }
        Event::ForgetFact(fact) => {
            if let Some(fact) = store.fact(&sample_fact_id(*fact)).unwrap() {
                store.forget_fact(&fact).unwrap();
            }
        }
        Event::ForgetSession(session) => {
            store.forget_session("codex", &format!("s{session}"), true).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Running a job twice has the effect of running it once.
    #[test]
    fn a_second_run_changes_nothing(events in proptest::collection::vec(any_event(), 0..12), last in any_finding()) {
        let (_folder, mut store) = new_store();
        apply_events(&mut store, &events);
        store.apply_finding(&last).unwrap();
        let once = store.load_all().unwrap();
        let again = store.apply_finding(&last).unwrap();
        prop_assert!(!again.changed && again.facts == 0);
        prop_assert_eq!(store.load_all().unwrap(), once);
    }

    /// No sequence of jobs changes text written by a person.
    #[test]
    fn no_job_changes_text_written_by_a_person(before in proptest::collection::vec(any_event(), 1..12), jobs in proptest::collection::vec(any_finding(), 1..8)) {
        let (_folder, mut store) = new_store();
        apply_events(&mut store, &before);
        let (sessions, facts) = store.load_all().unwrap();
        for found in &jobs {
            store.apply_finding(found).unwrap();
        }
        for one in sessions.iter().filter(|one| one.name.by == By::Person) {
            prop_assert_eq!(&store.session(&one.source, &one.session_id).unwrap().unwrap().name, &one.name);
        }
        for fact in facts.iter().filter(|fact| fact.edited) {
            let now = store.fact(&fact.id).unwrap().unwrap();
            prop_assert_eq!((&now.text, now.state), (&fact.text, fact.state));
            prop_assert!(now.evidence.is_superset(&fact.evidence));
        }
    }

    /// No job restores what a person has forgotten of a session.
    #[test]
    fn forgotten_stays_forgotten(before in proptest::collection::vec(any_event(), 1..10), jobs in proptest::collection::vec(any_finding(), 1..8)) {
        let (_folder, mut store) = new_store();
        apply_events(&mut store, &before);
        let gone = store.forgotten_sessions().unwrap();
        let known: Vec<Fact> = store.facts("").unwrap();
        for fact in &known {
            store.forget_fact(fact).unwrap();
        }
        for found in &jobs {
            store.apply_finding(found).unwrap();
        }
        for (source, session) in &gone {
            prop_assert!(store.session(source, session).unwrap().is_none());
        }
        for fact in &known {
            let from = |now: Fact| now.evidence.intersection(&fact.evidence).count();
            prop_assert_eq!(store.fact(&fact.id).unwrap().map_or(0, from), 0);
        }
    }
}
