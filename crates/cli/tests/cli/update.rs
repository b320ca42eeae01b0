//! `loci update`: what it tells and when it runs the package manager, with a made-up npm.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use testutil::{Home, run_line};

/// A program at the place where npm puts it, and an npm that leaves a mark.
fn install_by_npm(folder: &Path) -> PathBuf {
    let program = folder.join("lib/node_modules/@loci-dev/loci-linux-x64/bin/loci");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_loci"), &program).unwrap();
    let npm = folder.join("npm");
    std::fs::write(&npm, "#!/bin/sh\necho \"$@\" > \"$MARK\"\n").unwrap();
    std::fs::set_permissions(&npm, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn the_package_manager_runs_only_once_a_person_has_agreed() {
    let folder = tempfile::tempdir().unwrap();
    let (program, mark) = (install_by_npm(folder.path()), folder.path().join("mark"));
    let update = |flags: &[&str]| {
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let mut command = Command::new(&program);
        command.arg("update").args(flags).env_clear().env("HOME", folder.path()).env("PATH", path);
        let done = command.env("MARK", &mark).stdin(std::process::Stdio::null()).output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    for (flags, code) in [(&["--check"][..], 0), (&["--json"], 0), (&[], 1)] {
        let (ended, told) = update(flags);
        assert!(ended == Some(code) && told.contains("npm install --global"), "{flags:?} {ended:?} {told}");
        assert_eq!(told.starts_with('{'), flags == ["--json"], "{told}");
        assert!(!mark.exists(), "{flags:?}");
    }
    assert_eq!(update(&["--yes"]).0, Some(0));
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "install --global @loci-dev/loci@latest\n");
}

#[test]
fn a_file_without_a_package_manager_is_not_updated() {
    let home = Home::new();
    assert!(run_line(&home, "update --check").expect(0).text().contains("Installed as a file"));
    assert!(run_line(&home, "update --yes").expect(1).stderr.contains("no package manager"));
}
