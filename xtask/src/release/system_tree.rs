//! Where a Linux system package puts its files: program, completions, manual pages and documents below `/usr`.
//!
//! Does not know the package formats.

use super::archives::completion_file;
use super::material::{Built, Release};
use super::pack::gzip;
use super::tree::Tree;

/// How a family of distributions differs from the others.
pub(crate) struct Layout {
    pub(crate) zsh: &'static str,
    /// The folder of the licence files; Debian has one file, `copyright`, instead.
    pub(crate) licences: Option<&'static str>,
}

pub(crate) const DOCUMENTS: &str = "usr/share/doc/loci";

pub(crate) fn build(release: &Release, built: &Built, layout: &Layout) -> Result<Tree, String> {
    let (mut tree, documents) = (Tree::default(), &release.documents);
    tree.add_program("usr/bin/loci", built.bytes.clone());
    for (shell, text) in documents.completions.iter().filter(|(shell, _)| *shell != "powershell") {
        let folder = match *shell {
            "zsh" => layout.zsh,
            "fish" => "usr/share/fish/vendor_completions.d",
            _ => "usr/share/bash-completion/completions",
        };
        tree.add(format!("{folder}/{}", completion_file(shell)), text.clone());
    }
    for (name, page) in &documents.manuals {
        tree.add(format!("usr/share/man/man1/{name}.gz"), gzip(page, release.effort)?);
    }
    for (name, text) in documents.licences.iter().filter(|_| layout.licences.is_some()) {
        tree.add(format!("{}/{name}", layout.licences.unwrap_or_default()), text.clone());
    }
    tree.add(format!("{DOCUMENTS}/README.md"), documents.readme.clone());
    Ok(tree)
}
