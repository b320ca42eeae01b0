//! Reads `.csproj` files with their inherited properties, and solutions.
//!
//! Does not evaluate all of `MSBuild`: known properties are expanded, conditions may use `==` and `!=` joined by `and` and `or`,
//! and any other condition counts as false.

use crate::compile_items::{Entry, List};
use crate::framework;
use std::collections::BTreeMap;
use syntax::Symbols;

/// The settings of a `.csproj` file.
#[derive(Default)]
pub(crate) struct Manifest {
    pub(crate) assembly: Option<String>,
    pub(crate) framework: String,
    pub(crate) symbols: Symbols,
    pub(crate) usings: Vec<String>,
    pub(crate) references: Vec<String>,
    pub(crate) files: List,
}

/// Namespaces imported in all files when `ImplicitUsings` is on, by SDK.
const IMPLICIT: &[(&str, &[&str])] = &[
    (
        "Microsoft.NET.Sdk",
        &[
            "System",
            "System.Collections.Generic",
            "System.IO",
            "System.Linq",
            "System.Net.Http",
            "System.Threading",
            "System.Threading.Tasks",
        ],
    ),
    (
        "Microsoft.NET.Sdk.Web",
        &[
            "System.Net.Http.Json",
            "Microsoft.AspNetCore.Builder",
            "Microsoft.AspNetCore.Hosting",
            "Microsoft.AspNetCore.Http",
            "Microsoft.AspNetCore.Routing",
            "Microsoft.Extensions.Configuration",
            "Microsoft.Extensions.DependencyInjection",
            "Microsoft.Extensions.Hosting",
            "Microsoft.Extensions.Logging",
        ],
    ),
    (
        "Microsoft.NET.Sdk.Worker",
        &[
            "Microsoft.Extensions.Configuration",
            "Microsoft.Extensions.DependencyInjection",
            "Microsoft.Extensions.Hosting",
            "Microsoft.Extensions.Logging",
        ],
    ),
];

/// Parses manifests in evaluation order: inherited ones first.
pub(crate) fn read(texts: &[String]) -> Manifest {
    let elements: Vec<Element> = texts.iter().flat_map(|text| elements(text)).collect();
    let mut manifest = Manifest { framework: framework_of(&elements), ..Manifest::default() };
    let mut properties = BTreeMap::from([
        ("Configuration".to_owned(), "Debug".to_owned()),
        ("TargetFramework".to_owned(), manifest.framework.clone()),
    ]);
    let mut kind = "";
    for element in &elements {
        if !element.holds(&properties) {
            continue;
        }
        let text = replaced(&element.text, &properties);
        let include = element.attribute("Include").map(|value| replaced(value, &properties));
        match (element.name.as_str(), include) {
            ("Project", _) => kind = element.attribute("Sdk").unwrap_or(kind),
            ("ProjectReference", Some(path)) => manifest.references.push(path),
            ("Compile", include) => {
                let remove = element.attribute("Remove").map(|value| replaced(value, &properties));
                manifest.files.entries.extend(entries(true, include));
                manifest.files.entries.extend(entries(false, remove));
            }
            // aliases and static usings apply to all files too, but usually refer to types outside the source
            ("Using", Some(namespace)) if element.attributes.len() == 1 => manifest.usings.push(namespace),
            ("AssemblyName", _) => manifest.assembly = Some(text).filter(|name| !name.is_empty()),
            (name, _) if !text.is_empty() && name != "TargetFramework" => {
                properties.insert(name.to_owned(), text);
            }
            _ => {}
        }
    }
    let has_sdk = elements.iter().any(|it| it.name == "Sdk" || it.attribute("Sdk").is_some());
    manifest.files.only = !has_sdk && manifest.files.entries.iter().any(|entry| entry.takes);
    let property = |name: &str| properties.get(name).map_or("", String::as_str);
    let implicit = matches!(property("ImplicitUsings").to_ascii_lowercase().as_str(), "enable" | "true");
    if implicit {
        let kinds = IMPLICIT.iter().filter(|(name, _)| *name == "Microsoft.NET.Sdk" || *name == kind);
        manifest
            .usings
            .extend(kinds.flat_map(|(_, namespaces)| namespaces.iter().map(|it| (*it).to_owned())));
    }
    let removed =
        elements.iter().filter(|element| element.name == "Using").filter_map(|it| it.attribute("Remove"));
    let removed: Vec<&str> = removed.collect();
    manifest.usings.retain(|namespace| !removed.contains(&namespace.as_str()));
    manifest.usings.sort();
    manifest.usings.dedup();
    let mut names = framework::symbols(&manifest.framework);
    names.extend(["DEBUG".to_owned(), "TRACE".to_owned()]);
    names.extend(property("DefineConstants").split([';', ',']).map(|name| name.trim().to_owned()));
    manifest.symbols = names.iter().map(String::as_str).collect();
    manifest
}

