//! Reading a tree of several projects.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::Resolver;
use loci_code::read_tree;
use project::discover;
use std::fs;

/// Two projects that both declare `Shared.Node`, and one that uses both.
fn sample_tree() -> tempfile::TempDir {
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
fn types_with_the_same_name_in_two_projects_stay_separate() {
    let root = sample_tree();
    let layout = discover(root.path()).unwrap();
    let (code, problems) = read_tree(root.path(), &layout, 2);
    assert_eq!(problems, [""; 0]);
    let qualified = |at: u32| {
        let each = &code.types[at as usize];
        format!("{}:{}", code.projects[each.project as usize].name, each.name)
    };
    let types: Vec<String> = (0..code.types.len() as u32).map(qualified).collect();
    assert_eq!(types, ["C:Own", "A:Shared.Node", "C:Shared.Node", "B:User"]);
    assert_ne!(code.types[1].id, code.types[2].id);
    assert_eq!(code.types[1].parts.len(), 2);
    let edges: Vec<(String, String)> = Resolver::new(&code)
        .all_edges()
        .iter()
        .map(|edge| (qualified(edge.from), qualified(edge.to)))
        .collect();
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(edges, [pair("C:Own", "C:Shared.Node"), pair("B:User", "A:Shared.Node")]);
    assert_eq!(code.files.iter().filter(|file| file.generated).count(), 1);
}

#[test]
fn the_number_of_threads_does_not_change_the_result() {
    let root = sample_tree();
    let layout = discover(root.path()).unwrap();
    let debug_output = |threads| {
        let (code, _) = read_tree(root.path(), &layout, threads);
        format!("{:?} {:?}", code.types, code.files)
    };
    assert_eq!(debug_output(1), debug_output(4));
}

#[test]
fn a_missing_file_does_not_affect_the_others() {
    let root = sample_tree();
    let layout = discover(root.path()).unwrap();
    fs::remove_file(root.path().join("B/User.cs")).unwrap();
    let (code, problems) = read_tree(root.path(), &layout, 2);
    assert_eq!((code.files.len(), problems.len()), (4, 1));
}
