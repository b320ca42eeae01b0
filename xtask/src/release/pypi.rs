//! Wheels that contain the binary as a script, so that `pip install`, `uvx` and `pipx` start it without Python in between.
//!
//! Does not know the registry.

use super::digest::sha256_base64;
use super::material::{Built, Release};
use super::names;
use super::output::Output;
use super::pack;
use super::readme;
use super::targets::Wheel;
use super::tree::{File, PLAIN, PROGRAM};

pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    for built in release.packaged() {
        let files = wheel_files(release, built)?;
        let zip = pack::zip(files.iter().map(|(path, file)| (path.as_str(), file)), release.effort)?;
        output.write(&file_name(release, built)?, &zip)?;
    }
    Ok(())
}

pub(crate) fn file_name(release: &Release, built: &Built) -> Result<String, String> {
    Ok(format!("pypi/{}-py3-none-{}.whl", stem(release), platform_tags(built)?.join(".")))
}

fn stem(release: &Release) -> String {
    format!("{}-{}", names::PYPI.replace('-', "_"), python_version(&release.version))
}

/// `0.2.0-rc.1` is `0.2.0rc1` to Python.
fn python_version(version: &str) -> String {
    let (number, before) = version.split_once('-').unwrap_or((version, ""));
    let short = before.replace("alpha", "a").replace("beta", "b").replace('.', "");
    format!("{number}{short}")
}

fn platform_tags(built: &Built) -> Result<Vec<String>, String> {
    match built.target.wheel {
        Wheel::Tags(tags) => Ok(tags.iter().map(|tag| (*tag).to_owned()).collect()),
        Wheel::Manylinux(machine) => {
            let minor =
                built.glibc().ok_or_else(|| format!("{}: names no version of glibc", built.target.triple))?;
            Ok(vec![format!("manylinux_2_{minor}_{machine}")])
        }
    }
}

/// The program, then the metadata, and the list of all files last.
fn wheel_files(release: &Release, built: &Built) -> Result<Vec<(String, File)>, String> {
    let stem = stem(release);
    let text = |text: String| File { mode: PLAIN, bytes: text.into_bytes() };
    let program = format!("{stem}.data/scripts/{}", built.target.program());
    let mut files = vec![(program, File { mode: PROGRAM, bytes: built.bytes.clone() })];
    for (name, bytes) in &release.documents.licences {
        files.push((format!("{stem}.dist-info/licenses/{name}"), File { mode: PLAIN, bytes: bytes.clone() }));
    }
    files.push((format!("{stem}.dist-info/METADATA"), text(metadata(release))));
    files.push((format!("{stem}.dist-info/WHEEL"), text(wheel(built)?)));
    let record = format!("{stem}.dist-info/RECORD");
    let line = |(path, file): &(String, File)| {
        format!("{path},sha256={},{}\n", sha256_base64(&file.bytes), file.bytes.len())
    };
    let lines: String = files.iter().map(line).collect();
    files.push((record.clone(), text(format!("{lines}{record},,\n"))));
    Ok(files)
}

fn metadata(release: &Release) -> String {
    let (version, repository) = (python_version(&release.version), names::REPOSITORY);
    let fields = [
        "Metadata-Version: 2.4".to_owned(),
        format!("Name: {}", names::PYPI),
        format!("Version: {version}"),
        format!("Summary: {}", names::SUMMARY),
        format!("Keywords: {}", names::KEYWORDS.join(",")),
        format!("Author: {}", names::AUTHORS),
        format!("License-Expression: {}", names::LICENCE),
        "License-File: LICENSE-APACHE".to_owned(),
        "License-File: LICENSE-MIT".to_owned(),
        "Requires-Python: >=3.8".to_owned(),
        format!("Project-URL: Repository, {repository}"),
        format!("Project-URL: Changelog, {repository}/blob/main/CHANGELOG.md"),
        "Description-Content-Type: text/markdown".to_owned(),
    ];
    format!("{}\n\n{}", fields.join("\n"), readme::text(names::PYPI, "uvx --from loci-dev loci --help"))
}

fn wheel(built: &Built) -> Result<String, String> {
    let tags = platform_tags(built)?.join("\nTag: py3-none-");
    Ok(format!("Wheel-Version: 1.0\nGenerator: loci\nRoot-Is-Purelib: false\nTag: py3-none-{tags}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_python_sorts_them() {
        assert_eq!(python_version("0.2.0"), "0.2.0");
        assert_eq!(python_version("0.2.0-rc.1"), "0.2.0rc1");
        assert_eq!(python_version("0.2.0-beta.2"), "0.2.0b2");
    }
}
