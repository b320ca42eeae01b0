//! Runs the project's own compiler in a scratch copy and returns its diagnostics.
//!
//! Does not decide whether it may run: a compiler runs code of the project, so a person has to allow it per tree.

use crate::diagnostic::{Diagnostic, Format, parse_diagnostics};
use crate::sources::language_family;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subprocess::{Job, RunError, Supervisor};

/// A compiler that can check a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checker {
    pub name: &'static str,
    /// The languages it decides about.
    pub language: &'static str,
    /// The manifest at the root of the tree; empty if it needs none.
    manifest: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    format: Format,
    /// Whether the values of the language have no types to check: then a place that no error names proves nothing.
    pub is_gradual: bool,
}

/// The argument that stands for the list of source files.
const FILES: &str = "{files}";
/// The argument that stands for a folder of its own for output.
const OUTPUT: &str = "{output}";
/// The argument that stands for a file in which the compiler notes what it knows, for its next run in the same copy.
const STATE: &str = "{state}";

/// The known compilers; the first whose language and manifest fit is used.
pub const CHECKERS: &[Checker] = &[
    Checker {
        name: "cargo check",
        language: "Rust",
        manifest: "Cargo.toml",
        program: "cargo",
        arguments: &[
            "check",
            "--workspace",
            "--all-targets",
            "--message-format=json",
            "--offline",
            "--keep-going",
        ],
        format: Format::CargoJson,
        is_gradual: false,
    },
    Checker {
        name: "tsc",
        language: "TypeScript",
        manifest: "tsconfig.json",
        program: "tsc",
        // checking a second time what did not change takes nine tenths of a run
        arguments: &[
            "--noEmit",
            "--pretty",
            "false",
            "-p",
            "tsconfig.json",
            "--incremental",
            "--tsBuildInfoFile",
            STATE,
        ],
        format: Format::Parentheses,
        is_gradual: true,
    },
    Checker {
        name: "pyright",
        language: "Python",
        manifest: "",
        program: "pyright",
        arguments: &["--outputjson"],
        format: Format::PyrightJson,
        is_gradual: true,
    },
    Checker {
        name: "go vet",
        language: "Go",
        manifest: "go.mod",
        program: "go",
        arguments: &["vet", "./..."],
        format: Format::ColonColumn,
        is_gradual: false,
    },
    Checker {
        name: "javac",
        language: "Java",
        manifest: "",
        program: "javac",
        arguments: &[
            "-proc:none",
            "-nowarn",
            "-Xmaxerrs",
            "10000",
            "-XDshould-stop.ifError=FLOW",
            "-d",
            OUTPUT,
            FILES,
        ],
        format: Format::Colon,
        is_gradual: false,
    },
    Checker {
        name: "dotnet build",
        language: "C#",
        manifest: "",
        program: "dotnet",
        arguments: &["build", "--no-restore", "-nologo", "-clp:NoSummary"],
        format: Format::Parentheses,
        is_gradual: false,
    },
];

/// Output beyond this is no list of diagnostics.
const OUTPUT_LIMIT: usize = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("{program}: {error}")]
    Run { program: String, error: RunError },
    #[error("{program} failed without a diagnostic (exit code {status}): {stderr}")]
    Failed { program: String, status: i32, stderr: String },
    #[error("{program} did not get to the sources: {message}")]
    NotReached { program: String, message: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The compiler for a file of a tree, run at the root.
pub fn checker_for(root: &Path, file: &str) -> Option<&'static Checker> {
    find_checker(root, file).filter(|it| it.folder.is_empty()).map(|it| it.checker)
}

/// A compiler, and the folder of the project that it checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectChecker {
    pub checker: &'static Checker,
    /// Relative to the root of the tree; empty for the root itself.
    pub folder: String,
}

