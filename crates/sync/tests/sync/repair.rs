//! A storage that lies or loses: nothing is written into one that is not ours, and what one has lost is there again after a round.
//!
//! Does not know how a storage comes to lose things.

use crate::device::{Device, SETTINGS};
use crate::stores::{Lying, Memory, Rng};
use loci_sync::storage::Store;
use loci_sync::{Error, Finding, Phrase, Problem, Space};
use std::path::Path;

const DAY: u64 = 24 * 3600 * 1000;

fn connect(store: &Lying) -> Box<dyn Fn() -> Box<dyn Store>> {
    let store = store.clone();
    Box::new(move || Box::new(store.clone()))
}

struct Scene {
    store: Lying,
    writer: Device,
    reader: Device,
    phrase: Phrase,
}

/// Two devices that have read each other's records.
fn start(home: &Path) -> Scene {
    let store = Lying::new(Memory::default());
    let (mut writer, phrase) = Device::create(&home.join("writer"), connect(&store));
    let mut reader = Device::recover(&home.join("reader"), connect(&store), &phrase);
    writer.put("first", "text", 10);
    reader.put("second", "text", 11);
    for now in [20, 30] {
        writer.sync(now);
        reader.sync(now);
    }
    Scene { store, writer, reader, phrase }
}

fn problems(findings: &[Finding]) -> Vec<Problem> {
    findings.iter().map(|finding| finding.problem).collect()
}

/// More than is kept of a pack.
fn long_text(seed: u64) -> String {
    let mut rng = Rng(seed);
    (0..8_000).map(|_| format!("{:020}", rng.next())).collect()
}

fn largest_pack(store: &Memory) -> String {
    let length = |name: &String| store.get(name, 1 << 30).unwrap().len();
    store.names("/packs/").into_iter().max_by_key(length).unwrap()
}

fn join(scene: &Scene, home: &Path) -> Device {
    let mut late = Device::recover(&home.join("late"), connect(&scene.store), &scene.phrase);
    assert_eq!(late.sync(1_000 * DAY).findings, []);
    late
}

#[test]
fn nothing_is_written_below_a_mount_point_that_is_not_mounted() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let below = Memory::default();
    scene.store.lies.lock().unwrap().instead = Some(below.clone());
    scene.writer.put("third", "text", 40);
    assert!(matches!(scene.writer.try_sync(41), Err(Error::NotOurs)));
    assert!(matches!(scene.reader.try_sync(41), Err(Error::NotOurs)));
    assert_eq!(below.names(""), Vec::<String>::new());
    assert_eq!(scene.writer.open().status().unwrap().pending, 1);
    scene.store.lies.lock().unwrap().instead = None;
    assert_eq!((scene.writer.sync(50).sent, scene.reader.sync(51).findings), (1, vec![]));
    assert_eq!(scene.reader.export(), scene.writer.export());
}

#[test]
fn nothing_is_written_into_the_storage_of_somebody_else() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let theirs = Memory::default();
    let (mut stranger, _) = {
        let theirs = theirs.clone();
        Device::create(&tmp.path().join("stranger"), Box::new(move || Box::new(theirs.clone())))
    };
    stranger.put("k", "of a stranger", 1);
    stranger.sync(2);
    let before = theirs.snapshot();
    scene.store.lies.lock().unwrap().instead = Some(theirs.clone());
    scene.writer.put("third", "text", 40);
    assert!(matches!(scene.writer.try_sync(41 + DAY), Err(Error::NotOurs)));
    assert_eq!(theirs.snapshot(), before);
    // Members are neither admitted nor removed there.
    let request = Space::request(&tmp.path().join("stranger"), "again");
    assert!(matches!(request, Err(Error::AlreadyJoined)));
}

#[test]
fn an_emptied_storage_is_filled_again_once_a_person_says_that_it_is_the_one() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let long = long_text(5);
    scene.writer.put("long", &long, 40);
    scene.writer.sync(41);
    scene.reader.sync(42);
    scene.store.store.restore(Default::default());
    assert!(matches!(scene.writer.try_sync(50), Err(Error::NotOurs)));
    scene.writer.open().accept_storage().unwrap();
    // Only the reader can bring back what it wrote.
    assert_eq!(problems(&scene.writer.sync(51).findings), [Problem::MissingHead]);
    assert_eq!(scene.reader.sync(52).findings, []);
    assert_eq!(scene.writer.sync(53).findings, []);
    let late = join(&scene, tmp.path());
    assert_eq!(late.export(), scene.writer.export());
    assert_eq!(late.text("long"), Some(long));
}

#[test]
fn a_restored_snapshot_is_mended_by_one_round_of_the_owner() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let old = scene.store.store.snapshot();
    scene.writer.put("third", "text", 40);
    scene.writer.put("long", &long_text(7), 40);
    scene.writer.forget("first", 40);
    scene.writer.sync(41);
    scene.reader.sync(42);
    scene.store.store.restore(old);
    let round = scene.writer.sync(50);
    assert_eq!(round.findings, []);
    assert!(problems(&round.repaired).contains(&Problem::Rollback), "{:?}", round.repaired);
    assert_eq!(scene.reader.sync(51).findings, []);
    assert_eq!(scene.writer.sync(52).findings, []);
    assert_eq!(join(&scene, tmp.path()).export(), scene.writer.export());
    assert_eq!(scene.writer.text("first"), None);
}

