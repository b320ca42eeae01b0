//! Synchronises records between devices through object storage or a folder, end-to-end encrypted and without a server.
//!
//! A **space** is a set of records that its **members** share. Each device writes a log of its own into the storage: **packs**
//! of records, compressed and encrypted, and signed **heads** that name them. Devices read each other's logs and merge by one
//! rule: the later [`Version`] wins, and a forgotten record stays forgotten. `docs/design/sync-protocol.md` describes the format.
//!
//! # Use
//!
//! 1. [`Space::create`] makes a space and its recovery [`Phrase`]. Another device joins with the phrase ([`Space::recover`]) or
//!    with an invitation ([`Space::request`], [`Space::admit`], [`Space::accept`]). Later, [`Space::open`] opens it. Each space
//!    needs a folder of its own for its state.
//! 2. [`Space::stage`] takes changes. They are on disk when it returns; no network is involved.
//! 3. [`Space::sync`] runs one round. It hands received records to a function of the caller and publishes what was staged.
//!    It returns a [`Round`] with [`Finding`]s about a storage that misbehaves. An idle round is one request.
//! 4. [`Space::status`] says what is pending, which devices confirmed what was forgotten, and which findings persist.
//!
//! # What the caller must do
//!
//! - Apply each batch in one transaction, as an upsert by collection and key. After a kill a batch may come again.
//! - Write a local change first, together with a flag "not staged yet"; stage it; then clear the flag. The same for a deletion
//!   and for forgetting. After a kill, stage what is flagged. Staging twice is staging once. Do not stage what
//!   [`Space::sync`] delivered. `examples/device.rs` shows the order; tests kill it a thousand times.
//! - If [`StageResult::refused`] is not zero, the key was forgotten on another device: delete it locally.
//! - Mask secrets before staging. The engine does not look into bodies.
//! - In a space with several people, put the author into the key or collection. Any writer may overwrite or forget any key;
//!   [`Space::author`] says who wrote a record.
//!
//! ```
//! use loci_sync::storage::Folder;
//! use loci_sync::{Body, Change, Settings, Space};
//!
//! let home = tempfile::tempdir()?;
//! let [laptop, desktop, bucket] = ["laptop", "desktop", "bucket"].map(|name| home.path().join(name));
//! for folder in [&laptop, &desktop, &bucket] {
//!     std::fs::create_dir(folder)?;
//! }
//! let store = || Box::new(Folder::new(&bucket));
//! let now = 1_800_000_000_000; // milliseconds since 1970
//!
//! let (mut space, phrase) = Space::create(&laptop, store(), "laptop", Settings::default())?;
//! space.stage([Change::put("facts", "cache", "the cache key has no version")], now)?;
//! space.sync(now, &mut |_| Ok(()))?;
//!
//! let mut space = Space::recover(&desktop, store(), &phrase, "desktop", Settings::default())?;
//! let mut received = Vec::new();
//! let round = space.sync(now, &mut |records| {
//!     received.extend_from_slice(records);
//!     Ok(())
//! })?;
//! assert!(round.findings.is_empty());
//! assert_eq!(received[0].body, Body::Bytes(b"the cache key has no version".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Does not know memory, archives or agents: a record is a collection, a key and bytes.

mod codec;
mod error;
mod finding;
mod head;
mod id;
mod keys;
mod label;
mod members;
pub mod merge;
mod names;
mod pack;
mod phrase;
mod record;
mod space;
mod state;
pub mod storage;

pub use error::{Error, Result};
pub use finding::{Finding, Problem};
pub use id::{DeviceId, Hash, SpaceId};
pub use label::{MAX_LABEL, clean_label};
pub use members::{Invitation, JoinRequest, Member, Role};
pub use pack::MAX_RECORD;
pub use phrase::Phrase;
pub use record::{Body, Record, Version};
pub use space::{Apply, Change, Checked, DeviceStatus, Round, Settings, Space, Stage, StageResult, Status};
