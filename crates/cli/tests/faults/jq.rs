//! jq filters written by a model or an attacker: Loci survives them, enforces its limits and exposes nothing about the
//! machine.

use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;
use testutil::needs::OtherUser;
use testutil::{ALPHA, Finished, Home, Session, command, run_command, run_line, wait_for_exit};

const SECRET: &str = "open-sesame-73519";
/// Allowance on top of the time limit for starting processes and reading a small history, on a busy machine and in a
/// debug build.
const SLACK: Duration = Duration::from_secs(15);

/// Programs that never end, exhaust memory or the stack, print endlessly, or query the machine.
const HOSTILE: &[&str] = &[
    "[range(1e9)]",
    "def f: 1+f; f",
    "\"x\"*2e9",
    "[limit(1e8;repeat(\"xxxxxxxxxx\"))]",
    "[[range(200)]|combinations(4)]",
    "\"[\"*100000|fromjson",
    "def f: f; f",
    "last(repeat(1))",
    "reduce range(1e12) as $x (0;.+$x)",
    "[recurse(.+1; .<1e8)]",
    "0 | [recurse(.+1; .<1e8)]",
    "halt",
    "halt_error",
    "\"x\" | halt_error(3)",
    "env",
    "$ENV",
    "env.LOCI_TEST_SECRET",
    "$ENV.LOCI_TEST_SECRET",
    "input",
    "inputs",
    "[inputs]",
    "input_filename",
    "debug",
    "debug(\"x\")",
    "stderr",
    "now",
    "localtime",
    "import \"x\" as x; .",
    "include \"x\"; .",
    "import \"/etc/passwd\" as $d; $d",
    "range(1e12)",
    "until(false;.)",
    "0 | until(false; .+1)",
    "limit(1e12; repeat(1))",
    "while(true;.)",
    "[paths] | [range(1e7) as $i | .[]] | length",
    "reduce range(1e7) as $i (null; setpath([$i]; 1)) | length",
    "null | setpath([1e9]; 1)",
    "reduce range(1e5) as $i (null; [.]) | getpath([range(1e5)|0])",
    "reduce range(1e6) as $i (null; [.])",
    "reduce range(1e5) as $i (null; [.]) | tojson | length",
    "reduce range(1e5) as $i (null; [.]) | tojson",
    "reduce range(1e5) as $i (\"x\"; [.]) | [tojson] | @sh",
    "reduce range(2e3) as $i (null; {a: .}) | tostring | @base64",
    "\"a\"*100000 | test(\"(a*)*(a*)*(a*)*b\")",
    "\"a\"*30 | test(\"(a?){500}a{500}\")",
    "test(\"(a{1000}){1000}{1000}\")?",
    "\"a\" | test(\"((((((((((a{9}){9}){9}){9}){9}){9}){9}){9}){9}){9}\")",
    "def f: ltrimstr(\"x\") | f; \"xxx\" | f",
    "\"abc\" | until(false; ascii_downcase)",
    "\"abc\" | [limit(1e9; repeat(explode))]",
    "[splits(\"a\"; null)] | while(true; .+.)",
    "def f(x): f(x|x); f(.)",
    "[.,.] | until(false; [.,.])",
    "\"\\(repeat(1))\" | length",
    "[range(1e6)] | sort_by(-.) | group_by(.%7) | [range(1e5) as $i | .] | length",
    "@text \"\\([range(1e8)])\"",
    "ltrimstr(1) as $x | label $out | repeat(1) | if . > 1 then break $out else empty end",
    "[range(300000)] | combinations",
    "$__loc__",
    "get_search_list",
    "$__prog_args",
    "modulemeta",
    "input_line_number",
    "getpath([\"a\",\"b\"]) |= repeat(.)",
    "try error(\"x\"*1e9) catch length",
    "splits(\"\")",
    "ascii",
    "implode",
    "[1e18] | implode",
    "@json \"\\(.)\" | fromjson | tojson | fromjson",
    "tojson | until(false; tojson)",
    "1e1000 | tostring",
    "[range(100000)] | map(tostring) | join(\",\") | [range(100) as $i | .] | add | length",
    "pow(10; 400) | [limit(3; range(.))]",
    "limit(-1; repeat(1))",
    "first(range(10;0;-1e-9))",
    "range(0;1;0)",
    "getpath([range(1e6)])",
    "to_entries | until(false; to_entries)",
    "mktime",
    "\"x\" | strptime(\"%Y\")",
    "1e300 | todate",
    "ltrimstr",
    "",
    "   ",
    "#",
];

