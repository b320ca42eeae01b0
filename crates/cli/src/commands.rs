//! The commands of `loci`, one module for each way of running one.

pub(crate) mod daemon;
pub(crate) mod hook;
pub(crate) mod mcp;
pub(crate) mod operation;
pub(crate) mod view;
