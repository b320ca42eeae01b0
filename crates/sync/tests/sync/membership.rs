//! Joining, roles, removal and recovery.
//!
//! Does not know the format of member lists.

use crate::device::{Device, SETTINGS};
use crate::stores::Memory;
use loci_sync::storage::Store;
use loci_sync::{Change, Error, Phrase, Problem, Role, Space};

fn connect(memory: &Memory) -> Box<dyn Fn() -> Box<dyn Store>> {
    let memory = memory.clone();
    Box::new(move || Box::new(memory.clone()))
}

fn member_id(device: &Device, label: &str) -> String {
    device.open().members().iter().find(|member| member.label == label).unwrap().id()
}

#[test]
fn an_invited_device_reads_the_history_and_writes() {
    let (tmp, memory) = (tempfile::tempdir().unwrap(), Memory::default());
    let (mut host, _) = Device::create(&tmp.path().join("a"), connect(&memory));
    host.put("a", "one", 1);
    host.sync(2);
    let mut guest = Device::join(&tmp.path().join("b"), connect(&memory), &host, Role::Writer);
    guest.sync(3);
    assert_eq!(guest.text("a").as_deref(), Some("one"));
    guest.put("b", "two", 4);
    guest.sync(5);
    assert_eq!(host.sync(6).findings, []);
    assert_eq!(host.text("b").as_deref(), Some("two"));
    let author = host.open().author(guest.open().device()).unwrap().unwrap();
    assert_eq!((author.label.as_str(), author.role), ("invited laptop", Role::Writer));
    let request = Space::request(&tmp.path().join("a"), "again");
    assert!(matches!(request, Err(Error::AlreadyJoined)));
}

#[test]
fn a_device_without_an_invitation_gets_in_nowhere() {
    let (tmp, memory) = (tempfile::tempdir().unwrap(), Memory::default());
    let (host, _) = Device::create(&tmp.path().join("a"), connect(&memory));
    let (other, stranger) = (tmp.path().join("b"), tmp.path().join("c"));
    std::fs::create_dir_all(&other).unwrap();
    std::fs::create_dir_all(&stranger).unwrap();
    let request = Space::request(&other, "b").unwrap();
    let invitation = host.open().admit(&request, Role::Writer).unwrap();
    // The invitation of another device is useless without its keys.
    Space::request(&stranger, "c").unwrap();
    let accepted = Space::accept(&stranger, Box::new(memory.clone()), &invitation, SETTINGS);
    assert!(matches!(accepted, Err(Error::NoMembers)));
    let wrong = Phrase::parse("00000-00000-00000-00000-00000-00000-00000").unwrap_err();
    assert!(matches!(wrong, Error::Phrase(_)));
}

#[test]
fn a_reader_reads_and_does_not_write() {
    let (tmp, memory) = (tempfile::tempdir().unwrap(), Memory::default());
    let (mut host, _) = Device::create(&tmp.path().join("a"), connect(&memory));
    let mut reader = Device::join(&tmp.path().join("b"), connect(&memory), &host, Role::Reader);
    host.put("a", "one", 1);
    host.sync(2);
    reader.sync(3);
    assert_eq!(reader.text("a").as_deref(), Some("one"));
    let staged = reader.open().stage([Change::put("facts", "b", "two")], 4);
    assert!(matches!(staged, Err(Error::ReadOnly)));
    // It confirms what was forgotten, though.
    host.forget("a", 5);
    host.sync(6);
    reader.sync(7);
    assert_eq!(host.sync(8).findings, []);
    assert!(host.open().status().unwrap().devices.iter().all(|device| device.has_confirmed));
    let request = Space::request(&tempdir_in(tmp.path(), "c"), "c").unwrap();
    assert!(matches!(reader.open().admit(&request, Role::Writer), Err(Error::NotAdministrator)));
}

