//! Pages for people, each one HTML file that needs no network: a report on a period, and the map of a code base.
//!
//! `window`, `gather` and `activity` fill the model of the report, which is [`api::report::Report`]; `chart` and `table` draw parts of it,
//! `page` puts them together. `code_map` draws [`api::code::MapDrawn`], placed by `layers`. Does not know where history and source are, nor
//! where a page goes.

mod activity;
mod chart;
mod code_map;
mod document;
mod gather;
mod layers;
mod page;
mod table;
mod window;

pub use code_map::map_to_html;
pub use gather::{ReadView, gather_views};
pub use page::{MAX_BYTES, to_html};
pub use window::{StatedFact, Window};
