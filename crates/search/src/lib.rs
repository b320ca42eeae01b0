//! Here are some words, give me the conversations.
//!
//! Does not know where a text came from: the caller hands it in to be found, and again to be quoted.
