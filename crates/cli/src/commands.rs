//! The commands of `loci`, one module per kind of command.
//!
//! Does not know how arguments are parsed into commands.

pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod export;
pub(crate) mod hook;
pub(crate) mod mcp;
pub(crate) mod operation;
pub(crate) mod page;
pub(crate) mod resume;
pub(crate) mod shell;
pub(crate) mod shell_init;
pub(crate) mod statusline;
pub(crate) mod ui;
pub(crate) mod update;
pub(crate) mod view;
