//! Manifests for Scoop and winget: the zip of Windows with its checksum.
//!
//! Does not know the buckets and repositories that take them.

use super::archives;
use super::material::Release;
use super::names;
use super::output::Output;
use super::targets::System;
use serde_json::json;

/// Both are left out if there is no binary for Windows.
pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    let Some(built) = release.packaged().find(|built| built.target.system == System::Windows) else {
        println!("left out  {:<28} no binary for Windows", "scoop, winget");
        return Ok(());
    };
    let archive = archives::name(release, built.target);
    let sum = output.sum(&archive).ok_or_else(|| format!("{archive}: not written yet"))?.to_owned();
    let package = Package {
        release,
        url: names::download(&release.version, &archive),
        sum,
        folder: release.stem(built.target),
    };
    output.write("scoop/loci.json", package.scoop().as_bytes())?;
    for (ending, text) in [
        ("", package.winget_version()),
        (".installer", package.winget_installer()),
        (".locale.en-US", package.winget_locale()),
    ] {
        output.write(&format!("winget/{}{ending}.yaml", names::WINGET), text.as_bytes())?;
    }
    Ok(())
}

struct Package<'a> {
    release: &'a Release,
    url: String,
    sum: String,
    /// The folder inside the zip.
    folder: String,
}

const WINGET_SCHEMA: &str = "1.10.0";

impl Package<'_> {
    fn scoop(&self) -> String {
        let version = &self.release.version;
        // Scoop puts the new version in place of `$version` when it looks for one.
        let next = |text: &str| text.replace(version.as_str(), "$version");
        let sums = names::download("$version", "SHA256SUMS");
        let manifest = json!({
            "version": version,
            "description": names::SUMMARY,
            "homepage": names::REPOSITORY,
            "license": names::LICENCE.replace(" OR ", "|"),
            "architecture": {"64bit": {"url": self.url, "hash": self.sum, "extract_dir": self.folder}},
            "bin": "loci.exe",
            "checkver": "github",
            "autoupdate": {
                "architecture": {"64bit": {"url": next(&self.url), "extract_dir": next(&self.folder)}},
                "hash": {"url": sums},
            },
        });
        format!("{manifest:#}\n")
    }

    fn winget_version(&self) -> String {
        self.winget("version", "DefaultLocale: en-US\n")
    }

    fn winget_installer(&self) -> String {
        let (url, sum, folder) = (&self.url, self.sum.to_uppercase(), &self.folder);
        let text = format!(
            "InstallerType: zip\nNestedInstallerType: portable\nNestedInstallerFiles:\n\
            - RelativeFilePath: {folder}\\loci.exe\n  PortableCommandAlias: loci\n\
            Installers:\n- Architecture: x64\n  InstallerUrl: {url}\n  InstallerSha256: {sum}\n"
        );
        self.winget("installer", &text)
    }

    fn winget_locale(&self) -> String {
        let repository = names::REPOSITORY;
        let text = format!(
            "PackageLocale: en-US\nPublisher: {}\nPublisherUrl: https://github.com/{}\nPackageName: {}\nPackageUrl: {repository}\n\
            License: {}\nLicenseUrl: {repository}/blob/v{}/LICENSE-MIT\nShortDescription: {}\nMoniker: {}\nTags:\n{}\n",
            names::AUTHORS,
            names::OWNER,
            names::TITLE,
            names::LICENCE,
            self.release.version,
            names::SUMMARY,
            names::PROGRAM,
            names::KEYWORDS.iter().map(|word| format!("- {word}")).collect::<Vec<_>>().join("\n"),
        );
        self.winget("defaultLocale", &text)
    }

    /// A manifest: its schema, what all have, and what is its own.
    fn winget(&self, kind: &str, text: &str) -> String {
        format!(
            "# yaml-language-server: $schema=https://aka.ms/winget-manifest.{kind}.{WINGET_SCHEMA}.schema.json\n\
            PackageIdentifier: {}\nPackageVersion: {}\n{text}ManifestType: {kind}\nManifestVersion: {WINGET_SCHEMA}\n",
            names::WINGET,
            self.release.version,
        )
    }
}
