//! `cargo xtask bench index`: the cost of indexing and of searching the index, and whether searches find what they
//! should.
//!
//! The long form, whose figures are in docs/performance.md:
//!
//!     cargo build --release && cargo build --release -p loci-search --example bare
//!     cargo xtask bench index --size 1G --big 10G --rounds 3 --keep DIR
//!
//! The short form, for every change. It judges results, memory and disk usage as usual, and ratios by twice what
//! docs/performance.md states for it: a corpus of a few seconds on a busy machine allows no more.
//!
//!     cargo xtask bench index --smoke

use super::check::Finding;
use super::fixtures::{self, Needle};
use super::goal::{Bound, Cost, Goal};
use super::measure::{Case, Measured, Results, Sample, measure_cases, median};
use super::workspace::{self, Binaries, Corpus, Workspace};
use super::{stated, table};
use crate::Outcome;
use crate::args::Args;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const VALUES: [&str; 8] = ["size", "seed", "rounds", "big", "many", "needles", "loci", "keep"];
const THREADS: &str = "2";
/// How many of them `loci index` gives to tantivy.
const ENGINE_THREADS: &str = "1";
/// Memory limit of indexing, independent of the size of the history.
const MAX_MEMORY_BYTES: u64 = 300_000_000;
/// Limit for catalogue and text index, relative to the bytes of the transcripts.
const MAX_INDEX_SHARE: f64 = 0.2;

struct Options {
    size: u64,
    big: Option<u64>,
    seed: u64,
    rounds: usize,
    many: usize,
    needles: usize,
    loci: Option<PathBuf>,
    keep: Option<PathBuf>,
    smoke: bool,
    strict: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, String> {
        let args = Args::parse(args, &VALUES, &["smoke", "strict"])?;
        if let Some(word) = args.positional.first() {
            return Err(format!("unexpected argument {word}"));
        }
        let smoke = args.has_switch("smoke");
        let number = |name: &str, long: u64, short: u64| {
            args.number_value(name, if smoke { short } else { long }).map(|n| n.max(1) as usize)
        };
        Ok(Options {
            size: args.size_value("size")?.unwrap_or(if smoke { 30_000_000 } else { 1_000_000_000 }),
            big: args.size_value("big")?,
            seed: args.number_value("seed", 7)?,
            rounds: number("rounds", 3, 1)?,
            many: number("many", 10_000, 1000)?,
            needles: number("needles", 200, 25)?,
            loci: args.path_value("loci"),
            keep: args.path_value("keep"),
            smoke,
            strict: args.has_switch("strict"),
        })
    }
}

/// State shared by the parts of the run.
struct Bench {
    options: Options,
    binaries: Binaries,
    workspace: Workspace,
    results: Results,
    findings: Vec<Finding>,
    goals: Vec<Goal>,
}

pub(super) fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args)?;
    let binaries = Binaries::find(options.loci.as_deref(), None, options.smoke)?;
    if !binaries.bare.exists() {
        return Err("run `cargo build --release -p loci-search --example bare` first".to_owned());
    }
    let work = Workspace::new(options.keep.as_deref())?;
    let (results, findings, goals) = (Results::default(), Vec::new(), Vec::new());
    let mut bench = Bench { options, binaries, workspace: work, results, findings, goals };
    println!("{}", workspace::describe_machine());
    bench.bench_corpus(bench.options.size, "")?;
    if let Some(big) = bench.options.big {
        bench.bench_corpus(big, " big")?;
    }
    bench.bench_many_sessions()?;
    if bench.options.smoke {
        bench.goals = stated::index_goals();
    }
    let missed = table::print_table(&bench.results, &bench.goals);
    println!();
    for finding in &bench.findings {
        println!("{} {}", if finding.passed { "ok   " } else { "WRONG" }, finding.text);
    }
    let right = bench.findings.iter().all(|finding| finding.passed);
    Ok(right && !((bench.options.strict || bench.options.smoke) && missed))
}

/// Loci's own folders in a home directory.
fn loci_folders(home: &Path) -> Vec<PathBuf> {
    [".cache/loci", ".local/share/loci"].map(|folder| home.join(folder)).to_vec()
}

fn size_on_disk(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size_on_disk(&entry.path())).sum()
}

