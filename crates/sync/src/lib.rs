//! Synchronises records between devices through object storage or a folder, end-to-end encrypted and without a server.
//!
//! TODO docs
//!
//! Does not know memory, archives or agents: a record is a collection, a key and bytes.

mod codec;
mod error;
mod finding;
mod head;
mod id;
mod keys;
mod members;
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
pub use members::{Invitation, JoinRequest, Member, Role};
pub use pack::MAX_RECORD;
pub use phrase::Phrase;
pub use record::{Body, Record, Version};
pub use space::{Apply, Change, DeviceStatus, Round, Settings, Space, StageResult, Status};
