//! How each package is installed, and removed, by its own tool.
//!
//! Does not know what the program has to do once it is installed.

use super::{Stop, Trial, expect_files, list_files, program_at, require, run_for_output, tool, use_program};
use crate::release::material::Built;
use crate::release::{container, deb, mcp, names, npm, pypi, rpm};
use crate::repository::root;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Tried = Result<String, Stop>;

impl Trial<'_> {
    /// The binary of this machine.
    fn built(&self) -> Result<&Built, Stop> {
        let host = super::super::targets::host_targets().map(|target| target.npm).next();
        let built = self.release.packaged().find(|built| Some(built.target.npm) == host);
        built.ok_or_else(|| Stop::Missing("no binary for this machine".to_owned()))
    }

    pub(super) fn prefix(&self) -> Result<PathBuf, Stop> {
        let prefix = self.folder.join("prefix");
        fs::create_dir_all(&prefix).map_err(|error| Stop::Wrong(format!("{}: {error}", prefix.display())))?;
        Ok(prefix)
    }

    pub(super) fn file(&self, path: &str) -> Result<PathBuf, Stop> {
        let path = self.output.path(path);
        path.canonicalize().map_err(|error| Stop::Wrong(format!("{}: {error}", path.display())))
    }

    fn use_installed(&self, path: &Path) -> Result<(), String> {
        use_program(&self.release.version, &program_at(path))
    }
}

fn is_root() -> bool {
    testutil::needs::is_root()
}

// ---- archives

pub(super) fn archive(trial: &Trial<'_>, ending: &str) -> Tried {
    let (stem, prefix) = (trial.release.stem(trial.built()?.target), trial.prefix()?);
    let file = trial.file(&format!("{stem}.{ending}"))?;
    run_for_output(tool(trial, "tar").arg("-xf").arg(&file).arg("-C").arg(&prefix))?;
    let files = list_files(&prefix).len();
    trial.use_installed(&prefix.join(&stem).join("loci"))?;
    run_for_output(tool(trial, "rm").arg("-r").arg(prefix.join(&stem)))?;
    expect_files(&prefix, &BTreeSet::new())?;
    Ok(format!("tar -xf, rm -r: {files} files, {} bytes packed", size(&file)))
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |data| data.len())
}

// ---- registries of languages

pub(super) fn npm(trial: &Trial<'_>) -> Tried {
    require(trial, "npm")?;
    let (platform, prefix) = (npm::platform_package(trial.built()?.target), trial.prefix()?);
    let npm = || {
        let mut command = tool(trial, "npm");
        command
            .args(["--global", "--offline", "--no-fund", "--no-audit", "--no-update-notifier", "--prefix"])
            .arg(&prefix);
        command.arg("--cache").arg(trial.folder.join("cache"));
        command
    };
    for package in [names::NPM, &platform] {
        let file = trial.file(&npm::file_name(trial.release, package))?;
        run_for_output(npm().arg("install").arg(file))?;
    }
    // The launcher starts with node, which is where npm is.
    let launcher = prefix.join("bin/loci");
    use_program(&trial.release.version, &|home| {
        let mut command = tool(trial, "node");
        command.arg(&launcher).env("HOME", home).env("LOCI_DAEMON", "off").current_dir(home);
        command
    })?;
    run_for_output(npm().args(["uninstall", names::NPM, &platform]))?;
    expect_files(&prefix, &BTreeSet::new())?;
    Ok("npm install --global --offline, npm uninstall: launcher and platform package".to_owned())
}

pub(super) fn pip(trial: &Trial<'_>) -> Tried {
    require(trial, "python3")?;
    let (prefix, wheel) = (trial.prefix()?, trial.file(&pypi::file_name(trial.release, trial.built()?)?)?);
    run_for_output(tool(trial, "python3").args(["-m", "venv"]).arg(&prefix))?;
    let before = list_files(&prefix);
    let pip = || {
        let mut command = tool(trial, &prefix.join("bin/pip").display().to_string());
        command.env("PYTHONDONTWRITEBYTECODE", "1").args(["--disable-pip-version-check", "--quiet"]);
        command
    };
    run_for_output(pip().args(["install", "--no-index"]).arg(&wheel))?;
    trial.use_installed(&prefix.join("bin/loci"))?;
    run_for_output(pip().args(["uninstall", "--yes", names::PYPI]))?;
    expect_files(&prefix, &before)?;
    Ok("pip install --no-index into a new environment, pip uninstall".to_owned())
}

