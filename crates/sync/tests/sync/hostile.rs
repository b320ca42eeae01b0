//! A hostile bucket: what its owner, or anyone with credentials, can do to the objects is noticed or harmless.
//!
//! Does not have the keys of the space.

use crate::device::Device;
use crate::stores::Memory;
use loci_sync::storage::{Folder, Store};
use loci_sync::{Finding, Phrase, Problem};
use std::path::Path;

fn connect(memory: &Memory) -> Box<dyn Fn() -> Box<dyn Store>> {
    let memory = memory.clone();
    Box::new(move || Box::new(memory.clone()))
}

fn problems(findings: &[Finding]) -> Vec<Problem> {
    let mut found: Vec<Problem> = findings.iter().map(|finding| finding.problem).collect();
    found.dedup();
    found
}

struct Scene {
    memory: Memory,
    writer: Device,
    reader: Device,
    phrase: Phrase,
}

/// A writer with five published records, and a reader that has read the first two.
fn start(home: &Path) -> Scene {
    let memory = Memory::default();
    let (mut writer, phrase) = Device::create(&home.join("writer"), connect(&memory));
    let mut reader = Device::recover(&home.join("reader"), connect(&memory), &phrase);
    writer.settings.fan_in = 100;
    for at in 1..=5 {
        writer.put(&format!("k{at}"), &format!("text {at}"), at * 10);
        writer.sync(at * 10 + 1);
        if at == 2 {
            reader.sync(25);
        }
    }
    Scene { memory, writer, reader, phrase }
}

fn publish(scene: &mut Scene, key: &str, now: u64) {
    scene.writer.put(key, "published", now);
    scene.writer.sync(now + 1);
}

#[test]
fn a_bucket_that_goes_back_in_time_is_noticed_by_readers_and_by_the_writer() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.reader.sync(100);
    let old = scene.memory.snapshot();
    publish(&mut scene, "late", 110);
    scene.reader.sync(120);
    scene.memory.restore(old);
    assert_eq!(problems(&scene.reader.sync(130).findings), [Problem::Rollback]);
    let round = scene.writer.sync(131);
    assert!(round.findings.is_empty() && problems(&round.repaired).contains(&Problem::Rollback), "{round:?}");
    assert_eq!(scene.reader.text("late").as_deref(), Some("published"));
    // The writer goes on where it was.
    publish(&mut scene, "later", 140);
    scene.reader.sync(150);
    assert_eq!(scene.reader.text("later").as_deref(), Some("published"));
}

#[test]
fn deleted_heads_are_noticed() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.reader.sync(100);
    let device = scene.writer.open().device().to_string();
    for name in scene.memory.names(&format!("heads/{device}")) {
        scene.memory.delete(&name).unwrap();
    }
    assert_eq!(problems(&scene.reader.sync(110).findings), [Problem::MissingHead]);
    assert_eq!(scene.reader.applied.len(), 5);
    // The writer notices as well, and publishes another head.
    let round = scene.writer.sync(120);
    assert!(round.findings.is_empty() && problems(&round.repaired).contains(&Problem::Rollback), "{round:?}");
    assert_eq!(scene.reader.sync(130).findings, []);
    assert_eq!(scene.writer.sync(131).findings, []);
}

#[test]
fn a_deleted_pack_is_noticed_and_the_others_are_read() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let packs = scene.memory.names("/packs/");
    let taken = scene.memory.get(&packs[3], 1 << 20).unwrap();
    scene.memory.delete(&packs[3]).unwrap();
    for now in [100, 110] {
        assert_eq!(problems(&scene.reader.sync(now).findings), [Problem::MissingPack]);
    }
    assert_eq!((scene.reader.text("k4"), scene.reader.text("k5").as_deref()), (None, Some("text 5")));
    // A storage that returns what it had lost is believed again.
    scene.memory.put(&packs[3], &taken).unwrap();
    assert_eq!(scene.reader.sync(120).findings, []);
    assert_eq!(scene.reader.text("k4").as_deref(), Some("text 4"));
}

