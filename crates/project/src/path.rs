//! Paths relative to the root of a tree, as strings with `/` as the separator.
//!
//! Does not know the file system.

pub(crate) fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(crate) fn is_below(path: &str, above: &str) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

/// Resolves a path in a manifest, such as `..\Core\Core.csproj`, against the folder of the manifest.
pub(crate) fn join_path(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