/// Splits a list of patterns into items.
fn entries(takes: bool, patterns: Option<String>) -> Vec<Entry> {
    let patterns = patterns.unwrap_or_default();
    let each = patterns.split(';').map(str::trim).filter(|pattern| !pattern.is_empty());
    each.map(|pattern| Entry { takes, pattern: pattern.to_owned() }).collect()
}

/// The first target framework in the manifest.
fn framework_of(elements: &[Element]) -> String {
    let named =
        elements.iter().rev().find(|it| matches!(it.name.as_str(), "TargetFramework" | "TargetFrameworks"));
    let named = named.map_or("", |element| element.text.as_str());
    named
        .split(';')
        .map(str::trim)
        .find(|name| !name.is_empty() && !name.contains('$'))
        .unwrap_or_default()
        .to_owned()
}

/// The manifests listed in a solution, in either format (`.sln` or `.slnx`).
pub(crate) fn solution(text: &str) -> Vec<String> {
    let old =
        text.lines().filter(|line| line.starts_with("Project(")).filter_map(|line| line.split('"').nth(5));
    let new = elements(text);
    let new = new
        .iter()
        .filter(|element| element.name == "Project")
        .filter_map(|element| element.attribute("Path"));
    old.chain(new).filter(|path| path.ends_with(".csproj")).map(str::to_owned).collect()
}

/// An XML element with its direct text, its conditions and those of all enclosing elements.
pub(crate) struct Element {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    conditions: Vec<String>,
    pub(crate) text: String,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn holds(&self, properties: &BTreeMap<String, String>) -> bool {
        self.conditions.iter().all(|condition| holds(&replaced(condition, properties)))
    }
}

/// Parses XML elements in the order of their start tags. Stops at the first malformed one.
pub(crate) fn elements(text: &str) -> Vec<Element> {
    let mut found: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        if let Some(at) = open.last() {
            found[*at].text.push_str(unescaped(rest[..start].trim()).as_str());
        }
        rest = &rest[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            let Some(end) = comment.find("-->") else { break };
            rest = &comment[end + 3..];
            continue;
        }
        let Some(end) = tag_end(rest) else { break };
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if tag.starts_with(['?', '!']) {
            continue;
        }
        if tag.starts_with('/') {
            open.pop();
            continue;
        }
        let conditions = open.last().map_or_else(Vec::new, |at| found[*at].conditions.clone());
        let mut element = Element { conditions, ..opened(tag.trim_end_matches('/')) };
        element.conditions.extend(element.attribute("Condition").map(str::to_owned));
        if !tag.ends_with('/') {
            open.push(found.len());
        }
        found.push(element);
    }
    found
}

/// The end of a tag; a `>` within quotes does not end it.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('>', None) => return Some(at),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