#[test]
fn swapped_packs_are_noticed() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let packs = scene.memory.names("/packs/");
    {
        let mut objects = scene.memory.objects.lock().unwrap();
        let (a, b) = (objects[&packs[3]].clone(), objects[&packs[4]].clone());
        objects.insert(packs[3].clone(), b);
        objects.insert(packs[4].clone(), a);
    }
    assert_eq!(problems(&scene.reader.sync(100).findings), [Problem::DamagedPack]);
    assert_eq!(scene.reader.applied.len(), 3);
}

#[test]
fn a_replayed_head_under_a_new_number_is_noticed() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let name = scene.memory.names("/heads/").into_iter().find(|name| name.contains("/0000000005-")).unwrap();
    let bytes = scene.memory.get(&name, 1 << 20).unwrap();
    scene.memory.put(&name.replace("/0000000005-", "/0000000099-"), &bytes).unwrap();
    assert_eq!(problems(&scene.reader.sync(100).findings), [Problem::DamagedHead]);
    assert_eq!(scene.reader.applied.len(), 5);
}

#[test]
fn old_heads_that_come_back_are_harmless() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let old = scene.memory.snapshot();
    for at in 0..5 {
        publish(&mut scene, &format!("n{at}"), 100 + at * 10);
        scene.reader.sync(105 + at * 10);
    }
    let mut both = old;
    both.extend(scene.memory.snapshot());
    scene.memory.restore(both);
    assert_eq!(scene.reader.sync(200).findings, []);
    assert_eq!(scene.writer.sync(201).findings, []);
    assert_eq!(scene.reader.applied.len(), 10);
}

#[test]
fn foreign_objects_are_noticed_and_ignored() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let space = scene.writer.open().id();
    let device = scene.writer.open().device();
    for name in [format!("v1/{space}/heads/notes.txt"), format!("v1/{space}/heads/{device}/latest")] {
        scene.memory.put(&name, b"hello").unwrap();
    }
    scene.memory.put(&format!("v1/{space}/packs/other/file"), b"hello").unwrap();
    let round = scene.reader.sync(100);
    assert_eq!(problems(&round.findings), [Problem::ForeignObject]);
    assert_eq!((round.findings.len(), scene.reader.applied.len()), (2, 5));
}

#[test]
fn a_head_planted_in_a_log_does_not_make_its_owner_a_clone() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let (space, device) = (scene.writer.open().id(), scene.writer.open().device());
    let planted = format!("v1/{space}/heads/{device}/0000000999-{}", "ab".repeat(32));
    scene.memory.put(&planted, b"planted").unwrap();
    assert_eq!(problems(&scene.writer.sync(100).findings), [Problem::DamagedHead]);
    assert_eq!(scene.writer.open().device(), device);
    assert_eq!(problems(&scene.reader.sync(101).findings), [Problem::DamagedHead]);
    assert_eq!(scene.reader.applied.len(), 5);
}

#[test]
fn a_head_of_a_stranger_is_refused() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    // A stranger has a space of his own, and writes his log into ours.
    let elsewhere = Memory::default();
    let (mut stranger, _) = Device::create(&tmp.path().join("stranger"), connect(&elsewhere));
    stranger.put("k1", "forged", 1_000_000);
    stranger.sync(1_000_001);
    let (ours, theirs) = (scene.writer.open().id().to_string(), stranger.open().id().to_string());
    for (name, bytes) in elsewhere.snapshot() {
        scene.memory.put(&name.replace(&theirs, &ours), &bytes).unwrap();
    }
    let round = scene.reader.sync(100);
    assert_eq!(problems(&round.findings), [Problem::DamagedHead]);
    assert_eq!(scene.reader.text("k1").as_deref(), Some("text 1"));
}

#[test]
fn packs_of_another_space_are_refused() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let elsewhere = Memory::default();
    let (mut other, _) = Device::create(&tmp.path().join("other"), connect(&elsewhere));
    other.put("k5", "of another space", 50);
    other.sync(51);
    let foreign = elsewhere.snapshot().into_iter().find(|(name, _)| name.contains("/packs/")).unwrap().1;
    let name = scene.memory.names("/packs/").pop().unwrap();
    scene.memory.objects.lock().unwrap().insert(name, foreign);
    assert_eq!(problems(&scene.reader.sync(100).findings), [Problem::DamagedPack]);
    assert_eq!(scene.reader.text("k5"), None);
}

