//! What one may ask Loci and what one gets back: the questions, their parameters and fields, the errors and
//! exit codes, each in one table. Help, reference pages, schemas and tests are made from these tables.
//!
//! Does not know how anything is answered.

pub mod ask;
pub mod error;
pub mod params;
pub mod views;

pub use ask::Ask;
pub use error::{Code, Error, Exit};
pub use params::{PARAMS, Param, Shape};
pub use views::{VIEWS, View};
