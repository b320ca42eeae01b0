//! What a `pom.xml` or a `build.gradle` says: the artifact's name, and those it needs.
//!
//! Does not know what a build script computes: names that are written out count, and a script's project has its folder's name.

use crate::manifest::Told;
use crate::msbuild::elements;

/// Elements whose artifact is another one.
const OTHERS: &[&str] = &["parent", "dependency", "plugin", "exclusion", "extension"];

pub(crate) fn read(text: &str) -> Told {
    if text.trim_start().starts_with('<') { pom(text) } else { script(text) }
}

fn pom(text: &str) -> Told {
    let mut told = Told::default();
    let mut of = String::new();
    for element in elements(text) {
        if OTHERS.contains(&element.name.as_str()) {
            of = element.name;
        } else if element.name == "artifactId" {
            match std::mem::take(&mut of).as_str() {
                "" => drop(told.name.get_or_insert(element.text)),
                "parent" | "dependency" => told.want(&element.text),
                _ => {}
            }
        }
    }
    told
}

/// `project(":core:api")` is a folder below the outermost, and mostly one beside.
fn script(text: &str) -> Told {
    let named = text.match_indices("project(").filter_map(|(at, mark)| {
        let rest = text[at + mark.len()..].trim_start().trim_start_matches("path:").trim_start();
        let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        let name = rest[1..].split_once(quote)?.0;
        name.rsplit(':').next()
    });
    let mut told = Told::default();
    named.for_each(|name| told.want(name));
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_has_a_name_and_needs_others() {
        let told = read(
            "<?xml version=\"1.0\"?><project><parent><groupId>g</groupId><artifactId>all</artifactId></parent>\
             <artifactId>core</artifactId><dependencies><dependency><groupId>g</groupId><artifactId>api</artifactId>\
             <exclusions><exclusion><artifactId>x</artifactId></exclusion></exclusions></dependency></dependencies>\
             <build><plugins><plugin><artifactId>p</artifactId></plugin></plugins></build></project>",
        );
        assert_eq!(told.name.as_deref(), Some("core"));
        assert_eq!(told.wants(), ["all", "api"]);
    }

    #[test]
    fn a_script_names_projects_of_its_build() {
        let told = read("dependencies {\n  implementation project(':core:api')\n  api(project(\"util\"))\n}");
        assert_eq!(told.name, None);
        assert_eq!(told.wants(), ["api", "util"]);
    }
}
