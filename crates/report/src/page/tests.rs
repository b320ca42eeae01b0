//! Tests of the page: what it may contain, how large it is, who can read it.
//!
//! Does not know a browser: the suite `cli` of the binary opens a page in one.

use super::*;
use api::report::{FactLine, FailureLine, FileLine, Listed, SessionEntry, ToolLine, UsageLine};
use record::Clock;

const HOSTILE: &str =
    "</script><script>alert(1)</script>\u{1b}]0;x\u{7}\u{202e}\u{200f}\u{61c}\0\"'><img src=x onerror=y>";

fn options() -> RenderOptions {
    RenderOptions::plain(Clock::At(Stamp::parse(b"2026-11-17T12:00:00Z")), "/home/ada")
}

fn at(text: &str) -> i64 {
    Stamp::parse(text.as_bytes()).0
}

fn usage(name: &str, cost_usd: f64) -> UsageLine {
    UsageLine { name: name.into(), messages: 7, input: 1001, output: 22, cost_usd, ..UsageLine::default() }
}

fn listed<T>(one: T) -> Listed<T> {
    Listed::first_of(vec![one], 100)
}

/// A report in which every text is this one.
fn report_of(text: &str) -> Report {
    let mut activity = vec![[0; 24]; 7];
    activity[1][9] = 321;
    let tool = ToolLine { tool: text.into(), count: 321, success: 300, errors: 21, ..ToolLine::default() };
    let fact = FactLine {
        kind: text.into(),
        text: text.into(),
        superseded_by: Some(text.into()),
        ..FactLine::default()
    };
    let mut report = Report {
        from: at("2026-10-18T00:00:00Z"),
        to: at("2026-11-17T00:00:00Z"),
        project: Some(text.into()),
        source: vec![text.into()],
        usage: usage("total", 12.3456),
        days: vec![usage("2026-11-14", 12.3), usage("2026-11-12", 0.0456), usage("unknown", 0.0)],
        models: vec![usage(text, 12.3456)],
        projects: vec![usage(text, 12.3456)],
        activity,
        failures: listed(FailureLine {
            signature: text.into(),
            tool: text.into(),
            message: text.into(),
            count: 5,
            ..FailureLine::default()
        }),
        files: listed(FileLine { file: text.into(), edits: 6, ..FileLine::default() }),
        sessions: listed(SessionEntry {
            session_id: text.into(),
            title: text.into(),
            source: text.into(),
            project: Some(text.into()),
            ..SessionEntry::default()
        }),
        decisions: listed(fact.clone()),
        open: listed(fact),
        notes: vec![text.into()],
        ..Report::default()
    };
    report.counts.tools = vec![tool];
    report.counts.tool_calls = 321;
    report
}

/// The names of the elements that open in the page, without its own style and script.
fn elements(page: &str) -> Vec<&str> {
    let name =
        |rest: &'_ str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '!').unwrap_or(rest.len());
    let body = page.split_once("</style>").map_or(page, |(_, body)| body);
    let body = body.rsplit_once("<script>").map_or(body, |(body, _)| body);
    body.split('<').skip(1).filter(|rest| !rest.starts_with('/')).map(|rest| &rest[..name(rest)]).collect()
}

#[test]
fn nothing_of_the_history_is_taken_for_markup() {
    let (plain, hostile) =
        (to_html(&report_of("plain"), &options()), to_html(&report_of(HOSTILE), &options()));
    assert_eq!(elements(&hostile), elements(&plain));
    assert_eq!(hostile.matches("<script>").count(), 1);
    assert!(hostile.contains("&lt;/script&gt;&lt;script&gt;alert(1)"), "the text itself is shown");
    let unsafe_char = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200f}\u{61c}".contains(c);
    assert!(!hostile.contains(unsafe_char), "{:?}", hostile.chars().find(|c| unsafe_char(*c)));
}

