//! `cargo xtask release`: writes every package of a release from one version and the binaries of its targets.
//!
//! Does not build the binaries, and does not publish anything.

mod archives;
mod container;
mod deb;
mod digest;
mod homebrew;
mod material;
mod mcp;
mod names;
mod npm;
mod output;
pub(crate) mod pack;
mod plugins;
mod pypi;
mod readme;
mod rpm;
mod sbom;
mod system_tree;
mod targets;
pub(crate) mod tree;
mod trial;
mod windows;

use crate::Outcome;
use crate::args::Args;
use material::Release;
use output::Output;
use pack::Effort;
use std::path::Path;
use targets::host_targets;

pub(crate) const HELP: &str = "--binaries DIR --out DIR [--only KIND] [--loci PATH]\n\
    write the packages of a release from DIR/TARGET/loci[.exe]; targets without a binary are left out\n\
    --try --binaries DIR: install each package for this machine with its own tool, use it and remove it\n\
    --plugins: write the plugin marketplaces of the repository, after a change of version or of integrations";

type Write = fn(&Release, &mut Output) -> Result<(), String>;

/// The kinds of packages: name, the kind whose checksums it contains, and function.
const KINDS: &[(&str, Option<&str>, Write)] = &[
    ("archives", None, archives::write),
    ("npm", None, npm::write),
    ("pypi", None, pypi::write),
    ("deb", None, deb::write),
    ("rpm", None, rpm::write),
    ("container", None, container::write),
    ("homebrew", Some("archives"), homebrew::write),
    ("windows", Some("archives"), windows::write),
    ("mcpb", None, mcp::write_bundles),
    ("registry", Some("mcpb"), mcp::write_registry),
    ("gemini", None, plugins::write_gemini),
    ("sbom", None, sbom::write),
];

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["binaries", "out", "only", "loci"], &["try", "plugins"])?;
    if args.has_switch("plugins") {
        return plugins::update_repository(env!("CARGO_PKG_VERSION")).map(|()| true);
    }
    let binaries = args.path_value("binaries").ok_or("needs --binaries DIR")?;
    let program = args.path_value("loci");
    if args.has_switch("try") {
        return try_packages(Release::load(&binaries, program, Effort::Quick)?);
    }
    let out = args.path_value("out").ok_or("needs --out DIR")?;
    let release = Release::load(&binaries, program, Effort::Full)?;
    let output = write_packages(&release, &out, args.text_value("only"))?;
    print_files(&output);
    Ok(true)
}

/// Only this machine's packages, in a temporary folder.
fn try_packages(mut release: Release) -> Outcome {
    release.built.retain(|built| host_targets().any(|target| target.triple == built.target.triple));
    let folder = testutil::Home::new();
    let output = write_packages(&release, &folder.path().join("dist"), None)?;
    print_files(&output);
    Ok(trial::run(&release, &output))
}

fn write_packages(release: &Release, out: &Path, only: Option<&str>) -> Result<Output, String> {
    let mut output = Output::create(out)?;
    for write in selected_kinds(only)? {
        write(release, &mut output)?;
    }
    output.write_sums()?;
    Ok(output)
}

/// All kinds, or one with the kind that it refers to.
fn selected_kinds(only: Option<&str>) -> Result<Vec<Write>, String> {
    let Some(only) = only else { return Ok(KINDS.iter().map(|(.., write)| *write).collect()) };
    let known: Vec<&str> = KINDS.iter().map(|(name, ..)| *name).collect();
    let kind = KINDS.iter().find(|(name, ..)| *name == only);
    let (_, needed, write) = kind.ok_or_else(|| format!("--only {only}: not one of {}", known.join(", ")))?;
    let needed = KINDS.iter().filter(|(name, ..)| Some(*name) == *needed).map(|(.., write)| *write);
    Ok(needed.chain([*write]).collect())
}

fn print_files(output: &Output) {
    for (path, size, _) in output.written() {
        println!("{size:>10}  {path}");
    }
}

#[cfg(test)]
mod tests;