#[test]
fn a_cloned_device_becomes_a_new_one_and_nothing_is_lost() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.reader.sync(100);
    let mut clone = clone_writer(&scene, tmp.path());
    let old = clone.open().device();
    publish(&mut scene, "by the original", 110);
    clone.put("by the clone", "published", 111);
    let round = clone.sync(112);
    assert_eq!(problems(&round.findings), [Problem::Cloned]);
    assert_ne!(clone.open().device(), old);
    for now in [120, 130] {
        for device in [&mut scene.writer, &mut scene.reader, &mut clone] {
            assert_eq!(device.sync(now).findings, []);
        }
    }
    assert_eq!(scene.reader.applied.len(), 7);
    assert_eq!(scene.reader.export(), scene.writer.export());
    assert_eq!(scene.reader.export(), clone.export());
}

/// A copy of the writer, as a restored backup is.
fn clone_writer(scene: &Scene, homes: &Path) -> Device {
    let folder = homes.join("clone");
    copy_folder(&homes.join("writer"), &folder);
    Device { folder, connect: connect(&scene.memory), ..take(&scene.writer) }
}

#[test]
fn clones_that_write_at_the_same_moment_are_a_fork_and_nothing_is_lost() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.reader.sync(100);
    let mut clone = clone_writer(&scene, tmp.path());
    // Neither sees the head of the other: the lists were stale.
    let before = scene.memory.snapshot();
    publish(&mut scene, "by the original", 110);
    let with_original = scene.memory.snapshot();
    scene.memory.restore(before);
    clone.put("by the clone", "published", 111);
    clone.sync(112);
    let mut both = scene.memory.snapshot();
    both.extend(with_original);
    scene.memory.restore(both);
    assert_eq!(problems(&scene.reader.sync(120).findings), [Problem::Fork]);
    assert_eq!(scene.reader.applied.len(), 7);
    for now in [130, 140, 150] {
        for device in [&mut scene.writer, &mut clone, &mut scene.reader] {
            device.sync(now);
        }
    }
    assert_eq!(scene.reader.export(), scene.writer.export());
    assert_eq!(scene.reader.export(), clone.export());
    assert_ne!(clone.open().device(), scene.writer.open().device());
    let mut late = Device::recover(&tmp.path().join("late"), connect(&scene.memory), &scene.phrase);
    late.sync(200);
    assert_eq!(late.export(), clone.export());
}

#[test]
fn the_longer_branch_of_a_fork_is_read_from_where_it_parted() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.reader.sync(100);
    let mut clone = clone_writer(&scene, tmp.path());
    let before = scene.memory.snapshot();
    publish(&mut scene, "by the original", 110);
    scene.reader.sync(111);
    let with_original = scene.memory.snapshot();
    // The clone writes twice, and never sees what the original wrote.
    scene.memory.restore(before);
    for key in ["first by the clone", "second by the clone"] {
        clone.put(key, "published", 112);
        clone.sync(113);
    }
    let mut both = scene.memory.snapshot();
    both.extend(with_original);
    scene.memory.restore(both);
    assert_eq!(problems(&scene.reader.sync(120).findings), [Problem::Fork]);
    assert_eq!(scene.reader.applied.len(), 8);
    // The original becomes a new device, and its log is complete for those who come later.
    assert_eq!(problems(&scene.writer.sync(130).findings), [Problem::Cloned, Problem::Fork]);
    for at in 0..50 {
        clone.put("often", &format!("text {at}"), 140 + at * 2);
        clone.sync(141 + at * 2);
    }
    scene.writer.sync(300);
    scene.reader.sync(301);
    assert_eq!((scene.reader.applied.len(), scene.reader.export()), (9, scene.writer.export()));
    let mut late = Device::recover(&tmp.path().join("late"), connect(&scene.memory), &scene.phrase);
    late.sync(310);
    assert_eq!(late.export(), scene.writer.export());
}

