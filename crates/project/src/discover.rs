//! Discovers the projects of a source tree: which files belong to each, and which settings apply to all of its files (defined
//! symbols, global usings, referenced projects).
//!
//! Does not know the contents of source files. Manifests are read, never executed: conditions that only a build could evaluate
//! count as false.

use crate::compile_items::CompileItems;
use crate::ecosystem::{ECOSYSTEMS, MSBUILD, ecosystem_of_language, ecosystem_of_manifest};
use crate::manifest::DependencyTarget;
use crate::msbuild;
use crate::path::{is_below, join_path, parent_folder};
use crate::source::read_source;
use ignore::WalkBuilder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syntax::{Symbols, decode_text, language_of};

/// A project: a unit that is built together.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Project {
    /// The assembly name, followed by the path of the manifest if two projects share it.
    pub name: String,
    /// The path of its manifest, relative to the root of the tree; empty for the project of files without a manifest.
    pub path: String,
    /// The target framework: the first one in the manifest.
    pub framework: String,
    /// Indices of the projects it references.
    pub references: Vec<u32>,
    pub symbols: Symbols,
    /// Namespaces imported in all of its files.
    pub usings: Vec<String>,
    /// The names it uses for other projects, each with that project's own name.
    pub aliases: Vec<(String, String)>,
    /// The folder of its root module, relative to its manifest, if that is not where the language expects it.
    pub source_root: String,
}

/// The projects and files of a source tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// C# projects, then all others, each sorted by the path of their manifest. The first one has no manifest and owns the
    /// remaining files.
    pub projects: Vec<Project>,
    /// Source files relative to the root of the tree, each with the index of its project, sorted by path.
    pub files: Vec<(String, u32)>,
    pub solutions: Vec<Solution>,
    /// Every folder visited; the root is the empty string.
    pub folders: Vec<String>,
    /// Manifests and `.gitignore` files: the inputs that determine the layout.
    pub layout_files: Vec<String>,
    /// Paths that could not be read, with the reason.
    pub problems: Vec<String>,
}

/// A solution: projects that are opened together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    pub path: String,
    /// The manifests it lists, relative to the root of the tree.
    pub projects: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("no such folder: `{0}`")]
    NoSuchFolder(PathBuf),
    #[error("cancelled")]
    Cancelled,
}

/// Walks a tree, honouring `.gitignore`, and reads its manifests.
pub fn discover(root: &Path) -> Result<Layout, LayoutError> {
    discover_with_progress(root, &|_| true)
}

/// Number of files between progress reports: a folder that is not a source tree may contain millions.
const PROGRESS_INTERVAL: u64 = 1000;

/// Like [`discover`], but reports the number of files seen to `on_progress`, and stops when that returns false.
pub fn discover_with_progress(root: &Path, on_progress: &dyn Fn(u64) -> bool) -> Result<Layout, LayoutError> {
    if !root.is_dir() {
        return Err(LayoutError::NoSuchFolder(root.to_path_buf()));
    }
    let mut layout = Layout::default();
    let (mut manifests, mut solutions, mut shared) = (Vec::new(), Vec::new(), Vec::new());
    let mut others = Vec::new();
    for (seen, entry) in (1..).zip(walk_tree(root)) {
        if seen % PROGRESS_INTERVAL == 0 && !on_progress(seen) {
            return Err(LayoutError::Cancelled);
        }
        let path = match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => entry.into_path(),
            Ok(entry) => {
                if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    layout.folders.push(relative_path(root, entry.path()));
                }
                layout.problems.extend(special_file_problem(root, &entry));
                continue;
            }
            Err(error) => {
                layout.problems.push(error.to_string());
                continue;
            }
        };
        let name = relative_path(root, &path);
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        others.extend(ecosystem_of_manifest(file).map(|ecosystem| (name.clone(), ecosystem)));
        layout.layout_files.extend(is_layout_file(file).then(|| name.clone()));
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csproj") => manifests.push(name),
            Some("sln" | "slnx") => solutions.push(name),
            Some("props") if path.file_name().is_some_and(|it| it == "Directory.Build.props") => {
                shared.push(name);
            }
            _ if language_of(&path).is_some() => layout.files.push((name, 0)),
            _ => {}
        }
    }
    layout.layout_files.extend(parent_ignore_files(root));
    manifests.sort();
    solutions.sort();
    layout.files.sort();
    let lists = layout.read_projects(root, &manifests, &shared);
    others.sort();
    let mut owners: Vec<(String, usize, u32)> =
        manifests.iter().zip(1..).map(|(path, at)| (path.clone(), MSBUILD, at)).collect();
    owners.extend(layout.read_other_manifests(root, &others));
    layout.disambiguate_names();
    layout.read_solutions(root, &solutions);
    layout.assign_files(&owners);
    layout.apply_compile_items(&lists);
    Ok(layout)
}