#[allow(clippy::needless_pass_by_value)] // the signature `map_err` needs
fn io_message(error: std::io::Error) -> String {
    error.to_string()
}

impl Bench {
    fn loci_case(&self, name: &str, home: &Path, line: &str) -> Case {
        Case::new(name, &self.binaries.loci, home, &line.split(' ').collect::<Vec<_>>())
    }

    fn xtask_case(&self, name: &str, home: &Path, line: &str) -> Case {
        Case::new(name, &self.binaries.xtask, home, &line.split(' ').collect::<Vec<_>>())
    }

    fn add_goal(&mut self, name: &str, cost: Cost, most: f64, of: &str) {
        self.goals.push(Goal::new(name, cost, Bound::AtMost(most), of));
    }

    fn add_finding(&mut self, right: bool, text: String) {
        self.findings.push(Finding { passed: right, text });
    }

    fn median_cpu(&self, name: &str) -> f64 {
        self.results
            .find_row(name)
            .map_or(f64::NAN, |row| median(row.samples.iter().map(|s| s.cpu).collect()))
    }

    // ---- one long history

    fn bench_corpus(&mut self, size: u64, suffix: &'static str) -> Result<(), String> {
        let corpus =
            self.workspace.open_corpus(&self.binaries, "indexed", size, self.options.seed, suffix)?;
        let needles = fixtures::plant_needles(&corpus.home, self.options.needles).map_err(io_message)?;
        println!("{corpus}, {} needles", needles.len());
        self.bench_index(&corpus)?;
        self.bench_search(&corpus, &needles)?;
        self.bench_queries(&corpus)
    }

