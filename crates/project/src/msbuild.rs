//! Reads `.csproj` files with their inherited properties, and solutions.
//!
//! Does not evaluate all of `MSBuild`: known properties are expanded, conditions may use `==` and `!=` joined by `and` and `or`,
//! and any other condition counts as false.

use crate::compile_items::{CompileItem, CompileItems};
use crate::framework;
use crate::xml::{Element, parse_elements};
use std::collections::BTreeMap;
use syntax::Symbols;

/// The settings of a `.csproj` file.
#[derive(Default)]
pub(crate) struct MsbuildManifest {
    pub(crate) assembly: Option<String>,
    pub(crate) framework: String,
    pub(crate) symbols: Symbols,
    pub(crate) usings: Vec<String>,
    pub(crate) references: Vec<String>,
    pub(crate) files: CompileItems,
}

/// Namespaces imported in all files when `ImplicitUsings` is on, by SDK.
const IMPLICIT_USINGS: &[(&str, &[&str])] = &[
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
pub(crate) fn parse_manifests(texts: &[String]) -> MsbuildManifest {
    let elements: Vec<Element> = texts.iter().flat_map(|text| parse_elements(text)).collect();
    let mut manifest =
        MsbuildManifest { framework: target_framework(&elements), ..MsbuildManifest::default() };
    let mut properties = BTreeMap::from([
        ("Configuration".to_owned(), "Debug".to_owned()),
        ("TargetFramework".to_owned(), manifest.framework.clone()),
    ]);
    let mut kind = "";
    for element in &elements {
        if !is_active(element, &properties) {
            continue;
        }
        let text = expand_properties(&element.text, &properties);
        let include = element.attribute_value("Include").map(|value| expand_properties(value, &properties));
        match (element.name.as_str(), include) {
            ("Project", _) => kind = element.attribute_value("Sdk").unwrap_or(kind),
            ("ProjectReference", Some(path)) => manifest.references.push(path),
            ("Compile", include) => {
                let remove =
                    element.attribute_value("Remove").map(|value| expand_properties(value, &properties));
                manifest.files.items.extend(split_items(true, include));
                manifest.files.items.extend(split_items(false, remove));
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
    let has_sdk = elements.iter().any(|it| it.name == "Sdk" || it.attribute_value("Sdk").is_some());
    manifest.files.is_exclusive = !has_sdk && manifest.files.items.iter().any(|entry| entry.is_included);
    let property = |name: &str| properties.get(name).map_or("", String::as_str);
    let implicit = matches!(property("ImplicitUsings").to_ascii_lowercase().as_str(), "enable" | "true");
    if implicit {
        let kinds = IMPLICIT_USINGS.iter().filter(|(name, _)| *name == "Microsoft.NET.Sdk" || *name == kind);
        manifest
            .usings
            .extend(kinds.flat_map(|(_, namespaces)| namespaces.iter().map(|it| (*it).to_owned())));
    }
    let removed = elements
        .iter()
        .filter(|element| element.name == "Using")
        .filter_map(|it| it.attribute_value("Remove"));
    let removed: Vec<&str> = removed.collect();
    manifest.usings.retain(|namespace| !removed.contains(&namespace.as_str()));
    manifest.usings.sort();
    manifest.usings.dedup();
    let mut names = framework::framework_symbols(&manifest.framework);
    names.extend(["DEBUG".to_owned(), "TRACE".to_owned()]);
    names.extend(property("DefineConstants").split([';', ',']).map(|name| name.trim().to_owned()));
    manifest.symbols = names.iter().map(String::as_str).collect();
    manifest
}

/// Splits a list of patterns into items.
fn split_items(takes: bool, patterns: Option<String>) -> Vec<CompileItem> {
    let patterns = patterns.unwrap_or_default();
    let each = patterns.split(';').map(str::trim).filter(|pattern| !pattern.is_empty());
    each.map(|pattern| CompileItem { is_included: takes, pattern: pattern.to_owned() }).collect()
}

/// The first target framework in the manifest: the last element that is active and names one, since a build may be given others.
fn target_framework(elements: &[Element]) -> String {
    let mut properties = BTreeMap::from([("Configuration".to_owned(), "Debug".to_owned())]);
    let mut framework = String::new();
    for element in elements.iter().filter(|it| !it.text.is_empty()) {
        if !is_active(element, &properties) {
            continue;
        }
        let text = expand_properties(&element.text, &properties);
        if matches!(element.name.as_str(), "TargetFramework" | "TargetFrameworks") {
            let named = text.split(';').map(str::trim).find(|name| !name.is_empty());
            framework = named.map_or(framework, str::to_owned);
        }
        properties.insert(element.name.clone(), text);
    }
    framework
}

/// The manifests listed in a solution, in either format (`.sln` or `.slnx`).
pub(crate) fn parse_solution(text: &str) -> Vec<String> {
    let old =
        text.lines().filter(|line| line.starts_with("Project(")).filter_map(|line| line.split('"').nth(5));
    let new = parse_elements(text);
    let new = new
        .iter()
        .filter(|element| element.name == "Project")
        .filter_map(|element| element.attribute_value("Path"));
    old.chain(new).filter(|path| path.ends_with(".csproj")).map(str::to_owned).collect()
}

/// Expands properties; an unknown one is empty, as in `MSBuild`.
fn expand_properties(text: &str, properties: &BTreeMap<String, String>) -> String {
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

fn is_active(element: &Element, properties: &BTreeMap<String, String>) -> bool {
    element.conditions.iter().all(|condition| evaluate_condition(&expand_properties(condition, properties)))
}

/// Evaluates a condition whose properties are already expanded.
fn evaluate_condition(condition: &str) -> bool {
    let lower = condition.to_ascii_lowercase();
    lower.split(" or ").any(|either| either.split(" and ").all(evaluate_comparison))
}

fn evaluate_comparison(text: &str) -> bool {
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

    fn parse_texts(texts: &[&str]) -> MsbuildManifest {
        parse_manifests(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn symbols_come_from_the_first_framework_and_active_properties() {
        let read = parse_texts(&[
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
    fn the_framework_is_one_that_a_plain_build_has() {
        let framework = |lines: &str| {
            parse_texts(&[&format!("<Project><PropertyGroup>{lines}</PropertyGroup></Project>")]).framework
        };
        let given = r#"<TargetFrameworks Condition="'$(Given)'==''">net8.0;net45</TargetFrameworks>
            <TargetFrameworks Condition="'$(Given)'!=''">$(Given)</TargetFrameworks>"#;
        assert_eq!(framework(given), "net8.0");
        let named = "<Base>net6.0</Base><TargetFrameworks>$(Base);net45</TargetFrameworks>";
        assert_eq!(framework(named), "net6.0");
        assert_eq!(framework("<TargetFrameworks>$(Unknown);net45</TargetFrameworks>"), "net45");
        assert_eq!(framework(""), "");
    }

    #[test]
    fn global_usings_are_read() {
        let read = parse_texts(&[
            r#"<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><ImplicitUsings>enable</ImplicitUsings>
            <AssemblyName>Other</AssemblyName></PropertyGroup>
            <ItemGroup><Using Include="My.Own"/><Using Remove="System.IO"/><Using Include="A.B" Alias="C"/></ItemGroup></Project>"#,
        ]);
        let has = |name: &str| read.usings.iter().any(|it| it == name);
        assert!(has("System.Linq") && has("Microsoft.AspNetCore.Http") && has("My.Own"));
        assert!(!has("System.IO") && !has("A.B"));
        assert_eq!(read.assembly.as_deref(), Some("Other"));
        assert_eq!(parse_texts(&["<Project/>"]).usings, [""; 0]);
    }

    #[test]
    fn compile_items_are_exclusive_only_without_an_sdk() {
        let entry =
            |takes: bool, pattern: &str| CompileItem { is_included: takes, pattern: pattern.to_owned() };
        let items = r#"<ItemGroup><Compile Include="A.cs;..\B.cs"/><Compile Remove="Old\**"/></ItemGroup>"#;
        let entries = vec![entry(true, "A.cs"), entry(true, r"..\B.cs"), entry(false, r"Old\**")];
        for (project, only) in [("<Project>", true), (r#"<Project Sdk="Microsoft.NET.Sdk">"#, false)] {
            let read = parse_texts(&[&format!("{project}{items}</Project>")]);
            assert_eq!(read.files, CompileItems { items: entries.clone(), is_exclusive: only });
        }
    }

    #[test]
    fn malformed_xml_yields_no_settings() {
        for text in ["", "<", "<a", "<a b=", "<a b='", "<!-- ", "</a>", "<a></b></c>", "x"] {
            assert_eq!(parse_texts(&[text]).references, [""; 0]);
        }
    }
}