#[test]
fn the_page_loads_nothing() {
    let page = to_html(&report_of("plain"), &options());
    assert!(
        !page.contains("src=")
            && !page.contains("url(")
            && !page.contains("http://")
            && !page.contains("https://")
    );
    assert!(page.matches("href=").count() == page.matches("href=\"#").count());
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn charts_and_tables_have_the_numbers_of_the_report() {
    let page = to_html(&report_of("plain"), &options());
    for mark in [
        "data-v=\"12.3\"><title>2026-11-14: $12.30</title>",
        "data-v=\"0.0456\"><title>2026-11-12: $0.05</title>",
        "data-v=\"1023\"><title>2026-11-14: 1,023 tokens</title>",
        "<th scope=\"row\">2026-11-12</th><td class=\"n\" data-v=\"0.0456\">$0.05</td><td class=\"n\">7</td><td class=\"n\">1,001</td>",
        "<th scope=\"row\">unknown</th>",
        "data-v=\"12.3456\"/>",
        "data-v=\"321\"><title>Tuesday 09:00: 321</title>",
        "class=\"good\" x=\"220.0\"",
        "data-v=\"21\"/>",
        "<dd>321</dd>",
    ] {
        assert!(page.contains(mark), "{mark}\n{page}");
    }
}

#[test]
fn the_page_is_readable_for_everyone() {
    let page = to_html(&report_of("plain"), &options());
    assert!(
        page.contains("<html lang=\"en\">")
            && page.contains("<title>Coding agents in plain, 2026-10-18 to 2026-11-17</title>")
    );
    assert_eq!(
        (page.matches("<main>").count(), page.matches("<h1>").count(), page.matches("<h3").count()),
        (1, 1, 0)
    );
    assert_eq!(page.matches("<svg ").count(), page.matches("<svg role=\"img\" aria-labelledby=").count());
    assert!(page.find("<h1>").unwrap() < page.find("<h2").unwrap());
    assert_eq!(page.matches("<input").count(), page.matches("<label>").count());
    assert_eq!(page.matches("<th>").count(), 0, "a header without scope");
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an ID is used twice");
}

/// Contrast as WCAG defines it, of the colours that carry text or numbers.
#[test]
fn colours_contrast_with_their_background() {
    let light = |hex: &str| {
        let full: String =
            if hex.len() == 3 { hex.chars().flat_map(|c| [c, c]).collect() } else { hex.into() };
        let part = |at: usize| f64::from(u8::from_str_radix(&full[at..at + 2], 16).unwrap()) / 255.0;
        let linear = |c: f64| if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(part(0)) + 0.7152 * linear(part(2)) + 0.0722 * linear(part(4))
    };
    let schemes: Vec<&str> =
        crate::document::STYLE.split(":root {").skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
    assert_eq!(schemes.len(), 3, "light, dark, print");
    for scheme in schemes {
        let colour =
            |name: &str| scheme.split(&format!("--{name}: #")).nth(1).unwrap().split(';').next().unwrap();
        for name in ["text", "muted", "bar", "good", "bad", "other"] {
            let (a, b) = (light(colour(name)), light(colour("back")));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{name}: {contrast:.1} in {scheme}");
        }
    }
}

/// As many sessions as a large history has, each with a long title in a long folder.
#[test]
fn a_page_of_ten_thousand_sessions_fits_into_two_megabytes() {
    let session = |n: usize| SessionEntry {
        session_id: format!("{n:08x}-0000-4000-8000-000000000001"),
        title: format!(
            "{n} Make the parser of the \"configuration\" faster & keep its <errors> as they are, please"
        ),
        source: "claude-code".into(),
        project: Some(format!("/home/ada/work/customers/example/services/shop-{}", n % 40)),
        started_at: Some(at("2026-11-01T00:00:00Z")),
        ended_at: Some(at("2026-11-01T00:00:00Z") + n as i64 * 60_000),
        turns: 12,
        tool_calls: 1234,
        errors: 56,
    };
    let mut report = report_of("plain");
    report.sessions = Listed::first_of((0..10_000).map(session).collect(), 10_000);
    let page = to_html(&report, &options());
    // the timeline has titles too
    let shown = page.matches(" Make the parser").count() - page.matches("class=\"span\"").count();
    println!("{} bytes with {shown} of 10,000 sessions", page.len());
    assert!(page.len() <= MAX_BYTES && page.len() > MAX_BYTES / 2, "{}", page.len());
    assert!(page.contains(&format!(
        "{} of 10,000 sessions; {} are left out",
        group_digits(shown as u64),
        group_digits(10_000 - shown as u64)
    )));
    report.sessions = Listed { total: 10_000, listed: (0..1500).map(session).collect() };
    let page = to_html(&report, &options());
    println!("{} bytes with 1,500 of 10,000 sessions", page.len());
    assert!(page.contains("1,500 of 10,000 sessions; 8,500 are left out."));
    report.sessions.listed.iter_mut().for_each(|session| session.title = HOSTILE.repeat(100));
    assert!(to_html(&report, &options()).len() <= MAX_BYTES);
}
