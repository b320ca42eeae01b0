//! Preprocessor symbols that the compiler defines for a target framework: `net8.0` has `NET8_0` and all its `…_OR_GREATER`.
//!
//! Does not know where the symbols are used.

/// A family of frameworks: the prefix of their names, the family's symbol, and its versions, oldest first.
struct FrameworkFamily {
    prefix: &'static str,
    symbol: &'static str,
    versions: &'static [&'static str],
}

const FAMILIES: &[FrameworkFamily] = &[
    FrameworkFamily {
        prefix: "netstandard",
        symbol: "NETSTANDARD",
        versions: &["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "2.0", "2.1"],
    },
    FrameworkFamily { prefix: "netcoreapp", symbol: "NETCOREAPP", versions: NETCOREAPP_VERSIONS },
    FrameworkFamily {
        prefix: "net",
        symbol: "NET",
        versions: &["5.0", "6.0", "7.0", "8.0", "9.0", "10.0", "11.0"],
    },
];

const NETCOREAPP_VERSIONS: &[&str] = &["1.0", "1.1", "2.0", "2.1", "2.2", "3.0", "3.1"];

/// Versions of .NET Framework, written without dots.
const NETFRAMEWORK_VERSIONS: &[&str] =
    &["20", "35", "40", "45", "451", "452", "46", "461", "462", "47", "471", "472", "48", "481"];

/// The symbols of a target framework, such as `net8.0-windows`.
pub(crate) fn framework_symbols(framework: &str) -> Vec<String> {
    let name = framework.split('-').next().unwrap_or_default();
    if let Some(at) = name
        .strip_prefix("net")
        .and_then(|version| NETFRAMEWORK_VERSIONS.iter().position(|it| *it == version))
    {
        return version_symbols("NET", "NETFRAMEWORK", NETFRAMEWORK_VERSIONS, at);
    }
    for family in FAMILIES {
        let version = name.strip_prefix(family.prefix);
        let Some(at) = version.and_then(|it| family.versions.iter().position(|known| *known == it)) else {
            continue;
        };
        let mut found = version_symbols(family.symbol, family.symbol, family.versions, at);
        if family.symbol == "NET" {
            found.push("NETCOREAPP".to_owned());
            found.extend(NETCOREAPP_VERSIONS.iter().map(|version| or_greater_symbol("NETCOREAPP", version)));
        }
        return found;
    }
    Vec::new()
}

fn version_symbols(prefix: &str, family: &str, versions: &[&str], at: usize) -> Vec<String> {
    let mut found = vec![family.to_owned(), format!("{prefix}{}", versions[at].replace('.', "_"))];
    found.extend(versions[..=at].iter().map(|version| or_greater_symbol(prefix, version)));
    found
}

fn or_greater_symbol(prefix: &str, version: &str) -> String {
    format!("{prefix}{}_OR_GREATER", version.replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_framework_defines_its_own_symbol_and_all_earlier_ones() {
        for (framework, has, lacks) in [
            (
                "net8.0-windows",
                "NET NET8_0 NET5_0_OR_GREATER NETCOREAPP3_1_OR_GREATER",
                "NET9_0_OR_GREATER NETFRAMEWORK",
            ),
            (
                "netstandard2.0",
                "NETSTANDARD NETSTANDARD2_0 NETSTANDARD1_6_OR_GREATER",
                "NETSTANDARD2_1_OR_GREATER NET",
            ),
            ("net472", "NETFRAMEWORK NET472 NET20_OR_GREATER", "NET48_OR_GREATER NETCOREAPP"),
            ("netcoreapp3.1", "NETCOREAPP NETCOREAPP3_1 NETCOREAPP2_2_OR_GREATER", "NET5_0_OR_GREATER"),
            ("unknown", "", "NET"),
        ] {
            let symbols = framework_symbols(framework);
            let has_it = |name: &str| symbols.iter().any(|symbol| symbol == name);
            assert!(has.split_whitespace().all(has_it), "{framework}: {symbols:?}");
            assert!(!lacks.split_whitespace().any(has_it), "{framework}: {symbols:?}");
        }
    }
}
