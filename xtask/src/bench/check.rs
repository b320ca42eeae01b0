//! Checks results: counts against the manifest, one thread against two, memory against rows.
//!
//! Does not measure time.

use super::measure::{Case, Results};
use super::suite;
use super::workspace::{Binaries, Corpus, Workspace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Memory limit of a query: a base, and an amount per printed row.
const MEMORY: u64 = 64 << 20;
const MEMORY_PER_ROW: u64 = 100;

pub(super) struct Finding {
    pub(super) passed: bool,
    pub(super) text: String,
}

/// All checks of one corpus.
pub(super) fn check_corpus(
    corpus: &Corpus,
    binaries: &Binaries,
    work: &Workspace,
    results: &mut Results,
    findings: &mut Vec<Finding>,
) -> Result<(), String> {
    let (one, two) = (work.scratch_file("light.jsonl"), work.scratch_file("light2.jsonl"));
    let mut peak = |case: &Case, out: Option<&Path>, rows: u64, findings: &mut Vec<Finding>| {
        let peak = case.peak_memory(out)?;
        let rows = if let (0, Some(out)) = (rows, out) { count_rows(out)? } else { rows };
        findings.push(check_memory(&case.name, peak, rows));
        results.peaks.push((case.name.clone(), peak));
        Ok::<(), String>(())
    };
    let calls = corpus.manifest_count("/calls");
    peak(&suite::light_case(corpus, binaries), Some(&one), calls, findings)?;
    peak(&suite::light2_case(corpus, binaries), Some(&two), calls, findings)?;
    peak(&suite::whole_case(corpus, binaries), None, calls, findings)?;
    let usage = work.scratch_file("usage.jsonl");
    peak(&suite::usage_case(corpus, binaries), Some(&usage), 0, findings)?;

    let counted = Counted::read_rows(&one).map_err(|error| format!("{}: {error}", one.display()))?;
    findings.extend(counted.compare_with_manifest(corpus));
    let same = same_bytes(&one, &two).map_err(|error| error.to_string())?;
    findings.push(Finding {
        passed: same,
        text: format!("light{0} and light2{0}: identical output", corpus.suffix),
    });
    check_tokens(corpus, &usage, findings)?;
    // The other tools read only the small corpus.
    if corpus.suffix.is_empty() {
        check_other_tools(corpus, binaries, work, &usage, results, findings)?;
    }
    Ok(())
}

fn check_other_tools(
    corpus: &Corpus,
    binaries: &Binaries,
    work: &Workspace,
    usage: &Path,
    results: &mut Results,
    findings: &mut Vec<Finding>,
) -> Result<(), String> {
    if let Some(case) = suite::jq_case(corpus) {
        let out = work.scratch_file("jq.jsonl");
        results.peaks.push(("jq".to_owned(), case.peak_memory(Some(&out))?));
        // Ensure that jq does comparable work. Copies add to the minimum of two rows per call.
        let (rows, least) = (count_rows(&out)?, 2 * corpus.manifest_count("/calls"));
        let text = format!("jq: {rows} rows, at least one per call and one per result");
        findings.push(Finding { passed: rows >= least, text });
    }
    if let Some(case) = suite::ccusage_case(corpus, binaries) {
        let out = work.scratch_file("ccusage.json");
        results.peaks.push(("ccusage".to_owned(), case.peak_memory(Some(&out))?));
        findings.push(compare_with_ccusage(usage, &out)?);
    }
    Ok(())
}

fn check_memory(name: &str, peak: u64, rows: u64) -> Finding {
    let most = MEMORY + MEMORY_PER_ROW * rows;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let text = format!("{name}: peak {:.1} MB, limit {:.1} MB", megabytes(peak), megabytes(most));
    Finding { passed: peak > 0 && peak <= most, text }
}

fn check_equal(what: &str, found: u64, expected: u64) -> Finding {
    let text = if found == expected {
        format!("{what}: {found}")
    } else {
        format!("{what}: {found} found, {expected} expected ({:+})", found as i64 - expected as i64)
    };
    Finding { passed: found == expected, text }
}

/// The totals of the rows of `query tools`.
#[derive(Default)]
struct Counted {
    calls: u64,
    errors: u64,
    by_tool: BTreeMap<String, u64>,
}

impl Counted {
    fn read_rows(path: &Path) -> io::Result<Counted> {
        let mut counted = Counted::default();
        for line in BufReader::new(File::open(path)?).lines() {
            let row: Value = serde_json::from_str(&line?)?;
            counted.calls += 1;
            counted.errors += u64::from(row["status"] == "error");
            *counted.by_tool.entry(row["tool"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        Ok(counted)
    }

    fn compare_with_manifest(&self, corpus: &Corpus) -> Vec<Finding> {
        let by_tool = corpus.manifest["calls_by_tool"].as_object();
        let expected: BTreeMap<String, u64> = by_tool
            .into_iter()
            .flatten()
            .map(|(tool, calls)| (tool.clone(), calls.as_u64().unwrap_or_default()))
            .collect();
        let suffix = corpus.suffix;
        let tools = Finding {
            passed: self.by_tool == expected,
            text: format!("calls by tool{suffix}: {} tools", self.by_tool.len()),
        };
        vec![
            check_equal(&format!("tool calls{suffix}"), self.calls, corpus.manifest_count("/calls")),
            check_equal(&format!("errors{suffix}"), self.errors, corpus.manifest_count("/errors")),
            tools,
        ]
    }
}

fn count_rows(path: &Path) -> Result<u64, String> {
    let read = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(memchr::memchr_iter(b'\n', &read).count() as u64)
}

fn same_bytes(one: &Path, two: &Path) -> io::Result<bool> {
    let (mut one, mut two) = (File::open(one)?, File::open(two)?);
    if one.metadata()?.len() != two.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    loop {
        let read = one.read(&mut left)?;
        if read == 0 {
            return Ok(true);
        }
        two.read_exact(&mut right[..read])?;
        if left[..read] != right[..read] {
            return Ok(false);
        }
    }
}

// ---- tokens

/// Names in the manifest, in the rows of `loci usage`, and in the totals of ccusage.
const TOKENS: [(&str, &[&str], &str); 4] = [
    ("input", &["input", "input_tokens"], "inputTokens"),
    ("output", &["output", "output_tokens"], "outputTokens"),
    ("cache_read", &["cache_read", "cache_read_tokens"], "cacheReadTokens"),
    ("cache_creation", &["cache_write", "cache_write_tokens"], "cacheCreationTokens"),
];

fn check_tokens(corpus: &Corpus, usage: &Path, findings: &mut Vec<Finding>) -> Result<(), String> {
    let sums = sum_usage(usage)?;
    for ((name, ..), sum) in TOKENS.iter().zip(sums) {
        let expected = corpus.manifest_count(&format!("/tokens/{name}"));
        findings.push(check_equal(&format!("tokens{}, {name}", corpus.suffix), sum, expected));
    }
    Ok(())
}

/// Sums the rows of `loci usage`; the counts are in the row or in its `tokens`.
fn sum_usage(path: &Path) -> Result<[u64; 4], String> {
    let read = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut sums = [0; 4];
    for line in read.lines() {
        let row: Value = serde_json::from_str(line).map_err(|error| format!("loci usage: {error}"))?;
        let counts = if row["tokens"].is_object() { &row["tokens"] } else { &row };
        for (sum, (_, names, _)) in sums.iter_mut().zip(TOKENS) {
            *sum += names.iter().find_map(|name| counts[name].as_u64()).unwrap_or(0);
        }
    }
    Ok(sums)
}

fn compare_with_ccusage(usage: &Path, ccusage: &Path) -> Result<Finding, String> {
    let loci = sum_usage(usage)?;
    let read = fs::read(ccusage).map_err(|error| format!("{}: {error}", ccusage.display()))?;
    let report: Value = serde_json::from_slice(&read).map_err(|error| format!("ccusage: {error}"))?;
    let other = TOKENS.map(|(.., name)| report["totals"][name].as_u64().unwrap_or(0));
    let mut text = "tokens, loci and ccusage:".to_owned();
    for ((name, ..), (loci, other)) in TOKENS.iter().zip(loci.into_iter().zip(other)) {
        let difference = loci as i64 - other as i64;
        let _ = write!(text, " {name} {loci} {other} ({difference:+})");
    }
    Ok(Finding { passed: loci == other, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_test_file(name: &str, text: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("xtask-check-{name}-{}", std::process::id()));
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn bytes_are_compared() {
        let [a, b, c] = [("a", "one\ntwo\n"), ("b", "one\ntwo\n"), ("c", "one\ntoo\n")]
            .map(|(n, t)| write_test_file(n, t));
        assert!(same_bytes(&a, &b).unwrap());
        assert!(!same_bytes(&a, &c).unwrap());
        for path in [a, b, c] {
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn token_rows_are_added_up() {
        let path = write_test_file(
            "usage",
            "{\"tokens\":{\"input\":1,\"output\":2,\"cache_read\":3,\"cache_write\":4}}\n{\"input\":10,\"output\":20}\n",
        );
        assert_eq!(sum_usage(&path), Ok([11, 22, 3, 4]));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_difference_is_reported() {
        assert!(check_equal("x", 3, 3).passed);
        assert_eq!(check_equal("x", 3, 5).text, "x: 3 found, 5 expected (-2)");
        assert!(!check_memory("x", MEMORY + 101, 1).passed);
        assert!(check_memory("x", MEMORY + 100, 1).passed);
    }
}