/// Programs whose text alone is hostile: they are compiled before any limit applies.
fn nested_programs() -> Vec<String> {
    let mut all = Vec::new();
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{a:", "}"),
        ("-", ""),
        ("if ", ""),
        ("try ", ""),
        ("def f: ", ""),
        ("\"\\(", ")\""),
        (".[", "]"),
        ("reduce ", ""),
        ("..", ""),
        ("first(", ")"),
        ("not|", ""),
        ("1,", ""),
        ("1+", ""),
        (".a?//", ""),
        ("1 as $x|", ""),
        ("label $x|", ""),
        ("..?", ""),
        (".[]|=", ""),
        ("def f:.;", ""),
    ] {
        let n = 4000 / (open.len() + close.len());
        all.push(open.repeat(n) + "." + &close.repeat(n));
        all.push(open.repeat(n));
    }
    // Each function calls the previous one twice.
    all.push(
        "def a: .,.;".to_string()
            + &(b'b'..=b'z')
                .map(|c| format!("def {}: {p},{p};", c as char, p = (c - 1) as char))
                .collect::<String>()
            + "z",
    );
    all
}

fn small_home() -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("go").did("Bash", json!({"command": "ls"}), "a b").failed(
        "Read",
        json!({"file_path": "/x"}),
        "no",
    );
    home.add(&session);
    home
}

fn run_filter(home: &Home, filter: &str, slurp: bool) -> Finished {
    let mut args = vec!["query", "tools", "--all-projects", "--jq", filter];
    args.extend(slurp.then_some("--slurp"));
    let mut command = command(home.path(), &args);
    command.env("LOCI_TEST_SECRET", SECRET);
    run_command(command)
}

fn assert_survives(home: &Home, filter: &str, slurp: bool) {
    let done = run_filter(home, filter, slurp);
    let context = format!("{filter:.80} (slurp {slurp}): code {:?}\n{:.500}", done.code, done.stderr);
    assert!(matches!(done.code, Some(0..=2)), "{context}");
    if done.code == Some(1) {
        let last = done.records().pop().unwrap_or_default();
        assert_eq!(last["code"], "FILTER_ERROR", "{context}");
    }
    assert!(done.took < service::JQ_LIMITS.time + SLACK, "{:?} for {context}", done.took);
    for output in [done.text(), &done.stderr] {
        assert!(!output.contains(SECRET), "the output contains the secret: {context}");
        assert!(!output.contains("panicked"), "{context}");
    }
}

/// Runs four at a time: most of them only wait for the time limit.
fn assert_all_survive(filters: &[String], slurp: bool) {
    let home = small_home();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(filter) = filters.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    assert_survives(&home, filter, slurp);
                }
            });
        }
    });
}

#[test]
fn hostile_programs_are_survived() {
    let filters: Vec<String> = HOSTILE.iter().map(ToString::to_string).collect();
    assert_all_survive(&filters, false);
}

#[test]
fn hostile_programs_over_all_records_are_survived() {
    let filters: Vec<String> = HOSTILE[..12].iter().map(ToString::to_string).collect();
    assert_all_survive(&filters, true);
}

#[test]
fn deeply_nested_programs_are_survived() {
    assert_all_survive(&nested_programs(), false);
}

/// Builtins that query the machine are rejected by name, before anything runs.
#[test]
fn filters_cannot_query_the_machine() {
    let home = small_home();
    for filter in [
        "env",
        "$ENV",
        "input",
        "inputs",
        "input_filename",
        "halt",
        "halt_error",
        "debug",
        "stderr",
        "now",
        "import \"x\" as x; .",
        "include \"x\"; .",
    ] {
        let rejected = run_filter(&home, filter, false).expect(1);
        assert_eq!(rejected.records()[0]["code"], "FILTER_ERROR", "{filter}");
        assert!(rejected.took < SLACK, "{filter}");
    }
}

/// A history long enough that a filter's results do not fit into a pipe buffer.
fn long_home() -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("go");
    for n in 0..4000 {
        session.did("Bash", json!({"command": format!("echo {n}")}), &"out ".repeat(50));
    }
    home.add(&session);
    home
}