/// The compiler for a file of a tree. Of several manifests above the file the outermost counts: that of a workspace lists the others.
pub fn find_checker(root: &Path, file: &str) -> Option<ProjectChecker> {
    let language = language_family(file);
    let checker = CHECKERS.iter().find(|it| it.language == language)?;
    let mut folders = std::iter::once("").chain(file.match_indices('/').map(|(end, _)| &file[..end]));
    let is_project =
        |folder: &&str| checker.manifest.is_empty() || root.join(folder).join(checker.manifest).is_file();
    Some(ProjectChecker { checker, folder: folders.find(is_project)?.to_owned() })
}

impl ProjectChecker {
    /// Whether a file of the tree is one that it checks.
    pub(crate) fn covers(&self, file: &str) -> bool {
        let is_below = file.strip_prefix(&self.folder).is_some_and(|rest| rest.starts_with('/'));
        language_family(file) == self.checker.language && (self.folder.is_empty() || is_below)
    }

    /// Runs the compiler in its folder of the tree at `root`; the files of the diagnostics are relative to the root.
    pub fn run(&self, root: &Path, run: &CheckRun<'_>) -> Result<Vec<Diagnostic>, CheckError> {
        if self.folder.is_empty() {
            return self.checker.run(root, run);
        }
        // what a compiler keeps for its next run belongs to one project
        let output = run.output.join(self.folder.replace('/', "+"));
        let mut found = self.checker.run_in(
            root,
            &root.join(&self.folder),
            &CheckRun { output: &output, env: run.env.clone(), ..*run },
        )?;
        for it in found.iter_mut().filter(|it| !it.file.is_empty()) {
            it.file = format!("{}/{}", self.folder, it.file);
        }
        Ok(found)
    }
}

/// How a checker is run.
pub struct CheckRun<'a> {
    pub supervisor: &'a Supervisor,
    /// The whole environment of the compiler; it needs `PATH` and `HOME`.
    pub env: BTreeMap<OsString, OsString>,
    pub deadline: Duration,
    /// A folder for what the compiler builds.
    pub output: &'a Path,
}

impl Checker {
    /// Runs the compiler in a folder.
    pub fn run(&self, folder: &Path, run: &CheckRun<'_>) -> Result<Vec<Diagnostic>, CheckError> {
        self.run_in(folder, folder, run)
    }

    /// Runs the compiler in a folder of the tree at `root`.
    fn run_in(&self, root: &Path, folder: &Path, run: &CheckRun<'_>) -> Result<Vec<Diagnostic>, CheckError> {
        std::fs::create_dir_all(run.output)?;
        let mut env = run.env.clone();
        env.insert("CARGO_TARGET_DIR".into(), run.output.into());
        let program = find_program(self.program, &[folder, root], &env);
        let job = Job {
            program: program.clone(),
            args: self.resolve_arguments(folder, run.output)?,
            env,
            cwd: folder.to_path_buf(),
            stdin: Vec::new(),
            deadline: run.deadline,
            stdout_limit: OUTPUT_LIMIT,
            cancel: None,
        };
        // compilers disagree on where diagnostics go: the shell joins both
        let finished = run
            .supervisor
            .run(join_outputs(job, self.format))
            .map_err(|error| CheckError::Run { program: self.name.to_owned(), error })?;
        let output = String::from_utf8_lossy(&finished.stdout);
        let found = parse_diagnostics(self.format, &output, &folder.to_string_lossy());
        self.require_sources(&found)?;
        if finished.status != 0 && !found.iter().any(|it| it.is_error) {
            let shown = output.lines().rev().take(5).collect::<Vec<_>>().join(" / ");
            let stderr = format!("{}{shown}", finished.stderr);
            return Err(CheckError::Failed {
                program: self.name.to_owned(),
                status: finished.status,
                stderr,
            });
        }
        Ok(found)
    }

