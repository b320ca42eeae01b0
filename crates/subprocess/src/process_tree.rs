//! A program and all processes that descend from it, on one system each. Does not know why the tree is ended.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::ProcessTree;
#[cfg(windows)]
pub(crate) use windows::ProcessTree;