#[test]
fn a_large_pack_that_is_gone_is_staged_again_below_what_others_wrote_since() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.writer.put("long", &long_text(9), 40);
    scene.writer.put("edited", &long_text(11), 40);
    scene.writer.sync(41);
    scene.reader.sync(42);
    // The other device edits while this one finds its pack gone.
    scene.reader.put("edited", "by the reader", 43);
    let pack = largest_pack(&scene.store.store);
    scene.store.store.delete(&pack).unwrap();
    assert_eq!(problems(&scene.writer.sync(50 + DAY).repaired), [Problem::MissingPack]);
    for now in [60, 70] {
        assert_eq!(scene.reader.sync(now + DAY).findings, []);
        assert_eq!(scene.writer.sync(now + DAY).findings, []);
    }
    assert_eq!(scene.writer.text("edited").as_deref(), Some("by the reader"));
    assert_eq!(join(&scene, tmp.path()).export(), scene.writer.export());
}

#[test]
fn what_a_reader_could_not_read_its_owner_publishes_again_in_the_next_round() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let late = |scene: &Scene, name: &str| {
        Device::recover(&tmp.path().join(name), connect(&scene.store), &scene.phrase)
    };
    for (at, damage) in ["gone", "changed", "head"].into_iter().enumerate() {
        let now = 1_000 * at as u64;
        scene.writer.put("third", &long_text(now + 3), now + 40);
        scene.writer.sync(now + 41);
        let own = scene.writer.open().device();
        let mut third = late(&scene, damage);
        scene.reader.sync(now + 42);
        scene.writer.sync(now + 43);
        let name = match damage {
            "head" => scene.store.store.names(&format!("/heads/{own}")).pop().unwrap(),
            _ => largest_pack(&scene.store.store),
        };
        match damage {
            "gone" => scene.store.store.delete(&name).unwrap(),
            _ => scene.store.store.objects.lock().unwrap().get_mut(&name).unwrap()[40] ^= 1,
        }
        // A new device meets it first. No day has passed.
        assert_eq!(third.sync(now + 50).findings.len(), 1, "{damage}");
        let round = scene.writer.sync(now + 51);
        assert_eq!((round.findings, round.repaired.len()), (vec![], 1), "{damage}");
        for device in [&mut third, &mut scene.reader, &mut scene.writer] {
            assert_eq!(device.sync(now + 60).findings, [], "{damage}");
        }
        assert_eq!(third.export(), scene.writer.export(), "{damage}");
        // It takes back what it has said, and that is the end of it.
        for pass in 0..2 {
            for device in [&mut third, &mut scene.reader, &mut scene.writer] {
                let round = device.sync(now + 70 + pass);
                assert_eq!((round.repaired, pass * round.heads), (vec![], 0), "{damage}");
            }
        }
    }
}

#[test]
fn what_nobody_can_stage_again_stays_a_finding_of_its_owner() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.writer.put("long", &long_text(13), 40);
    scene.writer.sync(41);
    let pack = largest_pack(&scene.store.store);
    scene.store.store.delete(&pack).unwrap();
    scene.writer.applied.remove(&("facts".to_owned(), "long".to_owned()));
    for now in [50, 60] {
        assert_eq!(problems(&scene.writer.sync(now + DAY).findings), [Problem::MissingPack]);
    }
    assert_eq!(
        problems(&[scene.writer.open().status().unwrap().findings.remove(0).0]),
        [Problem::MissingPack]
    );
}

#[test]
fn a_member_list_that_is_gone_is_put_back_before_the_next_write() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    for name in scene.store.store.names("/members/") {
        scene.store.store.delete(&name).unwrap();
    }
    assert!(
        Space::recover(
            &made(&tmp.path().join("none")),
            (scene.writer.connect)(),
            &scene.phrase,
            "x",
            SETTINGS
        )
        .is_err()
    );
    scene.writer.put("third", "text", 40);
    let round = scene.writer.sync(41);
    assert_eq!((round.sent, round.findings), (1, vec![]));
    assert_eq!(join(&scene, tmp.path()).export(), scene.writer.export());
}

#[test]
fn one_object_that_cannot_be_read_is_one_finding_and_sending_goes_on() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.writer.put("third", "text", 40);
    scene.writer.sync(41);
    let packs = scene.store.store.names(&format!("/packs/{}", scene.writer.open().device()));
    scene.store.lies.lock().unwrap().unreadable.insert(packs.last().unwrap().clone());
    scene.reader.put("fourth", "text", 42);
    for (now, sent) in [(50, 1), (60, 0)] {
        let round = scene.reader.sync(now);
        assert_eq!((problems(&round.findings), round.sent), (vec![Problem::UnreadablePack], sent));
    }
    scene.store.lies.lock().unwrap().unreadable.clear();
    assert_eq!(scene.reader.sync(70).findings, []);
    scene.writer.sync(71);
    assert_eq!(scene.reader.export(), scene.writer.export());
}

