//! The terminal browser: `loci ui` and `loci pick`.
//!
//! - `model` has the state, one file per screen below `screens`: what is shown and which request fills it;
//! - `keys` is the table of keys: key, action, help;
//! - `draw` turns the state into cells, and knows neither keys nor requests;
//! - `worker` runs requests on threads of its own, so that typing never waits for one.
//!
//! Everything shown comes from the operations and views of [`Backend`]. Does not know where the history is, and reads no file.

mod action;
mod backend;
mod clean_text;
mod clipboard;
mod document;
mod draw;
mod event_loop;
mod filters;
mod ink;
mod keys;
mod layout;
mod line_input;
mod model;
mod page;
mod request;
mod rows;
mod screens;
mod terminal;
mod times;
mod worker;

pub use backend::Backend;
pub use event_loop::{Ending, Purpose, Settings, browse};
pub use terminal::Error;
pub use worker::{Notice, Notifier};

#[doc(hidden)] // for the example that measures frames
pub mod measure;