pub(super) fn uv(trial: &Trial<'_>) -> Tried {
    let (prefix, wheel) = (trial.prefix()?, trial.file(&pypi::file_name(trial.release, trial.built()?)?)?);
    let program = find_uv(trial)?;
    let uv = || {
        let mut command = tool(trial, &program);
        command.env("UV_TOOL_DIR", prefix.join("tools")).env("UV_TOOL_BIN_DIR", prefix.join("bin"));
        command.env("UV_CACHE_DIR", trial.folder.join("cache")).args(["--offline", "--no-config", "tool"]);
        command
    };
    let shown = run_for_output(uv().args(["run", "--from"]).arg(&wheel).args(["loci", "--version"]))?;
    if !shown.contains(&trial.release.version) {
        return Err(Stop::Wrong(format!("uvx --from: {shown}")));
    }
    run_for_output(uv().arg("install").arg(&wheel))?;
    trial.use_installed(&prefix.join("bin/loci"))?;
    run_for_output(uv().args(["uninstall", names::PYPI]))?;
    let left: Vec<_> = list_files(&prefix).into_iter().filter(|path| !is_own_of_uv(path)).collect();
    if !left.is_empty() {
        return Err(Stop::Wrong(format!("left behind: {left:?}")));
    }
    Ok("uvx --from, uv tool install, uv tool uninstall".to_owned())
}

/// Its lock, and the file that keeps its folder out of git.
fn is_own_of_uv(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".lock" || name == ".gitignore")
}

/// uv on the path, or installed from `PyPI` for this trial.
fn find_uv(trial: &Trial<'_>) -> Result<String, Stop> {
    if require(trial, "uv").is_ok() {
        return Ok("uv".to_owned());
    }
    let place = trial.folder.join("uv");
    run_for_output(tool(trial, "python3").args(["-m", "venv"]).arg(&place))?;
    let mut pip = tool(trial, &place.join("bin/pip").display().to_string());
    let installed =
        run_for_output(pip.args(["install", "--quiet", "--retries", "0", "--timeout", "20", "uv"]));
    installed.map_err(|_| Stop::Missing("no uv here, and PyPI was not reached".to_owned()))?;
    Ok(place.join("bin/uv").display().to_string())
}

// ---- systems

pub(super) fn deb(trial: &Trial<'_>) -> Tried {
    require(trial, "dpkg")?;
    let (built, prefix) = (trial.built()?, trial.prefix()?);
    let Some(machine) = built.target.deb else {
        return Err(Stop::Missing("no deb for this machine".to_owned()));
    };
    if !is_root() {
        return Err(Stop::Missing("dpkg --root needs root".to_owned()));
    }
    let data = prefix.join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(data.join(folder)).map_err(|error| error.to_string())?;
    }
    for file in ["status", "available"] {
        fs::write(data.join(file), "").map_err(|error| error.to_string())?;
    }
    let dpkg = || {
        let mut command = tool(trial, "dpkg");
        command.arg(format!("--root={}", prefix.display())).arg("--log=/dev/null");
        // The empty root has no C library, which a dynamic binary depends on.
        command.args(built.glibc().map(|_| "--force-depends"));
        command
    };
    run_for_output(dpkg().arg("--install").arg(trial.file(&deb::file_name(trial.release, machine))?))?;
    let files = list_files(&prefix.join("usr")).len();
    trial.use_installed(&prefix.join("usr/bin/loci"))?;
    run_for_output(dpkg().args(["--purge", names::PROGRAM]))?;
    expect_gone(&prefix.join("usr"))?;
    Ok(format!("dpkg --root --install, --purge: {files} files"))
}

