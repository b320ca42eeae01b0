//! Reads `Package.swift`: the name of the package.
//!
//! Does not run the manifest, which is a program: only a literal name counts, and targets are not told apart.

use crate::manifest::ProjectManifest;

pub(crate) fn parse_manifest(text: &str) -> ProjectManifest {
    let package = text.split_once("Package(").map_or("", |(_, rest)| rest);
    let named = package.trim_start().strip_prefix("name:").map(str::trim_start);
    let name =
        named.and_then(|rest| rest.strip_prefix('"')?.split_once('"')).map(|(name, _)| name.to_owned());
    ProjectManifest { name, ..ProjectManifest::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_read() {
        let name = |text: &str| parse_manifest(text).name;
        assert_eq!(name("let package = Package(\n    name: \"A\",\n    products: [])"), Some("A".to_owned()));
        assert_eq!(name("let package = Package(name: made())"), None);
        assert_eq!(name(""), None);
    }
}
