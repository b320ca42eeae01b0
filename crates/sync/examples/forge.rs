//! A member with a program of his own, for tests of what others make of it: `forge STATE BUCKET LABEL COLLECTION KEY [BODY]` publishes
//! a record in the log of the device with that state, under a key that begins with the member of that label. Without a body, it
//! forgets the record.
//!
//! Does not break the protocol: an application must notice such a record by itself.

use loci_sync::storage::Folder;
use loci_sync::{Change, Settings, Space};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [state, bucket, label, collection, key, body @ ..] = arguments.as_slice() else {
        return Err("usage: forge STATE BUCKET LABEL COLLECTION KEY [BODY]".into());
    };
    let store = Box::new(Folder::new(Path::new(bucket)));
    let mut space = Space::open(Path::new(state), store, Settings::default())?;
    let member = space.members().into_iter().find(|member| member.label == *label).ok_or("no such member")?;
    let key = format!("{}{key}", member.id());
    let change = match body.first() {
        Some(body) => Change::put(collection, &key, body.as_str()),
        None => Change::forget(collection, &key),
    };
    // The engine writes above every clock that it has seen.
    let now = 1;
    space.stage([change], now)?;
    space.sync(now, &mut |_| Ok(()))?;
    Ok(())
}
