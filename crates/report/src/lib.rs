//! A report on a period: gathers its numbers from the views, and draws them as one HTML page that needs no network.
//!
//! `window`, `gather` and `activity` fill the model, which is [`api::report::Report`]; `chart` and `table` draw parts of it, `page` puts
//! them together. Does not know where the history is, nor where the page goes.

mod activity;
mod chart;
mod gather;
mod page;
mod table;
mod window;

pub use gather::{ReadView, gather_views};
pub use page::{MAX_BYTES, to_html};
pub use window::{StatedFact, Window};
