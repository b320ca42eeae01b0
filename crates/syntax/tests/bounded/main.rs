//! Reading any source file takes time and memory in proportion to its size, or ends at a limit: generated files of each grammar,
//! twice as large, take at most 2.5 times as long, and at most 40 times the file plus 100 MB. What is over its budget takes no more than the budget.
//!
//! Two shapes of a thousand pieces are over their budget because of tree-sitter itself, whose error recovery takes time with the square of
//! their size: `operators` without operands in C, C++, Go and Java, and `damaged-classes` in Kotlin, whose scanner looks for the end of a
//! string to the end of the file from each token.
//!
//! The normal run takes small files, and does not judge what takes less than a tenth of a second. `LOCI_BOUNDED=40000` takes depth and
//! breadth up to that number, lines of 8 MB, and prints a table with one row per shape; `LOCI_BOUNDED_ONLY=go/` takes only what
//! begins so.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout)] // a test may fail by panicking, read its own variables, and print its table

mod shapes;

use loci_syntax::{Reader, Symbols, language_of};
use shapes::{ANY, GRAMMARS, Shape};
use std::path::Path;
use std::time::Duration;

/// Twice the size may take this many times as long.
const MOST_GROWTH: f64 = 2.5;

/// What is not judged, because small files differ by what they do only once.
const NOISE: Duration = Duration::from_millis(100);

/// What a file over its budget may take, and for each byte. That of parsing is one second and six microseconds, and walking comes after.
const BUDGET_TIME: Duration = Duration::from_secs(3);
const BUDGET_TIME_PER_BYTE: Duration = Duration::from_micros(12);

/// Of this many measurements, the least counts.
const RUNS: usize = 3;

/// CPU time of this thread. The time that others take does not count.
fn cpu_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        // the kernel accounts for a running thread when it is scheduled, at the latest
        std::thread::yield_now();
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// The most memory this process has used since `forget_peak`, in bytes; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kb| kb << 10)
}

fn forget_peak() -> u64 {
    // where that is not possible, the peak is too high and the test too strict
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    peak_memory()
}

fn read_time(reader: &mut Reader, text: &str, runs: usize) -> Duration {
    let once = |reader: &mut Reader| {
        let before = cpu_time();
        std::hint::black_box(reader.read(text, &Symbols::default()));
        cpu_time().saturating_sub(before)
    };
    (0..runs).map(|_| once(reader)).min().unwrap()
}

/// One shape of one grammar at a size and at twice that size.
struct Measured {
    bytes: usize,
    half: Duration,
    whole: Duration,
    /// Peak memory above what the process used before.
    memory: u64,
    is_read: bool,
}

fn measure(extension: &str, shape: &Shape, pieces: usize) -> Measured {
    let language = language_of(Path::new(&format!("a.{extension}"))).unwrap();
    let mut reader = Reader::new(language).unwrap();
    let (half, whole) = (shape.build(pieces / 2), shape.build(pieces));
    let base = forget_peak();
    let facts = reader.read(&whole, &Symbols::default());
    let memory = peak_memory().saturating_sub(base);
    let is_read = !facts.is_over_budget();
    drop(facts);
    let mut times = (read_time(&mut reader, &half, 1), read_time(&mut reader, &whole, 1));
    for _ in 1..RUNS {
        if is_bounded(times) || !is_read && times.1 <= budget_time(whole.len()) {
            break;
        }
        times.0 = times.0.min(read_time(&mut reader, &half, 1));
        times.1 = times.1.min(read_time(&mut reader, &whole, 1));
    }
    Measured { bytes: whole.len(), half: times.0, whole: times.1, memory, is_read }
}

fn is_bounded((half, whole): (Duration, Duration)) -> bool {
    whole <= half.mul_f64(MOST_GROWTH) + NOISE
}

fn budget_time(bytes: usize) -> Duration {
    BUDGET_TIME + BUDGET_TIME_PER_BYTE * bytes as u32
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Measures every shape of a grammar; returns what is out of bounds.
fn check_grammar(extension: &str, own: &[Shape]) -> Vec<String> {
    let long = setting("LOCI_BOUNDED").map(|most| most.parse::<usize>().unwrap());
    let only = setting("LOCI_BOUNDED_ONLY").unwrap_or_default();
    let mut outside = Vec::new();
    for shape in own.iter().chain(ANY) {
        let name = format!("{extension}/{}", shape.name);
        if !name.starts_with(&only) {
            continue;
        }
        let sizes = match long {
            Some(most) if most >= 40_000 => vec![most, shape.pieces_for(8_000_000)],
            Some(most) => vec![most],
            None => vec![1_000],
        };
        for pieces in sizes {
            let found = measure(extension, shape, pieces);
            let most = found.bytes as u64 * 40 + 100_000_000;
            let is_over = !found.is_read && found.whole <= budget_time(found.bytes);
            let is_within = (is_bounded((found.half, found.whole)) || is_over) && found.memory <= most;
            let row = format!(
                "{:<28} {:>8} pieces {:>8} KB {:>9.1} ms {:>9.1} ms {:>5.2} {:>5} MB {}{}",
                name,
                pieces,
                found.bytes / 1000,
                found.half.as_secs_f64() * 1e3,
                found.whole.as_secs_f64() * 1e3,
                found.whole.as_secs_f64() / found.half.as_secs_f64().max(1e-6),
                found.memory / 1_000_000,
                if found.is_read { "read" } else { "over the budget" },
                if is_within { "" } else { " OUTSIDE" },
            );
            if long.is_some() {
                println!("{row}");
            }
            if !is_within {
                outside.push(row);
            }
        }
    }
    outside
}

/// Reads on a thread with the stack that threads have unless they are given more.
fn check(extension: &str) {
    let (name, own) = *GRAMMARS.iter().find(|(name, _)| *name == extension).unwrap();
    let outside = std::thread::Builder::new().stack_size(2 << 20).spawn(|| check_grammar(name, own)).unwrap();
    let outside = outside.join().unwrap();
    assert!(outside.is_empty(), "out of bounds:\n{}", outside.join("\n"));
}

macro_rules! grammars {
    ($($test:ident $extension:literal)*) => {
        $(#[test] fn $test() { check($extension); })*

        #[test]
        fn every_grammar_has_a_test() {
            let tested = [$($extension),*];
            assert_eq!(tested.to_vec(), GRAMMARS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        }
    };
}

grammars! {
    csharp_is_read_in_bounds "cs"
    rust_is_read_in_bounds "rs"
    typescript_is_read_in_bounds "ts"
    jsx_is_read_in_bounds "tsx"
    python_is_read_in_bounds "py"
    go_is_read_in_bounds "go"
    java_is_read_in_bounds "java"
    c_is_read_in_bounds "c"
    cpp_is_read_in_bounds "cpp"
    kotlin_is_read_in_bounds "kt"
    php_is_read_in_bounds "php"
    ruby_is_read_in_bounds "rb"
    swift_is_read_in_bounds "swift"
    shell_is_read_in_bounds "sh"
}
