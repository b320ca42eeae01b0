//! The made-up history of the pictures: a month of a small shop, with two agents and three projects.
//!
//! Does not know the pictures.

use serde_json::json;
use testutil::{Home, Rollout, Session};

pub(super) const FIRST_DAY: &str = "2026-10-01";
pub(super) const LAST_DAY: &str = "2026-10-31";

const SHOP: &str = "/home/dev/work/shop";
const API: &str = "/home/dev/work/payments";
const SITE: &str = "/home/dev/work/site";

/// A session: project, day of October, hour, prompt, reply, file that was edited, command that ran and its failure.
struct Told {
    project: &'static str,
    day: u8,
    hour: u8,
    asked: &'static str,
    said: &'static str,
    edited: &'static str,
    ran: &'static str,
    failed: &'static str,
}

const fn told(
    (project, day, hour): (&'static str, u8, u8),
    asked: &'static str,
    said: &'static str,
    edited: &'static str,
    (ran, failed): (&'static str, &'static str),
) -> Told {
    Told { project, day, hour, asked, said, edited, ran, failed }
}

const CLAUDE: &[Told] = &[
    told(
        (SHOP, 2, 9),
        "The checkout test fails once in ten runs. Find out why.",
        "The test reads the clock twice; at midnight the dates differ. I will pass the clock in.",
        "src/checkout.rs",
        ("cargo test checkout", "Exit code 101\nassertion failed: order.date == today"),
    ),
    told(
        (SHOP, 5, 14),
        "Prices are rounded twice in the cart. Use cents everywhere, decided: no floats for money.",
        "I will keep cents as integers and format them at the edge.",
        "src/cart.rs",
        ("cargo test cart", ""),
    ),
    told(
        (API, 6, 10),
        "A refund is sent twice if the provider answers late.",
        "The retry has no idempotency key. I will send one with every refund.",
        "src/refund.rs",
        ("cargo test refund", "Exit code 101\nexpected 1 request, found 2"),
    ),
    told(
        (SHOP, 8, 16),
        "Speed up the product search, it takes 300 ms.",
        "The query reads every row. An index on the name brings it to 8 ms.",
        "src/search.rs",
        ("cargo bench search", ""),
    ),
    told(
        (SITE, 9, 11),
        "The page jumps when the fonts arrive.",
        "I will reserve the width with size-adjust.",
        "styles/fonts.css",
        ("npm run build", "Exit code 1\nCannot find module 'postcss'"),
    ),
    told(
        (SHOP, 13, 9),
        "Write the checkout summary as a mail, in plain text.",
        "The mail has the lines of the cart, the sum and the address.",
        "src/mail.rs",
        ("cargo test mail", ""),
    ),
    told(
        (API, 14, 15),
        "Webhooks arrive out of order. Order them by their sequence number.",
        "I will keep the last number of each payment and ignore older ones.",
        "src/webhook.rs",
        ("cargo test webhook", ""),
    ),
    told(
        (SHOP, 16, 10),
        "The checkout must not empty the cart if the payment fails.",
        "The cart was cleared before the answer. I will clear it after the payment succeeded.",
        "src/checkout.rs",
        ("cargo test checkout", "Exit code 101\nassertion failed: cart.is_empty()"),
    ),
    told(
        (SHOP, 20, 13),
        "Postgres or SQLite for the orders? Decided: SQLite until we have two servers.",
        "Noted. I will keep the queries portable.",
        "src/orders.rs",
        ("cargo test orders", ""),
    ),
    told(
        (SITE, 21, 17),
        "Add a dark theme that follows the system.",
        "Colours become variables with two sets of values.",
        "styles/theme.css",
        ("npm run build", "Exit code 1\nCannot find module 'postcss'"),
    ),
    told(
        (API, 23, 9),
        "Log which provider answered, without card numbers.",
        "I will log the provider and the last four digits only.",
        "src/log.rs",
        ("cargo test log", ""),
    ),
    told(
        (SHOP, 27, 10),
        "Checkout is slow on mobile. Measure it first.",
        "Most of the time is the price of shipping: it is asked for three times.",
        "src/shipping.rs",
        ("cargo test shipping", ""),
    ),
];

const CODEX: &[Told] = &[
    told(
        (SHOP, 12, 20),
        "List what is left to do for the checkout",
        "Three points are left: taxes, shipping, and the mail.",
        "",
        ("grep -rn TODO src", ""),
    ),
    told(
        (API, 22, 21),
        "Why did the nightly run of the payments fail?",
        "The provider's sandbox was down from two to four.",
        "",
        ("tail -n 50 nightly.log", ""),
    ),
    told(
        (SHOP, 29, 18),
        "Prepare the release notes of October",
        "Written from the commits since the last tag.",
        "",
        ("git log --oneline v1.3..", ""),
    ),
];

pub(super) fn write_history(home: &Home) {
    for (number, one) in CLAUDE.iter().enumerate() {
        home.add(&write_session(number, one));
    }
    for (number, one) in CODEX.iter().enumerate() {
        let id = format!("0199a2{number:02}-81c0-7800-8aa1-bbab2a035a53");
        let mut rollout = Rollout::new(&id, one.project, &start_of(one));
        rollout.prompt(one.asked).did("call_1", one.ran, 0).reply(one.said);
        home.add_codex(&rollout);
    }
}

fn start_of(one: &Told) -> String {
    format!("2026-10-{:02}T{:02}:12:00Z", one.day, one.hour)
}

/// The command fails, is mended by an edit, and succeeds.
fn write_session(number: usize, one: &Told) -> Session {
    let id = format!("5e55{number:04}-4c0d-4000-8000-{:012}", number * 7919);
    let mut session = Session::new(&id, one.project, &start_of(one));
    let file = format!("{}/{}", one.project, one.edited);
    session.prompt(one.asked).did("Read", json!({"file_path": file}), "…").reply(&[one.said]);
    if !one.failed.is_empty() {
        session.failed("Bash", json!({"command": one.ran}), one.failed);
    }
    for step in 0..=(number % 4) {
        let edit = json!({"file_path": file, "old_string": format!("before {step}"), "new_string": format!("after {step}")});
        session.did("Edit", edit, "updated").wait_minutes(3);
    }
    session.did("Bash", json!({"command": one.ran}), "ok").reply(&["Done, and the tests pass."]);
    session.lines.iter_mut().for_each(|line| *line = add_tokens(line, number));
    session
}

/// As many tokens as real replies have.
fn add_tokens(line: &str, number: usize) -> String {
    let more =
        |name: &str, from: usize, to: usize| (format!("\"{name}\":{from}"), format!("\"{name}\":{to}"));
    let uses = [
        more("input_tokens", 10, 900 + 37 * number),
        more("output_tokens", 20, 1_800 + 211 * (number % 5)),
        more("cache_read_input_tokens", 300, 84_000 + 9_100 * number),
        more("cache_creation_input_tokens", 40, 6_200 + 450 * (number % 3)),
    ];
    uses.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to))
}
