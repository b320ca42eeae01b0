//! Archives for every target, with completions, manual pages, licences and README: `.tar.gz`, `.tar.xz`, and `.zip` for Windows.
//!
//! Does not know the package managers that refer to them.

use super::material::{Built, Release};
use super::output::Output;
use super::pack::{self, Folders};
use super::targets::{Archive, Target};
use super::tree::Tree;

pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    for built in &release.built {
        let stem = release.stem(built.target);
        let tree = archive_tree(release, built).below(&stem);
        match built.target.archive {
            Archive::Zip => output.write(&format!("{stem}.zip"), &pack::zip(tree.iter(), release.effort)?)?,
            Archive::Tar => {
                let tar = pack::tar(&tree, release.epoch, Folders::Implied)?;
                output.write(&format!("{stem}.tar.gz"), &pack::gzip(&tar, release.effort)?)?;
                output.write(&format!("{stem}.tar.xz"), &pack::xz(&tar, release.effort, built.target)?)?;
            }
        }
    }
    Ok(())
}

/// The archive that manifests refer to: every tool can unpack it.
pub(crate) fn name(release: &Release, target: &Target) -> String {
    let ending = if target.archive == Archive::Zip { "zip" } else { "tar.gz" };
    format!("{}.{ending}", release.stem(target))
}

fn archive_tree(release: &Release, built: &Built) -> Tree {
    let (mut tree, documents) = (Tree::default(), &release.documents);
    tree.add_program(built.target.program(), built.bytes.clone());
    tree.add("README.md", documents.readme.clone());
    tree.add("CHANGELOG.md", documents.changelog.clone());
    for (name, text) in &documents.licences {
        tree.add(*name, text.clone());
    }
    for (shell, text) in &documents.completions {
        tree.add(format!("completions/{}", completion_file(shell)), text.clone());
    }
    for (name, page) in &documents.manuals {
        tree.add(format!("man/{name}"), page.clone());
    }
    tree
}

/// The name under which the shell looks for a completion.
pub(crate) fn completion_file(shell: &str) -> &'static str {
    match shell {
        "zsh" => "_loci",
        "fish" => "loci.fish",
        "powershell" => "_loci.ps1",
        _ => "loci",
    }
}
