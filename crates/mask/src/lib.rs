//! Which parts of a text are secrets, and what stands in their place.
//!
//! Does not know where the text came from or where it goes.