fn tempdir_in(home: &std::path::Path, name: &str) -> std::path::PathBuf {
    let folder = home.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_removed_member_reads_nothing_new_and_what_it_writes_does_not_count() {
    let (tmp, memory) = (tempfile::tempdir().unwrap(), Memory::default());
    let (mut host, phrase) = Device::create(&tmp.path().join("a"), connect(&memory));
    let mut guest = Device::join(&tmp.path().join("b"), connect(&memory), &host, Role::Writer);
    guest.put("before", "kept", 1);
    guest.sync(2);
    host.sync(3);
    host.open().remove_member(&member_id(&host, "invited laptop")).unwrap();
    host.put("secret", "for the others", 4);
    host.sync(5);
    // It still has credentials for the bucket, and its program does not know yet that it was removed.
    guest.put("after", "refused", 6);
    assert!(matches!(guest.try_sync(7), Err(Error::Removed)));
    assert_eq!(guest.text("secret"), None);
    assert!(matches!(guest.try_sync(8), Err(Error::Removed)));
    // It deletes its heads; the member list still says which of its packs count.
    let device = guest.open().device();
    for name in memory.names(&format!("/heads/{device}")) {
        memory.delete(&name).unwrap();
    }
    let mut late = Device::recover(&tmp.path().join("c"), connect(&memory), &phrase);
    assert_eq!((late.sync(9).findings, late.sync(10).heads), (Vec::new(), 0));
    assert_eq!(host.sync(11).findings, []);
    assert_eq!(
        (late.text("before").as_deref(), late.text("secret").as_deref()),
        (Some("kept"), Some("for the others"))
    );
}

#[test]
fn heads_that_a_removed_member_writes_by_hand_are_refused() {
    let (tmp, memory) = (tempfile::tempdir().unwrap(), Memory::default());
    let (mut host, _) = Device::create(&tmp.path().join("a"), connect(&memory));
    let mut guest = Device::join(&tmp.path().join("b"), connect(&memory), &host, Role::Administrator);
    guest.put("before", "kept", 1);
    guest.sync(2);
    host.sync(3);
    // The guest works on a copy of the bucket from before its removal, and uploads what it made of it.
    let before = memory.snapshot();
    host.open().remove_member(&member_id(&host, "invited laptop")).unwrap();
    host.sync(4);
    let removed = memory.snapshot();
    memory.restore(before);
    guest.put("after", "refused", 5);
    guest.sync(6);
    // It even lets itself in again, as the administrator it was.
    let friend = Device::join(&tmp.path().join("c"), connect(&memory), &guest, Role::Administrator);
    drop(friend);
    guest.put("after", "refused again", 7);
    guest.sync(8);
    let mut both = memory.snapshot();
    both.extend(removed);
    memory.restore(both);
    let round = host.sync(9);
    assert!(
        round.findings.iter().any(|finding| finding.problem == Problem::RemovedSigner),
        "{:?}",
        round.findings
    );
    assert_eq!((host.text("before").as_deref(), host.text("after")), (Some("kept"), None));
    assert_eq!(host.open().members().len(), 2);
}

#[test]
fn administrators_that_change_the_list_at_once_are_merged() {
    let (tmp, memory) = (tempfile::tempdir().unwrap(), Memory::default());
    let (mut a, _) = Device::create(&tmp.path().join("a"), connect(&memory));
    let mut b = Device::join(&tmp.path().join("b"), connect(&memory), &a, Role::Administrator);
    a.sync(1);
    b.sync(2);
    let mut c = Device::join(&tmp.path().join("c"), connect(&memory), &a, Role::Writer);
    let mut d = Device::join(&tmp.path().join("d"), connect(&memory), &b, Role::Writer);
    for now in 3..8 {
        for device in [&mut a, &mut b, &mut c, &mut d] {
            device.sync(now);
        }
    }
    c.put("c", "from c", 20);
    d.put("d", "from d", 21);
    for now in 22..25 {
        for device in [&mut a, &mut b, &mut c, &mut d] {
            assert_eq!(device.sync(now).findings, []);
        }
    }
    for device in [&a, &b, &c, &d] {
        assert_eq!(device.open().members().len(), 5);
        assert_eq!(device.export(), a.export());
    }
    assert_eq!(a.applied.len(), 2);
}

#[test]
fn the_phrase_restores_a_space_when_all_devices_are_lost() {
    let (tmp, memory) = (tempfile::tempdir().unwrap(), Memory::default());
    let (mut lost, phrase) = Device::create(&tmp.path().join("a"), connect(&memory));
    lost.put("a", "one", 1);
    lost.sync(2);
    let phrase = Phrase::parse(&phrase.to_string()).unwrap();
    std::fs::remove_dir_all(tmp.path().join("a")).unwrap();
    let mut restored = Device::recover(&tmp.path().join("b"), connect(&memory), &phrase);
    assert_eq!(restored.sync(3).findings, []);
    assert_eq!(restored.text("a").as_deref(), Some("one"));
    let (_, other) = Device::create(&tmp.path().join("c"), connect(&Memory::default()));
    let unknown =
        Space::recover(&tempdir_in(tmp.path(), "d"), Box::new(memory.clone()), &other, "x", SETTINGS);
    assert!(matches!(unknown, Err(Error::PhraseUnknown)));
}

#[test]
fn the_last_administrator_cannot_be_removed() {
    let (tmp, memory) = (tempfile::tempdir().unwrap(), Memory::default());
    let (host, _) = Device::create(&tmp.path().join("a"), connect(&memory));
    Device::join(&tmp.path().join("b"), connect(&memory), &host, Role::Writer);
    let removed = host.open().remove_member(&member_id(&host, "first laptop"));
    assert!(matches!(removed, Err(Error::LastAdministrator)));
    assert!(matches!(host.open().remove_member("nobody"), Err(Error::UnknownMember(_))));
}

/// Lists get longer with every member, so reading them all would cost the square of the number of devices.
#[test]
fn joining_by_the_phrase_reads_lists_only_since_it_was_used_last() {
    let store = crate::stores::Counting::new(Memory::default());
    let connect = || -> crate::device::Connect {
        let store = store.clone();
        Box::new(move || Box::new(store.clone()))
    };
    let tmp = tempfile::tempdir().unwrap();
    let (mut first, phrase) = Device::create(&tmp.path().join("first"), connect());
    let gets = |work: &mut dyn FnMut()| {
        let before = store.counts.lock().unwrap().gets;
        work();
        store.counts.lock().unwrap().gets - before
    };
    let join = |name: &str| {
        let mut joined = None;
        let count = gets(&mut || joined = Some(Device::recover(&tmp.path().join(name), connect(), &phrase)));
        (joined.unwrap(), count)
    };
    for at in 0..12 {
        let (mut joined, count) = join(&format!("by phrase {at}"));
        assert_eq!(count, 1);
        joined.sync(1);
    }
    first.put("a", "text", 1);
    first.sync(2);
    for at in 0..5 {
        Device::join(&tmp.path().join(format!("invited {at}")), connect(), &first, Role::Writer);
    }
    let invited = Device::join(&tmp.path().join("removed"), connect(), &first, Role::Writer);
    let member = first.open().members().into_iter().find(|member| member.label == "invited laptop").unwrap();
    first.open().remove_member(&member.id()).unwrap();
    first.sync(3);
    // The lists since: six that invited, one that removed, and the one that the phrase signed.
    let (mut last, count) = join("last");
    assert_eq!(count, 8);
    last.sync(4);
    assert_eq!(last.text("a").as_deref(), Some("text"));
    assert_eq!(last.open().members().len(), first.open().members().len() + 1);
    drop(invited);
    assert_eq!(join("the next").1, 1);
}

/// A version that an administrator wrote at the same time does not follow from the one that the phrase signed.
/// Neither of the devices that joined has been removed by it.
#[test]
fn a_list_that_was_written_beside_that_of_the_phrase_is_read() {
    let memory = Memory::default();
    let connect = || -> crate::device::Connect {
        let memory = memory.clone();
        Box::new(move || Box::new(memory.clone()))
    };
    let tmp = tempfile::tempdir().unwrap();
    let (mut first, phrase) = Device::create(&tmp.path().join("first"), connect());
    let before = memory.snapshot();
    let mut invited = Device::join(&tmp.path().join("invited"), connect(), &first, Role::Writer);
    let with_invited = memory.snapshot();
    memory.restore(before);
    let mut other = Device::recover(&tmp.path().join("other"), connect(), &phrase);
    let mut both = memory.snapshot();
    both.extend(with_invited);
    memory.restore(both);
    let mut late = Device::recover(&tmp.path().join("late"), connect(), &phrase);
    assert_eq!(late.open().members().len(), 5, "the phrase and four devices");
    for now in [10, 20, 30, 40] {
        invited.put("a", "text", now);
        for device in [&mut first, &mut invited, &mut other, &mut late] {
            let findings = device.sync(now).findings;
            assert!(now < 40 || findings.is_empty(), "{findings:?}");
        }
    }
    assert!([&first, &other, &late].iter().all(|device| device.text("a").is_some()));
}
