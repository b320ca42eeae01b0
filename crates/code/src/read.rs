//! A tree on disk into a code base: every file of its projects, read on several threads, each for the symbols of its project.
//!
//! Does not know what was read before; whoever keeps facts hands in only what changed.

use crate::codebase::{Codebase, SourceFile};
use project::{Layout, Project, is_generated, read_source};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Builder;
use syntax::{Digest, Reader, decode, language_of};

/// A thousand types within each other, which is as deep as a reader follows, overflow the usual 2 MB in a build for tests; 4 were
/// enough. What is not used costs nothing.
const STACK: usize = 16 << 20;

/// When a question is asked, and how it may be worked on.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// In milliseconds since 1970.
    pub now: i64,
    pub threads: usize,
    /// Is told how many files of how many are read, and says whether to go on.
    pub tell: &'a (dyn Fn(u64, u64) -> bool + Sync),
}

/// The caller asked to stop.
#[derive(Debug)]
pub(crate) struct Stopped;

/// Reads all files of a layout. What cannot be read is told, and costs itself alone.
pub fn read_tree(root: &Path, layout: &Layout, threads: usize) -> (Codebase, Vec<String>) {
    let moment = Moment { now: 0, threads, tell: &|_, _| true };
    let told = read_files(root, &layout.projects, &layout.files, &|_, _| None, moment).unwrap_or_default();
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for told in told {
        match told.file {
            Ok(file) => files.extend(file),
            Err(reason) => problems.push(format!("{}: {reason}", told.path)),
        }
    }
    (Codebase::new(layout.projects.clone(), files), problems)
}

/// One file, looked at.
pub(crate) struct Told {
    pub(crate) path: String,
    pub(crate) project: u32,
    /// How many bytes it has, and what they are, in a number.
    pub(crate) bytes: u64,
    pub(crate) digest: u64,
    /// None if its bytes are those that were known; or why it cannot be read.
    pub(crate) file: Result<Option<SourceFile>, String>,
}

/// Reads some files of some projects, by path. `known` is the number of the bytes that were read before.
pub(crate) fn read_files(
    root: &Path,
    projects: &[Project],
    files: &[(String, u32)],
    known: &(dyn Fn(&str, u32) -> Option<u64> + Sync),
    moment: Moment<'_>,
) -> Result<Vec<Told>, Stopped> {
    let stopped = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        let mut desk = Desk { root, projects, known, readers: Vec::new() };
        let mut told = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((path, project)) = files.get(at) else { break };
            if !(moment.tell)(at as u64, files.len() as u64) {
                stopped.store(true, Ordering::Relaxed);
                break;
            }
            told.push(desk.read(path, *project));
        }
        if let Ok(mut done) = done.lock() {
            done.extend(told);
        }
    };
    // for a file or two another thread costs more than it gives
    let threads = moment.threads.min(files.len() / 4).max(1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // Where no thread can be had, this one does the work.
            if Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_err() {
                work();
            }
        }
    });
    if stopped.into_inner() {
        return Err(Stopped);
    }
    let mut told = done.into_inner().unwrap_or_default();
    // threads end in any order
    told.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(told)
}

/// Where one thread reads.
struct Desk<'a> {
    root: &'a Path,
    projects: &'a [Project],
    known: &'a (dyn Fn(&str, u32) -> Option<u64> + Sync),
    readers: Vec<(&'static str, Reader)>,
}

impl Desk<'_> {
    fn read(&mut self, path: &str, project: u32) -> Told {
        let mut told = Told { path: path.to_owned(), project, bytes: 0, digest: 0, file: Ok(None) };
        match read_source(self.root, path) {
            Ok(bytes) => {
                told.bytes = bytes.len() as u64;
                told.digest = Digest::of(&bytes).0;
                if (self.known)(path, project) != Some(told.digest) {
                    told.file = self.understand(path, project, &bytes).map(Some);
                }
            }
            Err(error) => told.file = Err(error.to_string()),
        }
        told
    }

    fn understand(&mut self, path: &str, project: u32, bytes: &[u8]) -> Result<SourceFile, String> {
        let language = language_of(Path::new(path)).ok_or("no language that is read")?;
        if !self.readers.iter().any(|(name, _)| *name == language.name) {
            let reader = Reader::new(language).map_err(|error| error.to_string())?;
            self.readers.push((language.name, reader));
        }
        let reader = self.readers.iter_mut().find(|(name, _)| *name == language.name);
        let (_, reader) = reader.ok_or("no language that is read")?;
        let text = decode(bytes);
        let facts = reader.read(&text, &self.projects[project as usize].symbols);
        Ok(SourceFile { path: path.to_owned(), project, generated: is_generated(path, &text), facts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::Resolver;
    use project::discover;
    use std::fs;

    /// Two projects that both have `Shared.Node`, and one that uses both.
    fn house() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let project = |references: &str| {
            format!("<Project Sdk=\"Microsoft.NET.Sdk\"><ItemGroup>{references}</ItemGroup></Project>")
        };
        let to = |name: &str| format!("<ProjectReference Include=\"..\\{name}\\{name}.csproj\" />");
        for (path, text) in [
            ("A/A.csproj", project("")),
            ("B/B.csproj", project(&to("A"))),
            ("C/C.csproj", project("")),
            ("A/Node.cs", "namespace Shared { public partial class Node { } }".to_owned()),
            ("A/Node.More.g.cs", "namespace Shared { partial class Node { int x; } }".to_owned()),
            ("C/Node.cs", "namespace Shared { public class Node { } }".to_owned()),
            ("B/User.cs", "using Shared; class User { Node n; }".to_owned()),
            ("C/Own.cs", "using Shared; class Own { Node n; User u; }".to_owned()),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn types_of_one_name_in_two_projects_stay_two_and_a_name_means_what_its_project_can_see() {
        let root = house();
        let layout = discover(root.path()).unwrap();
        let (code, problems) = read_tree(root.path(), &layout, 2);
        assert_eq!(problems, [""; 0]);
        let told = |at: u32| {
            let each = &code.types[at as usize];
            format!("{}:{}", code.projects[each.project as usize].name, each.name)
        };
        let types: Vec<String> = (0..code.types.len() as u32).map(told).collect();
        assert_eq!(types, ["C:Own", "A:Shared.Node", "C:Shared.Node", "B:User"]);
        assert_ne!(code.types[1].id, code.types[2].id);
        assert_eq!(code.types[1].parts.len(), 2);
        let edges: Vec<(String, String)> =
            Resolver::new(&code).edges().iter().map(|edge| (told(edge.from), told(edge.to))).collect();
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(edges, [pair("C:Own", "C:Shared.Node"), pair("B:User", "A:Shared.Node")]);
        assert_eq!(code.files.iter().filter(|file| file.generated).count(), 1);
    }

    #[test]
    fn threads_do_not_change_anything() {
        let root = house();
        let layout = discover(root.path()).unwrap();
        let told = |threads| {
            let (code, _) = read_tree(root.path(), &layout, threads);
            format!("{:?} {:?}", code.types, code.files)
        };
        assert_eq!(told(1), told(4));
    }

    #[test]
    fn a_file_that_is_gone_costs_itself_alone() {
        let root = house();
        let layout = discover(root.path()).unwrap();
        fs::remove_file(root.path().join("B/User.cs")).unwrap();
        let (code, problems) = read_tree(root.path(), &layout, 2);
        assert_eq!((code.files.len(), problems.len()), (4, 1));
    }
}
