//! Reads `pom.xml` and `build.gradle`: the name of the artifact and its dependencies.
//!
//! Does not evaluate build scripts: only literal names count, and the project of a script is named after its folder.

use crate::manifest::ProjectManifest;
use crate::xml::parse_elements;

/// Elements whose `artifactId` names a different artifact.
const OTHER_ARTIFACTS: &[&str] = &["parent", "dependency", "plugin", "exclusion", "extension"];

pub(crate) fn parse_manifest(text: &str) -> ProjectManifest {
    if text.trim_start().starts_with('<') { parse_pom(text) } else { parse_build_script(text) }
}

fn parse_pom(text: &str) -> ProjectManifest {
    let mut manifest = ProjectManifest::default();
    let mut context = String::new();
    for element in parse_elements(text) {
        if OTHER_ARTIFACTS.contains(&element.name.as_str()) {
            context = element.name;
        } else if element.name == "artifactId" {
            match std::mem::take(&mut context).as_str() {
                "" => drop(manifest.name.get_or_insert(element.text)),
                "parent" | "dependency" => manifest.add_dependency(&element.text),
                _ => {}
            }
        }
    }
    manifest
}

/// `project(":core:api")` is a path from the root build; only its last segment is used, because it is usually a sibling folder.
fn parse_build_script(text: &str) -> ProjectManifest {
    let named = text.match_indices("project(").filter_map(|(at, mark)| {
        let rest = text[at + mark.len()..].trim_start().trim_start_matches("path:").trim_start();
        let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        let name = rest[1..].split_once(quote)?.0;
        name.rsplit(':').next()
    });
    let mut manifest = ProjectManifest::default();
    named.for_each(|name| manifest.add_dependency(name));
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_dependencies_of_a_pom_are_read() {
        let manifest = parse_manifest(
            "<?xml version=\"1.0\"?><project><parent><groupId>g</groupId><artifactId>all</artifactId></parent>\
             <artifactId>core</artifactId><dependencies><dependency><groupId>g</groupId><artifactId>api</artifactId>\
             <exclusions><exclusion><artifactId>x</artifactId></exclusion></exclusions></dependency></dependencies>\
             <build><plugins><plugin><artifactId>p</artifactId></plugin></plugins></build></project>",
        );
        assert_eq!(manifest.name.as_deref(), Some("core"));
        assert_eq!(manifest.describe_dependencies(), ["all", "api"]);
    }

    #[test]
    fn a_build_script_references_projects_of_its_build() {
        let manifest = parse_manifest(
            "dependencies {\n  implementation project(':core:api')\n  api(project(\"util\"))\n}",
        );
        assert_eq!(manifest.name, None);
        assert_eq!(manifest.describe_dependencies(), ["api", "util"]);
    }
}
