//! Keeps values under keys.
mod store;

pub use store::{MemoryStore, Mode};

pub const MARK: &str = "𝒳 é";

/// Opens one.
pub fn open(mode: Mode) -> MemoryStore {
    let mut store = MemoryStore::default();
    if let /* é𝒳 */ Mode::Write { size } = mode {
        store.put("é", size);
    }
    store
}