    /// Refuses a run that ended at the project and not in its sources: packages that are not restored, settings that are not known.
    /// The next run ends there as well, and the same errors twice would look like proof.
    fn require_sources(&self, found: &[Diagnostic]) -> Result<(), CheckError> {
        let is_of_project = |it: &&Diagnostic| it.is_error && language_family(&it.file) != self.language;
        found.iter().find(is_of_project).map_or(Ok(()), |it| {
            let message = format!("{}: {}", it.code, it.message);
            Err(CheckError::NotReached { program: self.name.to_owned(), message })
        })
    }

    fn resolve_arguments(&self, folder: &Path, output: &Path) -> Result<Vec<OsString>, CheckError> {
        let mut all = Vec::new();
        for argument in self.arguments {
            match *argument {
                OUTPUT => all.push(output.join("classes").into_os_string()),
                STATE => all.push(output.join("state").into_os_string()),
                FILES => {
                    let list = output.join("files.txt");
                    let mut files = Vec::new();
                    list_files(folder, ".java", &mut files)?;
                    std::fs::write(&list, files.join("\n"))?;
                    let mut at = OsString::from("@");
                    at.push(list);
                    all.push(at);
                }
                plain => all.push(plain.into()),
            }
        }
        Ok(all)
    }
}

/// Compilers that print diagnostics to standard error are run by a shell that joins it with standard output.
fn join_outputs(job: Job<'_>, format: Format) -> Job<'_> {
    if matches!(format, Format::CargoJson | Format::PyrightJson) {
        return job;
    }
    let mut args: Vec<OsString> = vec!["-c".into(), "exec \"$0\" \"$@\" 2>&1".into(), job.program.into()];
    args.extend(job.args);
    Job { program: "/bin/sh".into(), args, ..job }
}

/// A program that the project has installed itself in one of the folders, or the one on the path.
pub(crate) fn find_program(name: &str, folders: &[&Path], env: &BTreeMap<OsString, OsString>) -> PathBuf {
    let mut installed = folders.iter().map(|folder| folder.join("node_modules/.bin").join(name));
    if let Some(installed) = installed.find(|it| it.exists()) {
        return installed;
    }
    let path = env.get(&OsString::from("PATH")).cloned().unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| name.into())
}

fn list_files(folder: &Path, ending: &str, found: &mut Vec<String>) -> Result<(), std::io::Error> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            list_files(&path, ending, found)?;
        } else if name.ends_with(ending) && name != "module-info.java" {
            found.push(format!("\"{}\"", path.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_project_is_no_answer_about_its_sources() {
        let checker = checker_for(Path::new("/"), "A.cs").unwrap();
        let run = |output: &str| checker.require_sources(&parse_diagnostics(checker.format, output, "/tree"));
        assert!(run("/tree/A.cs(3,7): error CS0103: The name 'a' does not exist [/tree/a.csproj]").is_ok());
        let refused =
            run("/sdk/Sdk.targets(234,5): error NETSDK1004: Assets file not found. [/tree/a.csproj]")
                .unwrap_err();
        assert!(refused.to_string().contains("NETSDK1004: Assets file not found"), "{refused}");
    }

    #[test]
    fn a_compiler_checks_the_outermost_project_above_a_file() {
        let home = tempfile::tempdir().unwrap();
        for manifest in
            ["web/tsconfig.json", "web/packages/a/tsconfig.json", "Cargo.toml", "crates/b/Cargo.toml"]
        {
            let path = home.path().join(manifest);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = |file: &str| find_checker(home.path(), file).map(|it| (it.checker.name, it.folder));
        assert_eq!(found("web/packages/a/src/i.ts"), Some(("tsc", "web".to_owned())));
        assert_eq!(found("crates/b/src/lib.rs"), Some(("cargo check", String::new())));
        assert_eq!(found("scripts/i.ts"), None);
        let web = find_checker(home.path(), "web/i.ts").unwrap();
        assert!(web.covers("web/a.ts") && !web.covers("website/a.ts") && !web.covers("web/a.go"));
    }
}
