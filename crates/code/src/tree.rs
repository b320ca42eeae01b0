//! A source tree on disk, read as a whole: its projects, its files on several threads, and what could not be read.
//!
//! Keeps nothing: whoever asks again reads again, and the answer is that of the files as they are.

use crate::codebase::{Codebase, SourceFile};
use crate::file::FileFacts;
use crate::language::{Language, Reader, decode, language_of};
use crate::project::{Layout, LayoutError, discover, is_generated};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A tree, read.
pub struct Tree {
    pub code: Codebase,
    pub layout: Layout,
    /// Files that could not be opened, and why.
    pub problems: Vec<String>,
}

impl Tree {
    /// Reads everything below a folder that is in a language we know. `done` is told of each file.
    pub fn read(
        root: &Path,
        threads: usize,
        done: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Tree, LayoutError> {
        let layout = discover(root)?;
        let (next, read, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let work = || {
            let mut readers: Vec<(&'static Language, Reader)> = Vec::new();
            while let Some(file) = layout.files.get(next.fetch_add(1, Relaxed)) {
                match one(root, &layout, file, &mut readers) {
                    Ok(facts) => push(&read, source(file, facts)),
                    Err(problem) => push(&problems, problem),
                }
                done(next.load(Relaxed).min(layout.files.len()), layout.files.len());
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        let files = read.into_inner().unwrap_or_default();
        let mut problems = problems.into_inner().unwrap_or_default();
        problems.sort();
        problems.extend(layout.problems.iter().cloned());
        Ok(Tree { code: Codebase::new(layout.projects.clone(), files), layout, problems })
    }

    /// How many files have places that could not be understood.
    pub fn with_gaps(&self) -> usize {
        self.code.files.iter().filter(|file| !file.facts.gaps.is_empty()).count()
    }
}

fn push<T>(list: &Mutex<Vec<T>>, item: T) {
    if let Ok(mut list) = list.lock() {
        list.push(item);
    }
}

fn source((path, project): &(String, u32), facts: FileFacts) -> SourceFile {
    SourceFile { path: path.clone(), project: *project, generated: is_generated(path), facts }
}

fn one(
    root: &Path,
    layout: &Layout,
    (path, project): &(String, u32),
    readers: &mut Vec<(&'static Language, Reader)>,
) -> Result<FileFacts, String> {
    let bytes = std::fs::read(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
    let language =
        language_of(Path::new(path)).ok_or_else(|| format!("{path}: no language has such files"))?;
    let known = readers.iter().position(|(other, _)| other.name == language.name);
    let at = match known {
        Some(at) => at,
        None => {
            readers.push((language, Reader::new(language).map_err(|error| error.to_string())?));
            readers.len() - 1
        }
    };
    let symbols = &layout.projects[*project as usize].symbols;
    Ok(readers[at].1.read(&decode(&bytes), symbols))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_the_same_with_one_thread_and_with_several() {
        let root = tempfile::tempdir().unwrap();
        for n in 0..20 {
            let text = format!("namespace N{} {{ public class C{n} {{ int x; }} }}", n % 3);
            std::fs::write(root.path().join(format!("f{n}.cs")), text).unwrap();
        }
        std::fs::write(root.path().join("odd.cs"), "class { ").unwrap();
        let names = |threads| {
            let tree = Tree::read(root.path(), threads, &|_, _| {}).unwrap();
            assert_eq!((tree.problems.len(), tree.with_gaps()), (0, 1));
            tree.code.types.iter().map(|each| each.name.clone()).collect::<Vec<_>>()
        };
        assert!(names(1).contains(&"N1.C1".to_string()));
        assert_eq!(names(1), names(4));
        assert!(Tree::read(&root.path().join("nowhere"), 1, &|_, _| {}).is_err());
    }
}
