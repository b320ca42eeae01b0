//! The formula for a Homebrew tap: the archives of macOS and Linux with their checksums.
//!
//! Does not know the tap.

use super::archives;
use super::material::Release;
use super::names;
use super::output::Output;
use super::targets::System;
use std::fmt::Write as _;

pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    let formula = formula(release, output)?;
    output.write("homebrew/loci.rb", formula.as_bytes())
}

fn formula(release: &Release, output: &Output) -> Result<String, String> {
    let mut systems = String::new(); // it cannot fail to grow
    for (system, block) in [(System::MacOs, "on_macos"), (System::Linux, "on_linux")] {
        let mut machines = String::new();
        for built in release.packaged().filter(|built| built.target.system == system) {
            let machine = if built.target.npm.1 == "arm64" { "on_arm" } else { "on_intel" };
            let archive = archives::name(release, built.target);
            let sum = output.sum(&archive).ok_or_else(|| format!("{archive}: not written yet"))?;
            let url = names::download(&release.version, &archive);
            let _ =
                write!(machines, "    {machine} do\n      url \"{url}\"\n      sha256 \"{sum}\"\n    end\n");
        }
        if !machines.is_empty() {
            let _ = write!(systems, "  {block} do\n{machines}  end\n\n");
        }
    }
    Ok(format!(
        "class Loci < Formula\n  desc \"{}\"\n  homepage \"{}\"\n  version \"{}\"\n  license any_of: [\"MIT\", \"Apache-2.0\"]\n\n{systems}\
        \x20 def install\n    bin.install \"loci\"\n    man1.install Dir[\"man/*.1\"]\n\
        \x20   bash_completion.install \"completions/loci\"\n    zsh_completion.install \"completions/_loci\"\n\
        \x20   fish_completion.install \"completions/loci.fish\"\n  end\n\n\
        \x20 test do\n    assert_match version.to_s, shell_output(\"#{{bin}}/loci --version\")\n  end\nend\n",
        names::SUMMARY,
        names::REPOSITORY,
        release.version,
    ))
}
