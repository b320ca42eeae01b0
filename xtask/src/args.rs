//! Parses a task's arguments: `--name value`, `--switch`, and positional arguments.
//!
//! Does not know the tasks.

use std::path::PathBuf;

pub(crate) struct Args {
    values: Vec<(String, String)>,
    switches: Vec<String>,
    pub(crate) positional: Vec<String>,
}

impl Args {
    /// Rejects unknown flags: a misspelt `--rounds` must not silently measure something else.
    pub(crate) fn parse(args: &[String], values: &[&str], switches: &[&str]) -> Result<Args, String> {
        let mut parsed = Args { values: Vec::new(), switches: Vec::new(), positional: Vec::new() };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.strip_prefix("--") {
                None => parsed.positional.push(arg.clone()),
                Some(name) if switches.contains(&name) => parsed.switches.push(name.to_owned()),
                Some(name) if values.contains(&name) => {
                    let value = rest.next().ok_or_else(|| format!("{arg} needs a value"))?;
                    parsed.values.push((name.to_owned(), value.clone()));
                }
                Some(_) => return Err(format!("unknown flag {arg}")),
            }
        }
        Ok(parsed)
    }

    pub(crate) fn has_switch(&self, switch: &str) -> bool {
        self.switches.iter().any(|s| s == switch)
    }

    pub(crate) fn text_value(&self, name: &str) -> Option<&str> {
        self.values.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn path_value(&self, name: &str) -> Option<PathBuf> {
        self.text_value(name).map(PathBuf::from)
    }

    pub(crate) fn number_value(&self, name: &str, otherwise: u64) -> Result<u64, String> {
        let Some(text) = self.text_value(name) else { return Ok(otherwise) };
        text.parse().map_err(|_| format!("--{name} {text}: not a number"))
    }

    pub(crate) fn size_value(&self, name: &str) -> Result<Option<u64>, String> {
        self.text_value(name).map(parse_size).transpose()
    }
}

/// Parses `60M`, `1G`, `1.5G` or `4096`. Units are powers of ten, as with disks and `ls`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let units = [('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
    let unit = units.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, factor) = unit.map_or((text, 1), |(_, factor)| (&text[..text.len() - 1], *factor));
    let number: f64 = digits.parse().map_err(|_| format!("{text}: not a size; use for example 60M or 1G"))?;
    if !(number.is_finite() && number >= 0.0) {
        return Err(format!("{text}: not a size"));
    }
    Ok((number * f64::from(factor)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_units() {
        assert_eq!(parse_size("60M"), Ok(60_000_000));
        assert_eq!(parse_size("1.5G"), Ok(1_500_000_000));
        assert_eq!(parse_size("4096"), Ok(4096));
        assert!(parse_size("big").is_err());
        assert!(parse_size("-1M").is_err());
    }

    #[test]
    fn unknown_flags_are_rejected() {
        let args: Vec<String> = ["--seed", "7", "--smoke", "dir"].map(str::to_owned).to_vec();
        let parsed = Args::parse(&args, &["seed"], &["smoke"]).unwrap();
        assert_eq!((parsed.number_value("seed", 1), parsed.has_switch("smoke")), (Ok(7), true));
        assert_eq!(parsed.positional, ["dir"]);
        assert!(Args::parse(&args, &["seed"], &[]).is_err());
    }
}