#[test]
fn a_list_that_is_behind_its_owner_is_no_finding() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.writer.settings.grace_ms = 0;
    scene.writer.settings.kept_heads = 1;
    scene.writer.put("a", "text", 40);
    scene.writer.sync(41);
    let before = scene.store.store.names("/heads/");
    // The owner publishes, merges and tidies up between the list and the first read.
    for at in 0..20 {
        scene.writer.put(&format!("n{at}"), "text", 50 + at);
        scene.writer.sync(60 + at);
    }
    scene.store.lies.lock().unwrap().list = Some(before);
    assert_eq!(scene.reader.sync(100).findings, []);
    assert_eq!(scene.reader.export(), scene.writer.export());
}

#[test]
fn readers_that_are_up_to_date_never_fetch_a_merged_pack() {
    let tmp = tempfile::tempdir().unwrap();
    let store = crate::stores::Counting::new(Memory::default());
    let connect = || -> crate::device::Connect {
        let store = store.clone();
        Box::new(move || Box::new(store.clone()))
    };
    let (mut writer, phrase) = Device::create(&tmp.path().join("writer"), connect());
    let mut reader = Device::recover(&tmp.path().join("reader"), connect(), &phrase);
    reader.sync(1);
    writer.sync(2);
    reader.sync(3);
    let (mut read, mut gets, mut rng) = (0, 0, Rng(5));
    for at in 0..40 {
        let text: String = (0..80).map(|_| format!("{:020}", rng.next())).collect();
        writer.put(&format!("k{at}"), &text, 10 + at * 10);
        writer.sync(11 + at * 10);
        let before = *store.counts.lock().unwrap();
        reader.sync(12 + at * 10);
        let after = *store.counts.lock().unwrap();
        (read, gets) = (read + after.bytes_in - before.bytes_in, gets + after.gets - before.gets);
    }
    println!("{read} bytes read, {gets} gets");
    // A head and a pack each; a text of 1,600 digits is 0.8 kB compressed, and a head with its names less than 2 kB.
    assert_eq!(gets, 80);
    assert!(read < 40 * 3_500, "{read}");
}

#[test]
fn a_check_names_what_is_missing_and_the_next_round_brings_it_back() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.writer.sync(40);
    let pack = scene.store.store.names(&format!("/packs/{}", scene.writer.open().device())).pop().unwrap();
    assert_eq!(scene.writer.open().check(true).unwrap().findings, []);
    scene.store.store.objects.lock().unwrap().get_mut(&pack).unwrap()[30] ^= 1;
    assert_eq!(scene.writer.open().check(false).unwrap().findings, []);
    assert_eq!(problems(&scene.writer.open().check(true).unwrap().findings), [Problem::DamagedPack]);
    assert_eq!(problems(&scene.reader.open().check(true).unwrap().findings), [Problem::DamagedPack]);
    assert_eq!(problems(&scene.writer.sync(50).repaired), [Problem::DamagedPack]);
    assert_eq!(scene.reader.open().check(true).unwrap().findings, []);
}

#[test]
fn a_replaced_phrase_opens_the_space_and_the_former_one_does_not() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let former = scene.phrase;
    scene.phrase = scene.writer.open().replace_phrase().unwrap();
    scene.writer.put("later", "text", 40);
    for now in [41, 50] {
        assert_eq!(scene.writer.sync(now).findings, []);
        assert_eq!(scene.reader.sync(now + 1).findings, []);
    }
    let refused =
        Space::recover(&made(&tmp.path().join("none")), (scene.writer.connect)(), &former, "x", SETTINGS);
    assert!(matches!(refused, Err(Error::PhraseUnknown)));
    // Also after another administrator has changed the list.
    let request = Space::request(&made(&tmp.path().join("c")), "c").unwrap();
    scene.reader.open().admit(&request, loci_sync::Role::Writer).unwrap();
    assert_eq!(join(&scene, tmp.path()).export(), scene.writer.export());
}

fn made(folder: &Path) -> std::path::PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    folder.to_path_buf()
}

#[cfg(unix)]
#[test]
fn a_link_in_the_folder_leads_to_no_object() {
    use loci_sync::storage::{Folder, StoreError};
    let (tmp, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Folder::new(tmp.path());
    store.put("v1/heads/a", b"one").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), tmp.path().join("v1/packs")).unwrap();
    std::fs::write(elsewhere.path().join("1"), "mine").unwrap();
    for refused in [
        store.put("v1/packs/2", b"two"),
        store.delete("v1/packs/1"),
        store.get("v1/packs/1", 9).map(drop),
        store.list("v1/packs/", None).map(drop),
    ] {
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    }
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    assert_eq!(store.list("v1/", None).unwrap(), ["v1/heads/a"]);
}