fn expect_gone(folder: &Path) -> Result<(), Stop> {
    expect_files(folder, &BTreeSet::new())?;
    if folder.exists() { Err(Stop::Wrong(format!("{}: still there", folder.display()))) } else { Ok(()) }
}

pub(super) fn rpm(trial: &Trial<'_>) -> Tried {
    require(trial, "rpm")?;
    let (built, prefix) = (trial.built()?, trial.prefix()?);
    let Some(machine) = built.target.rpm else {
        return Err(Stop::Missing("no rpm for this machine".to_owned()));
    };
    let file = trial.file(&rpm::file_name(trial.release, machine))?;
    run_for_output(tool(trial, "rpm").args(["--checksig", "--nosignature"]).arg(&file))?;
    if !is_root() {
        return Err(Stop::Missing("rpm --root needs root; its checksums are right".to_owned()));
    }
    let rpm = || {
        let mut command = tool(trial, "rpm");
        command.arg("--root").arg(&prefix);
        command
    };
    run_for_output(rpm().arg("--initdb"))?;
    run_for_output(rpm().arg("--install").args(built.glibc().map(|_| "--nodeps")).arg(&file))?;
    run_for_output(rpm().args(["--verify", "--nodeps", names::PROGRAM]))?;
    let files = list_files(&prefix.join("usr/share")).len() + list_files(&prefix.join("usr/bin")).len();
    trial.use_installed(&prefix.join("usr/bin/loci"))?;
    run_for_output(rpm().args(["--erase", names::PROGRAM]))?;
    for folder in ["usr/bin", "usr/share"] {
        expect_files(&prefix.join(folder), &BTreeSet::new())?;
    }
    Ok(format!("rpm --checksig, --root --install, --verify, --erase: {files} files"))
}

// ---- containers

/// Builds with the daemon of docker, or with buildah, which needs none.
pub(super) fn container(trial: &Trial<'_>) -> Tried {
    if trial.built()?.target.container.is_none() {
        return Err(Stop::Missing("no static binary, which the image needs".to_owned()));
    }
    let context = trial.file("")?;
    if run_for_output(tool(trial, "docker").arg("info")).is_ok_and(|shown| !shown.contains("Cannot connect"))
    {
        return docker(trial, &context);
    }
    require(trial, "buildah").map_err(|_| {
        Stop::Missing("the docker daemon does not run here, and there is no buildah".to_owned())
    })?;
    if !is_root() {
        return Err(Stop::Missing("the docker daemon does not run here, and buildah needs root".to_owned()));
    }
    buildah(trial, &context)
}

const IMAGE: &str = "loci-release-trial";

fn docker(trial: &Trial<'_>, context: &Path) -> Tried {
    let docker = || tool(trial, "docker");
    run_for_output(
        docker()
            .args(["build", "--quiet", "--tag", IMAGE, "--file"])
            .arg(context.join(container::FILE))
            .arg(context),
    )?;
    let used = use_program(&trial.release.version, &|home| {
        let mut command = docker();
        command.args(["run", "--rm", "--volume"]).arg(format!("{}:/root", home.display())).arg(IMAGE);
        command
    });
    run_for_output(docker().args(["image", "rm", "--force", IMAGE]))?;
    used?;
    Ok("docker build, run, image rm".to_owned())
}

