//! Reads `pom.xml` and `build.gradle`: the name of the artifact and its dependencies.
//!
//! Does not evaluate build scripts: only literal names count, and the project of a script is named after its folder.

use crate::manifest::Told;
use crate::msbuild::elements;

/// Elements whose `artifactId` names a different artifact.
const OTHERS: &[&str] = &["parent", "dependency", "plugin", "exclusion", "extension"];

pub(crate) fn read(text: &str) -> Told {
    if text.trim_start().starts_with('<') { pom(text) } else { script(text) }
}

fn pom(text: &str) -> Told {
    let mut manifest = Told::default();
    let mut context = String::new();
    for element in elements(text) {
        if OTHERS.contains(&element.name.as_str()) {
            context = element.name;
        } else if element.name == "artifactId" {
            match std::mem::take(&mut context).as_str() {
                "" => drop(manifest.name.get_or_insert(element.text)),
                "parent" | "dependency" => manifest.want(&element.text),
                _ => {}
            }
        }
    }
    manifest
}

/// `project(":core:api")` is a path from the root build; only its last segment is used, because it is usually a sibling folder.
fn script(text: &str) -> Told {
    let named = text.match_indices("project(").filter_map(|(at, mark)| {
        let rest = text[at + mark.len()..].trim_start().trim_start_matches("path:").trim_start();
        let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        let name = rest[1..].split_once(quote)?.0;
        name.rsplit(':').next()
    });
    let mut manifest = Told::default();
    named.for_each(|name| manifest.want(name));
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_has_a_name_and_needs_others() {
        let manifest = read(
            "<?xml version=\"1.0\"?><project><parent><groupId>g</groupId><artifactId>all</artifactId></parent>\
             <artifactId>core</artifactId><dependencies><dependency><groupId>g</groupId><artifactId>api</artifactId>\
             <exclusions><exclusion><artifactId>x</artifactId></exclusion></exclusions></dependency></dependencies>\
             <build><plugins><plugin><artifactId>p</artifactId></plugin></plugins></build></project>",
        );
        assert_eq!(manifest.name.as_deref(), Some("core"));
        assert_eq!(manifest.wants(), ["all", "api"]);
    }

    #[test]
    fn a_script_names_projects_of_its_build() {
        let manifest =
            read("dependencies {\n  implementation project(':core:api')\n  api(project(\"util\"))\n}");
        assert_eq!(manifest.name, None);
        assert_eq!(manifest.wants(), ["api", "util"]);
    }
}