/// The `.gitignore` files above a root that is a subfolder of a repository.
fn parent_ignore_files(root: &Path) -> Vec<String> {
    let up = |n: usize| "../".repeat(n);
    let Some(top) = root.ancestors().position(|folder| folder.join(".git").exists()) else {
        return Vec::new();
    };
    (1..=top).map(|n| up(n) + ".gitignore").filter(|path| root.join(path).is_file()).collect()
}

/// Whether a file with this name affects the layout: a manifest, a solution or a `.gitignore`.
pub fn is_layout_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ecosystem_of_manifest(name).is_some()
        || matches!(ending, "csproj" | "sln" | "slnx")
        || matches!(name, "Directory.Build.props" | ".gitignore")
}

/// Walks the files below a folder that git would not ignore. Skips the user's personal ignore files, so that a tree has the same
/// files for every user. Works outside a repository too.
fn walk_tree(root: &Path) -> ignore::Walk {
    WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .ignore(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | ".loci")))
        .build()
}

/// Reports an entry with the name of a source file that is neither file nor folder nor link: opening a FIFO would wait for its
/// writer.
fn special_file_problem(root: &Path, entry: &ignore::DirEntry) -> Option<String> {
    let kind = entry.file_type().filter(|kind| !kind.is_dir() && !kind.is_symlink())?;
    let source = !kind.is_file() && language_of(entry.path()).is_some();
    source.then(|| format!("{}: not a regular file", relative_path(root, entry.path())))
}

fn relative_path(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
}

