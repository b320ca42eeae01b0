//! The packages of a made-up program, a shell script that answers what the generator asks: no build is needed.
//!
//! Does not run package managers: `cargo xtask release --try` does.

use super::material::Release;
use super::pack::Effort;
use super::targets::{TARGETS, host_targets};
use super::{KINDS, names, write_packages};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use testutil::Home;

/// Prints what it is asked for. The comment is what a dynamic binary contains.
const PROGRAM: &str = "#!/bin/sh\n# GLIBC_2.17 GLIBC_2.31 libgcc_s.so.1\ncase \"$*\" in\n\
    man) printf '.SH SUBCOMMANDS\\n.TP\\nloci\\\\-memory(1)\\n' ;;\n\
    'man memory') printf '.TP\\nloci\\\\-memory\\\\-add(1)\\n' ;;\n\
    *) echo \"$*\" ;;\nesac\n";

/// A folder of binaries for all targets whose name is accepted.
fn made_up_binaries(is_wanted: impl Fn(&str) -> bool) -> Home {
    let folder = Home::new();
    for target in TARGETS.iter().filter(|target| is_wanted(target.triple)) {
        let path = testutil::write_file(
            &folder.path().join(target.triple).join(target.program()),
            PROGRAM.as_bytes(),
        );
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// The release of all targets, and the files of every kind but the bill of materials, which asks cargo for each target.
fn written() -> (Release, BTreeMap<String, Vec<u8>>) {
    let (binaries, out) = (made_up_binaries(|_| true), Home::new());
    let release = Release::load(binaries.path(), None, Effort::Quick).unwrap();
    let mut output = super::Output::create(out.path()).unwrap();
    for (_, _, write) in KINDS.iter().filter(|(name, ..)| *name != "sbom") {
        write(&release, &mut output).unwrap();
    }
    output.write_sums().unwrap();
    (release, read_files(out.path()))
}

fn read_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut open: Vec<PathBuf> = vec![folder.to_path_buf()];
    let mut files = BTreeMap::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

/// The names and contents of a tar.
fn untar(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let (mut at, mut files) = (0, BTreeMap::new());
    let text = |field: &[u8]| {
        String::from_utf8(field.iter().copied().take_while(|byte| *byte != 0).collect()).unwrap()
    };
    while bytes[at] != 0 {
        let size = usize::from_str_radix(&text(&bytes[at + 124..at + 136]), 8).unwrap();
        files.insert(text(&bytes[at..at + 100]), bytes[at + 512..at + 512 + size].to_vec());
        at += 512 + size.next_multiple_of(512);
    }
    files
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn two_runs_write_the_same_bytes() {
    let ((_, first), (_, second)) = (written(), written());
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    for (name, bytes) in &first {
        assert!(bytes == &second[name], "{name} differs");
    }
}

#[test]
fn the_checksums_are_those_of_the_files() {
    let (_, files) = written();
    let sums = String::from_utf8(files["SHA256SUMS"].clone()).unwrap();
    assert_eq!(sums.lines().count(), files.len() - 1);
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        assert_eq!(sum, super::digest::sha256_hex(&files[name]), "{name}");
    }
}

#[test]
fn an_archive_contains_program_completions_manuals_and_licences() {
    let (release, files) = written();
    let stem = format!("loci-{}-x86_64-unknown-linux-musl", release.version);
    let packed = untar(&gunzip(&files[&format!("{stem}.tar.gz")]));
    let names: Vec<&str> =
        packed.keys().map(|name| name.strip_prefix(&format!("{stem}/")).unwrap()).collect();
    assert_eq!(
        names,
        [
            "CHANGELOG.md",
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "README.md",
            "completions/_loci",
            "completions/_loci.ps1",
            "completions/loci",
            "completions/loci.fish",
            "loci",
            "man/loci-memory-add.1",
            "man/loci-memory.1",
            "man/loci.1",
        ]
    );
    assert_eq!(packed[&format!("{stem}/loci")], PROGRAM.as_bytes());
    assert_eq!(packed[&format!("{stem}/completions/loci")], b"completions bash\n");
    let mut plain = Vec::new();
    lzma_rust2::XzReader::new(&files[&format!("{stem}.tar.xz")][..], false).read_to_end(&mut plain).unwrap();
    assert_eq!(untar(&plain), packed);
}

#[test]
fn the_launcher_depends_on_every_platform_package() {
    let (release, files) = written();
    let manifest = |package: &str| {
        parse(&untar(&gunzip(&files[&super::npm::file_name(&release, package)]))["package/package.json"])
    };
    let launcher = manifest(names::NPM);
    assert_eq!(launcher["mcpName"], names::MCP_REGISTRY);
    assert!(launcher.get("scripts").is_none());
    let platforms = launcher["optionalDependencies"].as_object().unwrap();
    assert_eq!(platforms.len(), 5);
    for (name, version) in platforms {
        let package = manifest(name);
        assert_eq!((&package["version"], version), (&launcher["version"], &launcher["version"]));
        let platform =
            format!("-{}-{}", package["os"][0].as_str().unwrap(), package["cpu"][0].as_str().unwrap());
        assert!(name.ends_with(&platform), "{name}");
        assert!(package.get("libc").is_none(), "a static binary runs everywhere");
    }
}

/// The second member of a deb: behind the magic number, a header of 60 bytes and four bytes of data.
const SECOND: usize = 8 + 60 + 4;

/// Only without a static binary is the dynamic one used, and then packages say what it needs.
#[test]
fn a_dynamic_binary_names_its_glibc() {
    let (binaries, out) = (made_up_binaries(|triple| triple == "x86_64-unknown-linux-gnu"), Home::new());
    let program = binaries.path().join("x86_64-unknown-linux-gnu/loci");
    let release = Release::load(binaries.path(), Some(program), Effort::Quick).unwrap();
    for kind in ["pypi", "npm", "deb"] {
        write_packages(&release, &out.path().join(kind), Some(kind)).unwrap();
    }
    let files = read_files(out.path());
    assert!(
        files.keys().any(|name| name.ends_with("-py3-none-manylinux_2_31_x86_64.whl")),
        "{:?}",
        files.keys()
    );
    let package = format!("npm/{}", super::npm::file_name(&release, "@loci-dev/loci-linux-x64"));
    assert_eq!(parse(&untar(&gunzip(&files[&package]))["package/package.json"])["libc"][0], "glibc");
    let deb = &files[&format!("deb/{}", super::deb::file_name(&release, "amd64"))];
    let size: usize = std::str::from_utf8(&deb[SECOND + 48..][..10]).unwrap().trim().parse().unwrap();
    let control = untar(&gunzip(&deb[SECOND + 60..][..size]));
    assert!(String::from_utf8_lossy(&control["./control"]).contains("Depends: libc6 (>= 2.31), libgcc-s1\n"));
}

#[test]
fn manifests_have_the_version_and_the_checksums_of_this_release() {
    let (release, files) = written();
    let sum = |name: &str| super::digest::sha256_hex(&files[name]);
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let stem = format!("loci-{}", release.version);
    let formula = text("homebrew/loci.rb");
    for triple in [
        "x86_64-unknown-linux-musl",
        "aarch64-unknown-linux-musl",
        "x86_64-apple-darwin",
        "aarch64-apple-darwin",
    ] {
        assert!(formula.contains(&sum(&format!("{stem}-{triple}.tar.gz"))), "{triple}");
    }
    let zip = format!("{stem}-x86_64-pc-windows-msvc.zip");
    assert_eq!(parse(&files["scoop/loci.json"])["architecture"]["64bit"]["hash"], sum(&zip));
    assert!(text("winget/LociDev.Loci.installer.yaml").contains(&sum(&zip).to_uppercase()));
    let server = parse(&files["server.json"]);
    assert_eq!(server["version"], release.version);
    assert!(server["description"].as_str().unwrap().len() <= 100);
    let bundles: Vec<&Value> = server["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| package["registryType"] == "mcpb")
        .collect();
    assert_eq!(bundles.len(), 5);
    for bundle in bundles {
        let name = bundle["identifier"].as_str().unwrap().rsplit('/').next().unwrap();
        assert_eq!(bundle["fileSha256"], sum(name), "{name}");
    }
    assert!(
        text(super::container::FILE)
            .contains(&format!("ADD {stem}-aarch64-unknown-linux-musl.tar.gz /arm64/"))
    );
}

#[test]
fn the_bill_of_materials_lists_what_is_linked() {
    let host = host_targets().next().unwrap().triple;
    let (binaries, out) = (made_up_binaries(|triple| triple == host), Home::new());
    let release = Release::load(binaries.path(), None, Effort::Quick).unwrap();
    write_packages(&release, out.path(), Some("sbom")).unwrap();
    let bill = parse(&read_files(out.path())[&format!("loci-{}-{host}.cdx.json", release.version)]);
    assert_eq!(bill["metadata"]["component"]["name"], "loci");
    let names: Vec<&str> =
        bill["components"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"rusqlite") && names.contains(&"loci-service"), "{names:?}");
    assert!(
        names.contains(&"tree-sitter-rust") && names.contains(&"bpe-openai"),
        "their tables are in the program"
    );
    assert!(!names.contains(&"insta"), "only tests use it");
    let known: Vec<&Value> =
        bill["components"].as_array().unwrap().iter().filter(|part| part.get("purl").is_some()).collect();
    assert!(
        known.len() > 100
            && known
                .iter()
                .all(|part| part["hashes"][0]["content"].as_str().is_some_and(|sum| sum.len() == 64))
    );
    assert!(known.iter().all(|part| part["licenses"][0]["expression"].is_string()));
}

#[test]
fn a_kind_brings_what_it_refers_to() {
    let host = host_targets().next().unwrap().triple;
    let (binaries, out) = (made_up_binaries(|triple| triple == host), Home::new());
    let release = Release::load(binaries.path(), None, Effort::Quick).unwrap();
    write_packages(&release, &out.path().join("a"), Some("registry")).unwrap();
    let names: Vec<String> = read_files(&out.path().join("a")).into_keys().collect();
    assert!(
        names.iter().any(|name| name.contains(".mcpb")) && names.contains(&"server.json".to_owned()),
        "{names:?}"
    );
    assert!(write_packages(&release, &out.path().join("b"), Some("snap")).is_err());
    assert!(write_packages(&release, &out.path().join("a"), None).is_err(), "the folder is not empty");
}

/// `cargo binstall` fills in the templates of the manifest.
#[test]
fn binstall_finds_the_archives() {
    let (release, files) = written();
    let manifest: toml::Table =
        crate::repository::read(&crate::repository::root().join("crates/cli/Cargo.toml"))
            .unwrap()
            .parse()
            .unwrap();
    let settings = &manifest["package"]["metadata"]["binstall"];
    let fill = |template: &toml::Value, triple: &str| {
        let values = [
            ("repo", names::REPOSITORY),
            ("version", &release.version),
            ("target", triple),
            ("bin", "loci"),
            ("binary-ext", ""),
        ];
        values.iter().fold(template.as_str().unwrap().to_owned(), |text, (key, value)| {
            text.replace(&format!("{{ {key} }}"), value)
        })
    };
    assert_eq!(manifest["package"]["repository"].as_str(), Some(names::REPOSITORY));
    for target in TARGETS.iter().filter(|target| !target.triple.ends_with("windows-gnu")) {
        let own = settings["overrides"].get(target.triple).unwrap_or(settings);
        let url = fill(&own["pkg-url"], target.triple);
        let archive = url.strip_prefix(&names::download(&release.version, "")).unwrap();
        assert!(files.contains_key(archive), "{url}");
    }
    let triple = "x86_64-unknown-linux-musl";
    let program = fill(&settings["bin-dir"], triple);
    assert!(
        untar(&gunzip(&files[&format!("{}.tar.gz", program.strip_suffix("/loci").unwrap())]))
            .contains_key(&program)
    );
}

/// The program cannot read the names of this task, so that it repeats them.
#[test]
fn loci_update_names_the_packages_that_are_published() {
    let source = include_str!("../../../crates/cli/src/commands/update.rs");
    for (command, name) in [
        ("npm install --global", format!("{}@latest", names::NPM)),
        ("uv tool upgrade", names::PYPI.to_owned()),
        ("pipx upgrade", names::PYPI.to_owned()),
        ("pip install --upgrade", names::PYPI.to_owned()),
        ("brew upgrade", names::PROGRAM.to_owned()),
        ("scoop update", names::PROGRAM.to_owned()),
        ("winget upgrade", names::WINGET.to_owned()),
        ("cargo install --locked --git", names::REPOSITORY.to_owned()),
    ] {
        let written = format!("{command} {name}");
        let behind = source.split_once(&written).map(|(_, rest)| rest.chars().next());
        assert!(
            behind.is_some_and(|next| matches!(next, Some('"' | ' '))),
            "`{written}` is not in update.rs"
        );
    }
    assert!(source.contains(&format!("\"{}/releases\"", names::REPOSITORY)));
}