fn buildah(trial: &Trial<'_>, context: &Path) -> Tried {
    // Older versions set it only together with a platform.
    let machine = format!("TARGETARCH={}", trial.built()?.target.container.unwrap_or_default());
    let storage = trial.folder.join("storage");
    let buildah = || {
        let mut command = tool(trial, "buildah");
        command
            .arg("--root")
            .arg(&storage)
            .arg("--runroot")
            .arg(trial.folder.join("run"))
            .args(["--storage-driver", "vfs"]);
        command
    };
    run_for_output(
        buildah()
            .args(["build", "--isolation", "chroot", "--build-arg", &machine, "--tag", IMAGE, "--file"])
            .arg(context.join(container::FILE))
            .arg(context),
    )?;
    let name = run_for_output(buildah().args(["from", IMAGE]))?.trim().to_owned();
    use_program(&trial.release.version, &|home| {
        let mut command = buildah();
        command.args(["run", "--isolation", "chroot", "--volume"]).arg(format!("{}:/root", home.display()));
        command.arg(&name).args(["--", "/usr/bin/loci"]);
        command
    })?;
    run_for_output(buildah().args(["rm", &name]))?;
    run_for_output(buildah().args(["rmi", "--all", "--force"]))?;
    let left = run_for_output(buildah().args(["images", "--quiet"]))?;
    if !left.trim().is_empty() {
        return Err(Stop::Wrong(format!("left behind: {left}")));
    }
    Ok("buildah build, run, rmi (the docker daemon does not run here)".to_owned())
}

// ---- the others

/// Unpacks the bundle as a client does, and asks the server for its tools.
pub(super) fn bundle(trial: &Trial<'_>) -> Tried {
    require(trial, "python3")?;
    let (prefix, file) = (trial.prefix()?, trial.file(&mcp::bundle_name(trial.release, trial.built()?))?);
    run_for_output(tool(trial, "python3").args(["-m", "zipfile", "--extract"]).arg(&file).arg(&prefix))?;
    let text = fs::read_to_string(prefix.join("manifest.json")).map_err(|error| error.to_string())?;
    let manifest: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let program = prefix.join(manifest["server"]["entry_point"].as_str().unwrap_or_default());
    // Clients restore the modes of a zip; this unpacker does not.
    run_for_output(tool(trial, "chmod").arg("755").arg(&program))?;
    trial.use_installed(&program)?;
    let tools = count_tools(&program, trial.folder)?;
    Ok(format!("unpacked; the server has {tools} tools, {} bytes packed", size(&file)))
}

fn count_tools(program: &Path, home: &Path) -> Result<usize, String> {
    let requests = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"trial","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    ];
    let failed = |error: std::io::Error| format!("{}: {error}", program.display());
    let mut command = Command::new(program);
    testutil::set_environment(&mut command, home);
    let mut server =
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = server.stdin.take() {
        input.write_all((requests.join("\n") + "\n").as_bytes()).map_err(failed)?;
    }
    let output = server.wait_with_output().map_err(failed)?;
    let answers = String::from_utf8_lossy(&output.stdout).into_owned();
    let tools = |line: &str| {
        Some(serde_json::from_str::<serde_json::Value>(line).ok()?["result"]["tools"].as_array()?.len())
    };
    answers.lines().find_map(tools).ok_or_else(|| format!("no tools in the answers: {answers:.400}"))
}

/// Homebrew itself is not run: it would need the archives at their address.
pub(super) fn homebrew(trial: &Trial<'_>) -> Tried {
    require(trial, "ruby").map_err(|_| Stop::Missing("no ruby here to read the formula".to_owned()))?;
    run_for_output(tool(trial, "ruby").arg("-c").arg(trial.file("homebrew/loci.rb")?))?;
    Err(Stop::Missing("the archives are not at their address yet; `ruby -c` reads the formula".to_owned()))
}

/// Evaluates the flake with a made-up nixpkgs: building would download the real one.
pub(super) fn nix(trial: &Trial<'_>) -> Tried {
    require(trial, "nix-instantiate")?;
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/release/trial/flake_check.nix");
    let mut nix = tool(trial, "nix-instantiate");
    nix.args(["--eval", "--strict", "--readonly-mode", "--arg", "root"]).arg(root()).arg(check);
    let shown = run_for_output(&mut nix)?;
    if !shown.contains(&format!("loci-{}/bin/loci", trial.release.version)) {
        return Err(Stop::Wrong(format!("flake.nix: {shown}")));
    }
    Err(Stop::Missing("nixpkgs would be downloaded; the flake evaluates with a made-up one".to_owned()))
}