impl Layout {
    /// Reads the C# manifests; returns the compile items of each.
    fn read_projects(&mut self, root: &Path, manifests: &[String], shared: &[String]) -> Vec<CompileItems> {
        self.projects.push(Project::default());
        let (mut references, mut lists) = (Vec::new(), Vec::new());
        for path in manifests {
            let mut inherited: Vec<&String> =
                shared.iter().filter(|props| is_below(path, parent_folder(props))).collect();
            // MSBuild uses the nearest one
            inherited.sort_by_key(|props| std::cmp::Reverse(props.len()));
            let texts: Vec<String> =
                inherited.into_iter().take(1).chain([path]).map(|it| self.read_text(root, it)).collect();
            let read = msbuild::parse_manifests(&texts);
            references.push(
                read.references.iter().map(|to| join_path(parent_folder(path), to)).collect::<Vec<_>>(),
            );
            lists.push(read.files);
            let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".csproj");
            self.projects.push(Project {
                name: read.assembly.unwrap_or_else(|| stem.to_owned()),
                path: path.clone(),
                framework: read.framework,
                references: Vec::new(),
                symbols: read.symbols,
                usings: read.usings,
                aliases: Vec::new(),
                source_root: String::new(),
            });
        }
        for (at, references) in references.iter().enumerate() {
            let found = references.iter().filter_map(|path| manifests.binary_search(path).ok());
            self.projects[at + 1].references = found.map(|at| at as u32 + 1).collect();
        }
        lists
    }

    /// Reads the manifests of other languages; returns the manifest, the ecosystem and the index of each project.
    fn read_other_manifests(
        &mut self,
        root: &Path,
        manifests: &[(String, usize)],
    ) -> Vec<(String, usize, u32)> {
        let (mut owners, mut pending, mut shared) = (Vec::new(), Vec::new(), Vec::new());
        for (path, ecosystem) in manifests {
            let known = owners.iter().any(|(other, of, _): &(String, usize, u32)| {
                of == ecosystem && parent_folder(other) == parent_folder(path)
            });
            let text = self.read_text(root, path);
            let manifest = (ECOSYSTEMS[*ecosystem].parse)(&text);
            shared.extend(
                manifest
                    .workspace_dependencies
                    .into_iter()
                    .map(|(name, target)| (path.clone(), name, target)),
            );
            if manifest.has_no_project || known {
                continue;
            }
            let at = self.projects.len() as u32;
            let name = manifest
                .name
                .unwrap_or_else(|| parent_folder(path).rsplit('/').next().unwrap_or_default().to_owned());
            let source_root = manifest.source_root.unwrap_or_default();
            self.projects.push(Project { name, path: path.clone(), source_root, ..Project::default() });
            pending.extend(
                manifest
                    .dependencies
                    .into_iter()
                    .map(|(name, target)| (at, path.clone(), *ecosystem, name, target)),
            );
            owners.push((path.clone(), *ecosystem, at));
        }
        for (at, path, ecosystem, name, target) in pending {
            let found = self.find_dependency(&owners, &shared, (&path, ecosystem), &name, &target);
            let Some(found) = found.filter(|found| *found != at) else { continue };
            let theirs = self.projects[found as usize].name.clone();
            let project = &mut self.projects[at as usize];
            if !project.references.contains(&found) {
                project.references.push(found);
            }
            if name != theirs {
                project.aliases.push((name, theirs));
            }
        }
        owners
    }

    /// Finds the project for a dependency; an enclosing workspace may define what its name refers to.
    fn find_dependency(
        &self,
        owners: &[(String, usize, u32)],
        shared: &[(String, String, DependencyTarget)],
        (path, ecosystem): (&str, usize),
        name: &str,
        target: &DependencyTarget,
    ) -> Option<u32> {
        let mut candidates = owners.iter().filter(|(_, of, _)| *of == ecosystem);
        match target {
            DependencyTarget::Folder(to) => {
                let to = join_path(parent_folder(path), to);
                candidates
                    .find(|(other, ..)| parent_folder(other) == to || *other == to)
                    .map(|(_, _, at)| *at)
            }
            DependencyTarget::Name(to) => {
                let by_name = candidates
                    .find(|(_, _, at)| self.projects[*at as usize].name == *to)
                    .map(|(_, _, at)| *at);
                let defines = |(workspace, known, _): &&(String, String, DependencyTarget)| {
                    known == name && is_below(path, parent_folder(workspace))
                };
                by_name.or_else(|| {
                    let (workspace, _, target) = shared.iter().find(defines)?;
                    self.find_dependency(owners, &[], (workspace, ecosystem), name, target)
                })
            }
        }
    }

    /// Appends the path of the manifest to names shared by several projects, independent of discovery order.
    fn disambiguate_names(&mut self) {
        let mut count: BTreeMap<String, u32> = BTreeMap::new();
        for project in &self.projects {
            *count.entry(project.name.clone()).or_default() += 1;
        }
        for project in self.projects.iter_mut().filter(|project| count[&project.name] > 1) {
            project.name = format!("{} ({})", project.name, project.path);
        }
    }

    fn read_solutions(&mut self, root: &Path, solutions: &[String]) {
        for path in solutions {
            let text = self.read_text(root, path);
            let listed = msbuild::parse_solution(&text);
            let projects = listed.iter().map(|project| join_path(parent_folder(path), project)).collect();
            self.solutions.push(Solution { path: path.clone(), projects });
        }
    }

    fn read_text(&mut self, root: &Path, path: &str) -> String {
        match read_source(root, path) {
            Ok(bytes) => decode_text(&bytes).into_owned(),
            Err(error) => {
                self.problems.push(format!("{path}: {error}"));
                String::new()
            }
        }
    }

    /// Assigns each file to the nearest manifest above it that belongs to its language's ecosystem.
    fn assign_files(&mut self, owners: &[(String, usize, u32)]) {
        let mut folders: BTreeMap<(usize, &str), u32> = BTreeMap::new();
        for (path, ecosystem, at) in owners {
            folders.entry((*ecosystem, parent_folder(path))).or_insert(*at);
        }
        for (path, project) in &mut self.files {
            let language = language_of(path.as_ref());
            let Some(ecosystem) = language.and_then(|language| ecosystem_of_language(language.name)) else {
                continue;
            };
            let mut at = parent_folder(path);
            loop {
                if let Some(found) = folders.get(&(ecosystem, at)) {
                    *project = *found;
                    break;
                }
                if at.is_empty() {
                    break;
                }
                at = parent_folder(at);
            }
        }
    }
}