#[test]
fn a_filter_over_many_records_streams() {
    let home = long_home();
    let all = run_line(&home, "query tools --all-projects --jq .input.command").expect(0);
    let expected: Vec<String> = (0..4000).rev().map(|n| format!("\"echo {n}\"")).collect();
    assert_eq!(all.lines(), expected);
    let few =
        run_line(&home, "query tools --all-projects --limit 3 --offset 2 --jq .input.command").expect(0);
    assert_eq!(few.lines(), expected[2..5]);
    let array = run_line(&home, "query tools --all-projects --jq '.[] | .input.command' --limit 3").expect(0);
    assert_eq!(array.lines(), expected[..3]);
    // An error on a record beyond the limit does not matter.
    let first = run_line(
        &home,
        "query tools --all-projects --limit 1 --jq 'if .sequence < 2000 then error(\"late\") else .tool end'",
    );
    assert_eq!(first.expect(0).lines(), ["\"Bash\""]);
    let late = run_line(
        &home,
        "query tools --all-projects --jq 'if .sequence < 2000 then error(\"late\") else .sequence end'",
    )
    .expect(1);
    let records = late.records();
    assert!(records.len() > 100 && records.last().unwrap()["code"] == "FILTER_ERROR", "{}", records.len());
}

/// A closed pipe ends Loci and the filter, even a filter that never ends by itself.
#[test]
fn a_closed_pipe_ends_loci_and_the_filter() {
    let home = long_home();
    for filter in [".", "., (range(100000)|tostring)", ".[]", "repeat(\"xxxxxxxxxxxxxxxxxxxxxxxxxx\")"] {
        let mut command = command(home.path(), &["query", "tools", "--all-projects", "--jq", filter]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "{filter}");
        drop(out);
        let code = wait_for_exit(&mut child, service::JQ_LIMITS.time + SLACK);
        assert_eq!(code, Some(Some(0)), "{filter}");
    }
}

/// The time limit applies even if the user's other processes have used up the thread limit.
#[test]
#[ignore = "needs root: see CONTRIBUTING.md"]
fn the_time_limit_applies_to_a_user_with_many_processes() {
    let user = OtherUser::new();
    let home = small_home();
    let spawn_sleeper = || user.program("sleep").arg("60").spawn().unwrap();
    let mut sleepers: Vec<_> = (0..80).map(|_| spawn_sleeper()).collect();
    let mut command = user.loci(&home, &["query", "tools", "--all-projects", "--jq", "def f: f; f"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let code = wait_for_exit(&mut child, service::JQ_LIMITS.time + SLACK);
    for sleeper in &mut sleepers {
        let _ = sleeper.kill();
        let _ = sleeper.wait();
    }
    assert_eq!(code, Some(Some(1)), "the time limit was not enforced");
}

fn home_with_calls(count: usize) -> Home {
    let home = Home::new();
    let mut session = Session::new("bbbb1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("go");
    for n in 0..count {
        session.did("Bash", json!({"command": format!("ls {n}")}), "a");
    }
    home.add(&session);
    home
}

/// A filter that takes a noticeable time for each record and prints one value.
const SLOW: &str = "[range(1e5)|tostring]|join(\",\")|length";

#[test]
fn a_slow_filter_ends_once_the_limit_is_reached() {
    let home = home_with_calls(300);
    let first =
        testutil::run_loci(&home, &["query", "tools", "--all-projects", "--limit", "1", "--jq", SLOW])
            .expect(0);
    let few = testutil::run_loci(&home, &["query", "tools", "--all-projects", "--limit", "3", "--jq", SLOW])
        .expect(0);
    assert_eq!((first.lines().len(), few.lines().len()), (1, 3));
    // Three results take about three times as long as one, not as long as three hundred.
    assert!(few.took < first.took * 20, "{:?} after {:?}", few.took, first.took);
}

#[test]
fn a_slow_filter_has_a_total_time_limit() {
    let home = home_with_calls(3000);
    let done = testutil::run_loci(&home, &["query", "tools", "--all-projects", "--jq", SLOW]).expect(1);
    assert_eq!(done.records().pop().unwrap()["code"], "FILTER_ERROR");
    assert!(done.stderr.contains("s in total"), "{}", done.stderr);
    assert!(done.took < service::JQ_LIMITS.total + SLACK, "{:?}", done.took);
}
