//! What the operations of `loci sync` depend on besides their parameters.
//!
//! Does not read the environment.

use api::{Code, Error};
use history::History;
use history::error::no_home;
use history::home::Home;

/// What the operations depend on besides their parameters.
pub struct Caller<'c> {
    pub history: History<'c>,
    /// The variables of the cloud's own tools.
    pub variables: Vec<(String, String)>,
    /// The name of this machine.
    pub host: String,
}

impl Caller<'_> {
    pub(crate) fn home(&self) -> Result<Home, Error> {
        self.history.home().ok_or_else(no_home)
    }

    /// A folder is stored as an absolute path: rounds run in any directory.
    pub(crate) fn resolve_url(&self, url: &str) -> Result<String, Error> {
        if url.contains("://") {
            return Ok(url.to_string());
        }
        let path = match url.strip_prefix("~/") {
            Some(below) => self.history.places.home.join(below),
            None => self.history.cwd.join(url),
        };
        if path.is_dir() {
            return Ok(path.to_string_lossy().into_owned());
        }
        Err(Error::new(Code::InvalidArgument, format!("{} is not a folder", path.display()))
            .hint(format!("mkdir -p {}", path.display())))
    }

    pub(crate) fn label(&self, given: Option<&String>) -> String {
        let given = given.map(|label| label.trim().to_string()).filter(|label| !label.is_empty());
        given.unwrap_or_else(|| sync::clean_label(&self.host))
    }
}