impl Layout {
    /// Removes files that their project excludes, and assigns files without a project to the first project that includes them.
    /// `lists` has one entry per C# manifest; those projects come first.
    fn apply_compile_items(&mut self, lists: &[CompileItems]) {
        let decision = |at: u32, projects: &[Project], file: &str| {
            let list = lists.get((at as usize).checked_sub(1)?)?;
            list.includes_file(parent_folder(&projects[at as usize].path), file)
        };
        let listed: Vec<u32> =
            (1..).zip(lists).filter(|(_, it)| !it.items.is_empty()).map(|(at, _)| at).collect();
        let of_csharp = |file: &str| {
            language_of(file.as_ref()).and_then(|it| ecosystem_of_language(it.name)) == Some(MSBUILD)
        };
        for (file, project) in self.files.iter_mut().filter(|(file, _)| of_csharp(file)) {
            if decision(*project, &self.projects, file) == Some(false) {
                *project = 0;
            }
            if *project == 0 {
                let owner = listed.iter().find(|at| decision(**at, &self.projects, file) == Some(true));
                *project = owner.copied().unwrap_or(0);
            }
        }
    }
}

/// File name suffixes of generated files.
const GENERATED_SUFFIXES: &[&str] =
    &[".g.cs", ".g.i.cs", ".designer.cs", ".generated.cs", "modelsnapshot.cs"];

