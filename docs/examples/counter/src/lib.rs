pub mod count;
pub mod report;
