//! A tree on disk into a code base: every file of its projects, read on several threads, each for the symbols of its project.
//!
//! Does not know what was read before; whoever keeps facts hands in only what changed.

use crate::codebase::{Codebase, SourceFile};
use crate::language::{Reader, decode, language_of};
use crate::project::{Layout, is_generated};
use rustix::fs::{Mode, OFlags, open};
use std::fs::File;
use std::io::{Error as IoError, Read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// A thousand types within each other, which is as deep as a reader follows, overflow the usual 2 MB in a build for tests; 4 were
/// enough. What is not used costs nothing.
const STACK: usize = 16 << 20;

/// Reads all files of a layout. What cannot be read is told, and costs itself alone.
pub fn read_tree(root: &Path, layout: &Layout, threads: usize) -> (Codebase, Vec<String>) {
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Vec::with_capacity(layout.files.len()), Vec::new()));
    std::thread::scope(|scope| {
        let work = || {
            let (files, problems) = some(root, layout, &next);
            if let Ok(mut done) = done.lock() {
                done.0.extend(files);
                done.1.extend(problems);
            }
        };
        for _ in 0..threads.max(1) {
            // Where no thread can be had, this one does the work.
            if Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_err() {
                work();
            }
        }
    });
    let (files, mut problems) = done.into_inner().unwrap_or_default();
    // threads end in any order
    problems.sort();
    (Codebase::new(layout.projects.clone(), files), problems)
}

/// What is larger was made by a tool, and its tree takes many times its size in memory.
const LARGEST: u64 = 8 << 20;

/// The bytes of a source file. Nothing but a plain file is opened, and no link is followed: opening a FIFO would wait for its
/// writer, and between a look and the opening one may have taken the file's place.
pub fn read_source(root: &Path, path: &str) -> Result<Vec<u8>, IoError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(root.join(path), flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(IoError::other("not a plain file"));
    }
    let mut bytes = Vec::with_capacity(meta.len().min(LARGEST) as usize);
    if meta.len() <= LARGEST {
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    }
    if meta.len().max(bytes.len() as u64) > LARGEST {
        let (mega, most) = (meta.len() >> 20, LARGEST >> 20);
        return Err(IoError::other(format!("{mega} MB; up to {most} MB are read")));
    }
    Ok(bytes)
}

/// Takes one file after another until there are none.
fn some(root: &Path, layout: &Layout, next: &AtomicUsize) -> (Vec<SourceFile>, Vec<String>) {
    let mut readers: Vec<(&str, Reader)> = Vec::new();
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    while let Some((path, project)) = layout.files.get(next.fetch_add(1, Ordering::Relaxed)) {
        let Some(language) = language_of(Path::new(path)) else { continue };
        let bytes = match read_source(root, path) {
            Ok(bytes) => bytes,
            Err(error) => {
                problems.push(format!("{path}: {error}"));
                continue;
            }
        };
        if !readers.iter().any(|(name, _)| *name == language.name) {
            match Reader::new(language) {
                Ok(reader) => readers.push((language.name, reader)),
                Err(error) => problems.push(format!("{path}: {error}")),
            }
        }
        let Some((_, reader)) = readers.iter_mut().find(|(name, _)| *name == language.name) else { continue };
        let text = decode(&bytes);
        let facts = reader.read(&text, &layout.projects[*project as usize].symbols);
        let generated = is_generated(path, &text);
        files.push(SourceFile { path: path.clone(), project: *project, generated, facts });
    }
    (files, problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::discover;
    use crate::resolve::Resolver;
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