fn opened(tag: &str) -> Element {
    let (name, mut rest) = tag.split_at(tag.find(char::is_whitespace).unwrap_or(tag.len()));
    let mut attributes = Vec::new();
    while let Some((key, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let Some(quote) = after.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else { break };
        let Some((value, next)) = after[1..].split_once(quote) else { break };
        attributes.push((key.trim().to_owned(), unescaped(value)));
        rest = next;
    }
    Element { name: name.to_owned(), attributes, conditions: Vec::new(), text: String::new() }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

/// Expands properties; an unknown one is empty, as in `MSBuild`.
fn replaced(text: &str, properties: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        let Some((name, next)) = after.split_once(')') else { break };
        out.push_str(before);
        out.push_str(properties.get(name).map_or("", String::as_str));
        rest = next;
    }
    out.push_str(rest);
    out
}

/// Evaluates a condition whose properties are already expanded.
fn holds(condition: &str) -> bool {
    let lower = condition.to_ascii_lowercase();
    lower.split(" or ").any(|either| either.split(" and ").all(compares))
}

fn compares(text: &str) -> bool {
    let bare = |side: &str| side.trim().trim_matches(['(', ')']).trim().trim_matches(['\'', '"']).to_owned();
    match (text.split_once("=="), text.split_once("!=")) {
        (Some((one, other)), _) => bare(one) == bare(other),
        (_, Some((one, other))) => bare(one) != bare(other),
        _ => text.trim() == "true",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(texts: &[&str]) -> Manifest {
        read(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn symbols_are_those_of_the_first_framework_and_of_the_properties_that_hold() {
        let read = manifest(&[
            "<Project><PropertyGroup><DefineConstants>SHARED</DefineConstants></PropertyGroup></Project>",
            r#"<?xml version="1.0"?><Project Sdk="Microsoft.NET.Sdk">
              <!-- <DefineConstants>NO</DefineConstants> -->
              <PropertyGroup><TargetFrameworks>net6.0;net45</TargetFrameworks></PropertyGroup>
              <PropertyGroup Condition="'$(TargetFramework)' == 'net6.0'">
                <DefineConstants>$(DefineConstants);HAVE_IT;$(Unknown)</DefineConstants>
              </PropertyGroup>
              <PropertyGroup Condition="'$(TargetFramework)'=='net45' Or '$(Configuration)' != 'Debug'">
                <DefineConstants>$(DefineConstants);OLD</DefineConstants>
              </PropertyGroup>
              <PropertyGroup Condition="Exists('a > b')"><DefineConstants>NO</DefineConstants></PropertyGroup>
            </Project>"#,
        ]);
        let symbols: Vec<&str> = read.symbols.iter().collect();
        assert_eq!(read.framework, "net6.0");
        for (name, expected) in [
            ("SHARED", true),
            ("HAVE_IT", true),
            ("DEBUG", true),
            ("NET6_0_OR_GREATER", true),
            ("OLD", false),
            ("NO", false),
        ] {
            assert_eq!(symbols.contains(&name), expected, "{name}");
        }
    }

    #[test]
    fn namespaces_are_imported_everywhere_when_the_manifest_says_so() {
        let read = manifest(&[
            r#"<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><ImplicitUsings>enable</ImplicitUsings>
            <AssemblyName>Other</AssemblyName></PropertyGroup>
            <ItemGroup><Using Include="My.Own"/><Using Remove="System.IO"/><Using Include="A.B" Alias="C"/></ItemGroup></Project>"#,
        ]);
        let has = |name: &str| read.usings.iter().any(|it| it == name);
        assert!(has("System.Linq") && has("Microsoft.AspNetCore.Http") && has("My.Own"));
        assert!(!has("System.IO") && !has("A.B"));
        assert_eq!(read.assembly.as_deref(), Some("Other"));
        assert_eq!(manifest(&["<Project/>"]).usings, [""; 0]);
    }

    #[test]
    fn a_list_of_files_is_all_there_is_only_without_an_sdk() {
        let entry = |takes: bool, pattern: &str| Entry { takes, pattern: pattern.to_owned() };
        let items = r#"<ItemGroup><Compile Include="A.cs;..\B.cs"/><Compile Remove="Old\**"/></ItemGroup>"#;
        let entries = vec![entry(true, "A.cs"), entry(true, r"..\B.cs"), entry(false, r"Old\**")];
        for (project, only) in [("<Project>", true), (r#"<Project Sdk="Microsoft.NET.Sdk">"#, false)] {
            let read = manifest(&[&format!("{project}{items}</Project>")]);
            assert_eq!(read.files, List { entries: entries.clone(), only });
        }
    }

    #[test]
    fn text_that_is_not_xml_tells_nothing() {
        for text in ["", "<", "<a", "<a b=", "<a b='", "<!-- ", "</a>", "<a></b></c>", "x"] {
            assert_eq!(manifest(&[text]).references, [""; 0]);
        }
    }
}