#[test]
fn a_restored_backup_becomes_a_new_device() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let backup = tmp.path().join("backup");
    copy_folder(&tmp.path().join("writer"), &backup);
    let applied = scene.writer.applied.clone();
    publish(&mut scene, "after the backup", 110);
    std::fs::remove_dir_all(tmp.path().join("writer")).unwrap();
    copy_folder(&backup, &tmp.path().join("writer"));
    scene.writer.applied = applied;
    scene.writer.put("k9", "after the restore", 120);
    assert_eq!(problems(&scene.writer.sync(121).findings), [Problem::Cloned]);
    assert_eq!(scene.writer.text("after the backup").as_deref(), Some("published"));
    scene.reader.sync(130);
    assert_eq!(scene.reader.export(), scene.writer.export());
}

/// The same application data in another process.
fn take(device: &Device) -> Device {
    Device {
        folder: device.folder.clone(),
        connect: Box::new(|| unreachable!("replaced by the caller")),
        settings: device.settings,
        applied: device.applied.clone(),
        handed: device.handed.clone(),
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn every_flipped_byte_of_every_object_is_noticed_or_harmless() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    let whole = scene.memory.snapshot();
    let backup = tmp.path().join("backup");
    copy_folder(&tmp.path().join("reader"), &backup);
    let device = scene.writer.open().device().to_string();
    let relevant = whole.iter().filter(|(name, _)| name.contains(&device));
    let newest = whole.keys().rfind(|name| name.contains("/heads/") && name.contains(&device));
    for (name, bytes) in relevant {
        for at in (0..bytes.len()).step_by(13) {
            let mut changed = whole.clone();
            changed.get_mut(name).unwrap()[at] ^= 0x40;
            scene.memory.restore(changed);
            std::fs::remove_dir_all(tmp.path().join("reader")).unwrap();
            copy_folder(&backup, &tmp.path().join("reader"));
            let round = scene.reader.sync(100);
            let is_read = Some(name) == newest || name.contains("/packs/");
            assert!(round.findings.len() <= 2 && scene.reader.text("k1").as_deref() == Some("text 1"));
            if Some(name) == newest {
                assert!(!round.findings.is_empty() && is_read, "{name} byte {at}");
            }
        }
    }
}

#[test]
fn the_bucket_contains_no_plain_text() {
    let tmp = tempfile::tempdir().unwrap();
    let bucket = tmp.path().join("bucket");
    std::fs::create_dir_all(&bucket).unwrap();
    let path = bucket.clone();
    let (mut device, _) =
        Device::create(&tmp.path().join("a"), Box::new(move || Box::new(Folder::new(&path))));
    let words = ["PlainProject", "PlainTitle", "PlainCollection", "first laptop"];
    for at in 0..20 {
        // Too short to compress, and long enough to.
        for text in [words[1].to_owned(), words[1].repeat(100)] {
            let change = loci_sync::Change::put(words[2], &format!("{}-{at}", words[0]), text);
            device.stage(change, 10 + at);
        }
        device.sync(20 + at);
    }
    device.stage(loci_sync::Change::forget(words[2], &format!("{}-3", words[0])), 50);
    device.sync(60);
    let mut searched = 0;
    visit_files(&bucket, &mut |name, bytes| {
        searched += 1;
        for word in words {
            let is_there =
                bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()));
            assert!(!is_there && !name.contains(word), "{word} in {name}");
        }
    });
    assert!(searched > 5);
}

fn visit_files(folder: &Path, visit: &mut dyn FnMut(&str, &[u8])) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit_files(&path, visit);
        } else {
            visit(path.to_str().unwrap(), &std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn a_device_that_was_away_for_a_hundred_heads_catches_up() {
    let tmp = tempfile::tempdir().unwrap();
    let mut scene = start(tmp.path());
    scene.writer.settings.fan_in = 8;
    scene.reader.sync(100);
    for at in 0..100 {
        publish(&mut scene, &format!("n{at}"), 200 + at * 10);
    }
    let round = scene.reader.sync(2_000);
    assert_eq!((round.findings, round.received, scene.reader.applied.len()), (Vec::new(), 100, 105));
    assert_eq!(scene.reader.sync(2_001).heads, 0);
}