/// Whether a file is generated, by its name or a marker in its first 400 characters.
pub fn is_generated(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let head: String = text.chars().take(400).collect();
    let is_marked = head.contains("<auto-generated")
        || head.contains("@generated")
        || head.contains("Code generated") && head.contains("DO NOT EDIT");
    is_marked || GENERATED_SUFFIXES.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write_tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_file_belongs_to_the_nearest_manifest_unless_git_ignores_it() {
        let root = write_tree(&[
            (".gitignore", "obj/\n*.tmp.cs\n"),
            ("All.sln", "Project(\"{F}\") = \"Core\", \"src\\Core\\Core.csproj\", \"{1}\"\nEndProject\n"),
            ("All.slnx", "<Solution><Project Path=\"src/Core/Core.csproj\" /></Solution>"),
            ("loose.cs", ""),
            ("src/Core/Core.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"></Project>"),
            ("src/Core/A.cs", ""),
            ("src/Core/deep/B.cs", ""),
            ("src/Core/obj/C.cs", ""),
            ("src/Core/D.tmp.cs", ""),
            (
                "src/Web/Web.csproj",
                "<Project><ItemGroup><ProjectReference Include=\"..\\Core\\Core.csproj\" /></ItemGroup></Project>",
            ),
            ("src/Web/E.cs", ""),
        ]);
        let layout = discover(root.path()).unwrap();
        let files: Vec<(&str, &str)> = layout
            .files
            .iter()
            .map(|(path, project)| (path.as_str(), layout.projects[*project as usize].name.as_str()))
            .collect();
        assert_eq!(
            files,
            [
                ("loose.cs", ""),
                ("src/Core/A.cs", "Core"),
                ("src/Core/deep/B.cs", "Core"),
                ("src/Web/E.cs", "Web")
            ]
        );
        assert_eq!(layout.projects[2].references, [1]);
        assert_eq!(layout.solutions.len(), 2);
        assert!(layout.solutions.iter().all(|solution| solution.projects == ["src/Core/Core.csproj"]));
        assert_eq!(layout.problems, [""; 0]);
    }

    #[test]
    fn each_language_has_its_own_manifests() {
        let root = write_tree(&[
            (
                "Cargo.toml",
                "[workspace]\n[workspace.dependencies]\ncore = { path = \"crates/core\", package = \"my-core\" }",
            ),
            ("crates/core/Cargo.toml", "[package]\nname = \"my-core\""),
            ("crates/core/src/lib.rs", ""),
            (
                "crates/app/Cargo.toml",
                "[package]\nname = \"app\"\n[dependencies]\ncore.workspace = true\nserde = \"1\"",
            ),
            ("crates/app/src/main.rs", ""),
            ("crates/app/web/package.json", "{\"name\": \"@my/web\"}"),
            ("crates/app/web/tsconfig.json", "{}"),
            ("crates/app/web/src/a.ts", ""),
            ("crates/app/web/src/b.jsx", ""),
            ("tool/pyproject.toml", "[project]\nname = \"tool\""),
            ("tool/setup.py", "setup(name='other')"),
            ("go/go.mod", "module example.com/x\n"),
            ("go/pkg/a.go", ""),
            ("java/pom.xml", "<project><artifactId>j</artifactId></project>"),
            ("java/src/A.java", ""),
            ("gradle/build.gradle.kts", ""),
            ("gradle/B.java", ""),
            ("loose.py", ""),
        ]);
        let layout = discover(root.path()).unwrap();
        let of = |project: u32| layout.projects[project as usize].name.as_str();
        let files: Vec<String> =
            layout.files.iter().map(|(path, project)| format!("{path}: {}", of(*project))).collect();
        assert_eq!(
            files,
            [
                "crates/app/src/main.rs: app",
                "crates/app/web/src/a.ts: @my/web",
                "crates/app/web/src/b.jsx: @my/web",
                "crates/core/src/lib.rs: my-core",
                "go/pkg/a.go: example.com/x",
                "gradle/B.java: gradle",
                "java/src/A.java: j",
                "loose.py: ",
                "tool/setup.py: tool",
            ]
        );
        let app = layout.projects.iter().find(|project| project.name == "app").unwrap();
        assert_eq!(app.references.iter().map(|at| of(*at)).collect::<Vec<_>>(), ["my-core"]);
        assert_eq!(app.aliases, [("core".to_owned(), "my-core".to_owned())]);
    }

    #[test]
    fn a_manifest_can_include_other_files_and_exclude_its_own() {
        let root = write_tree(&[
            (
                "a/A.csproj",
                r#"<Project Sdk="Microsoft.NET.Sdk"><ItemGroup><Compile Include="..\shared\*.cs;..\b\Of.cs"/><Compile Remove="old\**"/></ItemGroup></Project>"#,
            ),
            ("a/One.cs", ""),
            ("a/old/Two.cs", ""),
            ("b/B.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"/>"),
            ("b/Of.cs", ""),
            ("c/C.csproj", r#"<Project><ItemGroup><Compile Include="Listed.cs"/></ItemGroup></Project>"#),
            ("c/Listed.cs", ""),
            ("c/Unlisted.cs", ""),
            ("shared/Three.cs", ""),
        ]);
        let layout = discover(root.path()).unwrap();
        let files: Vec<(&str, u32)> = layout.files.iter().map(|(path, at)| (path.as_str(), *at)).collect();
        let expected = [
            ("a/One.cs", 1),
            ("a/old/Two.cs", 0),
            ("b/Of.cs", 2),
            ("c/Listed.cs", 3),
            ("c/Unlisted.cs", 0),
            ("shared/Three.cs", 1),
        ];
        assert_eq!(files, expected);
    }

    #[test]
    fn projects_with_the_same_name_are_distinguished_by_path() {
        let root = write_tree(&[("a/X.csproj", "<Project/>"), ("b/X.csproj", "<Project/>")]);
        let layout = discover(root.path()).unwrap();
        let names: Vec<&str> = layout.projects[1..].iter().map(|project| project.name.as_str()).collect();
        assert_eq!(names, ["X (a/X.csproj)", "X (b/X.csproj)"]);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        assert!(matches!(discover(Path::new("no/such/folder")), Err(LayoutError::NoSuchFolder(_))));
    }

    #[test]
    fn generated_files_are_recognized() {
        for (path, text, generated) in [
            ("a/Form1.Designer.cs", "", true),
            ("a/x.g.cs", "", true),
            ("a/x.cs", "// <auto-generated/>\n", true),
            ("a/Designer.cs", "class C;", false),
        ] {
            assert_eq!(is_generated(path, text), generated, "{path}");
        }
    }
}