    /// A full index from scratch, its stages alone, and tantivy alone.
    fn bench_index(&mut self, corpus: &Corpus) -> Result<(), String> {
        let (home, suffix) = (&corpus.home, corpus.suffix);
        let name = |name: &str| format!("{name}{suffix}");
        let mut index = self.loci_case(&name("index"), home, &format!("index --threads {THREADS} -o json"));
        index.removed_before = loci_folders(home);
        let peak = index.peak_memory(None)?;
        self.results.peaks.push((index.name.clone(), peak));
        let megabytes = peak as f64 / 1e6;
        let most = MAX_MEMORY_BYTES as f64 / 1e6;
        self.add_finding(
            peak > 0 && peak <= MAX_MEMORY_BYTES,
            format!("{}: peak {megabytes:.0} MB, limit {most:.0} MB", index.name),
        );
        self.check_sizes(corpus);
        if !suffix.is_empty() {
            // Only memory and size depend on the corpus size; the small corpus shows the cost of the stages.
            return Ok(());
        }

        let texts = self.workspace.scratch_file("texts");
        let dump = self.xtask_case("texts", home, &format!("stages texts --out {}", texts.display()));
        let summary = dump.run_for_output()?;
        println!("texts for the index{suffix}: {}", summary.trim());
        let [bare, archive] = ["bare", "archive"].map(|name| self.workspace.scratch_file(name));
        let mut cases = vec![index];
        let args = [texts.display().to_string(), bare.display().to_string(), ENGINE_THREADS.to_owned()];
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        cases.push(Case::new(&name("bare"), &self.binaries.bare, home, &args));
        for stage in ["survey", "read", "mask", "keep"] {
            let line = format!("stages {stage} --archive {}", archive.display());
            let mut case = self.xtask_case(&name(stage), &self.unindexed_home(corpus)?, &line);
            case.removed_before = vec![archive.clone()];
            cases.push(case);
        }
        for case in &mut cases {
            (case.rounds, case.repeats) = (self.options.rounds, Some(1));
        }
        measure_cases(&cases, &mut self.results)?;
        self.without_mask_and_archive(suffix);
        self.add_goal(&name("core"), Cost::Cpu, 1.3, &name("bare"));
        self.print_rates(corpus, size_on_disk(&archive));
        for path in [texts, bare, archive] {
            // A file or a folder; the scratch directory is removed at the end in any case.
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
        Ok(())
    }

    fn check_sizes(&mut self, corpus: &Corpus) {
        let raw = size_on_disk(&corpus.projects_folder());
        let cache = corpus.home.join(".cache/loci");
        let (index, all) = (size_on_disk(&cache.join("search")), size_on_disk(&cache));
        let share = |bytes: u64| 100.0 * bytes as f64 / raw as f64;
        let text = format!(
            "index{}: {:.1} % of the transcripts' bytes (text {:.1} %, catalogue {:.1} %), limit {:.0} %",
            corpus.suffix,
            share(all),
            share(index),
            share(all - index),
            100.0 * MAX_INDEX_SHARE
        );
        self.add_finding(all > 0 && share(all) <= 100.0 * MAX_INDEX_SHARE, text);
    }

    /// The cost of indexing without the additional cost of the stages `mask` and `keep` over `read`, round by round.
    fn without_mask_and_archive(&mut self, suffix: &str) {
        let samples = |name: &str| {
            let row = self.results.find_row(&format!("{name}{suffix}"));
            row.map(|row| row.samples.clone()).unwrap_or_default()
        };
        let [index, read, mask, keep] = ["index", "read", "mask", "keep"].map(samples);
        let core =
            index.iter().zip(&read).zip(mask.iter().zip(&keep)).map(|((index, read), (mask, keep))| Sample {
                cpu: index.cpu - (mask.cpu - read.cpu) - (keep.cpu - read.cpu),
                wall: index.wall,
            });
        let samples = core.collect();
        self.results.rows.push(Measured { name: format!("core{suffix}"), scan: None, samples });
    }

    fn print_rates(&self, corpus: &Corpus, packed: u64) {
        let raw = size_on_disk(&corpus.projects_folder()) as f64 / 1e6;
        let cpu = |name: &str| self.median_cpu(&format!("{name}{}", corpus.suffix));
        let (mask, keep) = (cpu("mask") - cpu("read"), cpu("keep") - cpu("read"));
        println!(
            "masking{0}: {1:.0} MB of transcript per CPU second; archive{0}: {2:.0} MB per CPU second, {3:.1} to 1",
            corpus.suffix,
            raw / mask,
            raw / keep,
            raw * 1e6 / packed.max(1) as f64
        );
    }

    /// The same history in a home directory without any files of Loci.
    fn unindexed_home(&self, corpus: &Corpus) -> Result<PathBuf, String> {
        let home = self.workspace.scratch_file(&format!("plain{}", corpus.suffix.trim()));
        fs::create_dir_all(&home).map_err(io_message)?;
        let link = home.join(".claude");
        if !link.exists() {
            std::os::unix::fs::symlink(corpus.home.join(".claude"), &link).map_err(io_message)?;
        }
        // The same key, so that the same text is masked by the same placeholder.
        let data = ".local/share/loci";
        fs::create_dir_all(home.join(data)).map_err(io_message)?;
        let key = Path::new(data).join("mask.key");
        fs::copy(corpus.home.join(&key), home.join(&key)).map_err(io_message)?;
        Ok(home)
    }

    fn bench_search(&mut self, corpus: &Corpus, needles: &[Needle]) -> Result<(), String> {
        let name = |name: &str| format!("{name}{}", corpus.suffix);
        let (mut found, mut first, mut lost) = (0, 0, Vec::new());
        for needle in needles {
            let mut case = self.loci_case("search", &corpus.home, "search -o json");
            // No results is a valid response.
            case.accepted_exit = Some(2);
            case.args.push((&needle.query).into());
            let response: Value =
                serde_json::from_str(&case.run_for_output()?).map_err(|error| error.to_string())?;
            let chats: Vec<&str> = response["results"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|chat| chat["chatId"].as_str())
                .collect();
            let rank = chats.iter().position(|chat| *chat == needle.session_id);
            found += usize::from(rank.is_some());
            first += usize::from(rank == Some(0));
            lost.extend(rank.is_none().then_some(&*needle.query));
        }
        let many = needles.len();
        let text =
            format!("needles{}: {found} of {many} found, {first} first{}", corpus.suffix, list_missed(&lost));
        self.add_finding(found == many, text);

        let mut search = self.loci_case(&name("search"), &corpus.home, "search");
        search.rotating_args = needles.iter().map(|needle| (&needle.query).into()).collect();
        search.accepted_exit = Some(2);
        let mut words = self.loci_case(&name("words"), &corpus.home, "search");
        words.args.push("why does the cache keep a stale session after a restart".into());
        words.accepted_exit = Some(2);
        let mut cases = [
            Case::new(&name("noop"), &self.binaries.noop, &corpus.home, &[]),
            self.loci_case(&name("version"), &corpus.home, "--version"),
            search,
            words,
        ];
        for case in &mut cases {
            (case.repeats, case.rounds) = (Some(20), if self.options.smoke { 3 } else { 10 });
        }
        measure_cases(&cases, &mut self.results)?;
        let most = if corpus.suffix.is_empty() { 3.0 } else { 5.0 };
        self.add_goal(&name("search"), Cost::Wall, most, &name("noop"));
        Ok(())
    }

    /// Queries over the whole history, with and without the index.
    fn bench_queries(&mut self, corpus: &Corpus) -> Result<(), String> {
        let name = |name: &str| format!("{name}{}", corpus.suffix);
        let plain = self.unindexed_home(corpus)?;
        let scan = name("scan");
        let tools = "query tools --all-projects --fields timestamp,session_id,tool,status --threads 1";
        let errors = "query errors --all-projects --threads 1";
        let mut cases = [
            self.xtask_case(&scan, &corpus.home, "scan .claude/projects --threads 1"),
            self.loci_case(&name("tools"), &corpus.home, tools),
            self.loci_case(&name("tools raw"), &plain, tools),
            self.loci_case(&name("errors"), &corpus.home, errors),
            self.loci_case(&name("errors raw"), &plain, errors),
        ];
        let same = |a: &Case, b: &Case| Ok::<bool, String>(a.run_for_output()? == b.run_for_output()?);
        for pair in [(1, 2), (3, 4)] {
            let right = same(&cases[pair.0], &cases[pair.1])?;
            self.add_finding(
                right,
                format!("{}: identical output with and without the index", cases[pair.0].name),
            );
        }
        for case in &mut cases {
            case.rounds = self.options.rounds;
            case.scan = Some(scan.clone());
        }
        measure_cases(&cases, &mut self.results)
    }

    // ---- many short histories

    fn bench_many_sessions(&mut self) -> Result<(), String> {
        let many = self.options.many;
        let [large, small] =
            [many, many / 100].map(|n| (n, self.workspace.corpus_folder(&format!("many-{n}"))));
        for (sessions, home) in [&large, &small] {
            fixtures::write_many_sessions(home, *sessions).map_err(io_message)?;
            self.loci_case("index", home, "index -o json").run_for_output()?;
        }
        let names = [&large, &small].map(|(n, _)| format!("list {n}"));
        let mut cases: Vec<Case> = names
            .iter()
            .zip([&large, &small])
            .map(|(name, (_, home))| self.loci_case(name, home, "sessions --limit 5"))
            .collect();
        for case in &mut cases {
            (case.repeats, case.rounds) = (Some(20), self.options.rounds.max(3));
        }
        measure_cases(&cases, &mut self.results)?;
        self.add_goal(&names[0], Cost::Cpu, 2.0, &names[1]);

        let home = &large.1;
        let mut still = self.loci_case("still", home, "search");
        still.args.push("amber anvil".into());
        let mut cases = vec![self.xtask_case("walk", home, "walk .claude/projects"), still];
        for case in &mut cases {
            (case.repeats, case.rounds) = (Some(10), self.options.rounds.max(3));
        }
        measure_cases(&cases, &mut self.results)?;
        let (word, chat) = fixtures::append_unique_line(home).map_err(io_message)?;
        let mut one_more = self.loci_case("one more", home, "search");
        one_more.args.push(word.into());
        let printed = one_more.run_for_output()?;
        self.add_finding(printed.contains(&chat), format!("a new line in {many} transcripts is found"));
        let mut cases = [self.xtask_case("walk again", home, "walk .claude/projects"), one_more];
        for case in &mut cases {
            (case.repeats, case.rounds) = (Some(10), self.options.rounds.max(3));
        }
        measure_cases(&cases, &mut self.results)?;
        self.add_goal("still", Cost::Cpu, 2.0, "walk");
        self.add_goal("one more", Cost::Cpu, 2.0, "walk again");
        Ok(())
    }
}

/// A few of the missed queries, to try by hand.
fn list_missed(lost: &[&str]) -> String {
    if lost.is_empty() {
        String::new()
    } else {
        format!("; missed: {}", lost[..lost.len().min(5)].join(" | "))
    }
}
