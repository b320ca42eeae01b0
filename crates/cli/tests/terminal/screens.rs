//! Every screen shows what its operation returns.

use crate::{WIDE, open, open_sample};
use serde_json::json;
use testutil::{ALPHA, Home, Screen, Session, git, run_loci, sample_home};

#[test]
fn without_words_the_newest_sessions_are_listed() {
    let (_home, screen) = open_sample(WIDE);
    let text = screen.wait_for("4 sessions");
    let at = |title: &str| text.find(title).unwrap_or_else(|| panic!("{title}: {text}"));
    assert!(at("Codex, list the files") < at("Beta asks for a colour"), "{text}");
    assert!(at("Beta asks for a colour") < at("Please fix the socket"), "{text}");
}

#[test]
fn typing_searches_and_the_preview_marks_the_passage() {
    let (_home, screen) = open_sample(WIDE);
    screen.send("socket");
    let text = screen.wait_for("1 session ");
    assert!(text.contains("Please fix the socket in the daemon") && !text.contains("Beta asks"), "{text}");
    let marked = screen.inspect(|screen| {
        let cells = (2..29).flat_map(|row| (60..120).map(move |column| (row, column)));
        let marked =
            cells.filter_map(|(row, column)| screen.cell(row, column)).filter(|cell| cell.underline());
        marked.map(|cell| cell.contents().to_string()).collect::<String>()
    });
    assert!(marked.contains("socket"), "marked: {marked:?}\n{text}");
}

#[test]
fn sessions_are_grouped_by_day_newest_first() {
    let (_home, screen) = open_sample(WIDE);
    screen.send("\t2");
    let text = screen.wait_for("2026-03-04");
    let days: Vec<usize> = ["2026-03-04\n", "2026-03-03", "2026-03-02", "2026-03-01"]
        .iter()
        .map(|day| text.find(day.trim()).unwrap())
        .collect();
    assert!(days.is_sorted(), "{text}");
    assert!(text.contains("claude-code") && text.contains("Codex, list"), "{text}");
}

#[test]
fn a_session_is_read_with_folded_calls() {
    let (_home, screen) = open_sample((120, 70));
    screen.send("socket");
    screen.wait_for("1 session ");
    screen.send("\x0f"); // Ctrl-O, which opens while typing
    let text = screen.wait_for("▸ Bash cargo test");
    assert!(text.contains("✗ error") && !text.contains("test socket failed"), "the call is folded: {text}");
    screen.send("z");
    let text = screen.wait_for("test socket failed");
    assert!(text.contains("▾ Bash cargo test"), "{text}");
    screen.send("z");
    screen.wait_until("folded calls", |text| !text.contains("test socket failed"));
    screen.send("g");
    screen.send("jjjjjjjj ");
    screen.wait_for("▾ Read");
    screen.send("q");
    screen.wait_for("search: socket");
}

#[test]
fn memory_is_reviewed() {
    let home = sample_home();
    run_loci(&home, &["memory", "add", "Deploy only from main", "--project", ALPHA]).expect(0);
    let screen = open(&home, WIDE);
    screen.send("\t3");
    screen.wait_for("Deploy only from main");
    screen.send("P");
    screen.wait_for("pinned f-");
    screen.wait_for("●");
    screen.send("E");
    screen.wait_for("Text of the fact");
    screen.send(" branch\r");
    screen.wait_for("Deploy only from main branch");
    screen.send("D");
    screen.wait_for("retired f-");
    screen.send("vvvv");
    screen.wait_for("(retired)");
    screen.wait_for("Deploy only from main branch");
    screen.send("A");
    screen.wait_for("accepted f-");
    screen.wait_for("no facts in the state");
    let listed = run_loci(&home, &["memory", "list", "deploy"]).expect(0);
    assert!(listed.text().contains("Deploy only from main branch"), "{}", listed.text());
}

#[test]
fn errors_are_grouped_by_signature_with_their_occurrences() {
    let (_home, screen) = open_sample(WIDE);
    screen.send("\t4");
    screen.wait_for("Exit code");
    screen.wait_for("Bash");
    let sessions = ["claude-code aaaa1111", "claude-code bbbb1111", "codex cccc1111"];
    let has_session = |text: &str| sessions.iter().any(|session| text.contains(session));
    let text = screen.wait_until("an occurrence", has_session);
    assert!(text.contains("time in") || text.contains("times in"), "{text}");
}

#[test]
fn usage_has_sparklines_and_groups() {
    let (_home, screen) = open_sample(WIDE);
    screen.send("\t5");
    let text = screen.wait_for("tokens and cost by day");
    let text = if text.contains('█') { text } else { screen.wait_for("█") };
    assert!(text.contains("2026-03-01") && text.contains("tokens"), "{text}");
    screen.send("vvv");
    screen.wait_for("by model");
    screen.wait_for("claude-sonnet-4-5");
}

const CART: &str = "class Cart:\n    def __init__(self, prices):\n        self.prices = prices\n        self.items = []\n\n    \
def total(self):\n        return sum(self.prices[item] for item in self.items)\n";

/// A repository with one commit whose lines a session with this prompt wrote.
pub(crate) fn repository(prompt: &str) -> Home {
    let home = Home::new();
    let tree = home.path().join("shop");
    std::fs::create_dir(&tree).unwrap();
    git(&tree, "2026-03-01T11:00:00Z", &["init", "-q"]);
    std::fs::write(tree.join("cart.py"), CART).unwrap();
    git(&tree, "2026-03-01T11:00:00Z", &["add", "."]);
    git(&tree, "2026-03-01T11:00:00Z", &["commit", "-q", "-m", "Add the cart"]);
    let cwd = tree.to_str().unwrap();
    let mut session = Session::new("dddd1111-0000-4000-8000-000000000009", cwd, "2026-03-01T10:00:00Z");
    session.prompt(prompt).reply(&["It returns forty-two."]);
    session.did("Write", json!({"file_path": format!("{cwd}/cart.py"), "content": CART}), "written");
    home.add(&session);
    home
}

/// Opens the browser in the repository and asks for its file.
pub(crate) fn ask_why(home: &Home) -> Screen {
    let tree = home.path().join("shop");
    let script = format!("cd {} && exec {} ui", tree.display(), testutil::binary());
    let screen = Screen::spawn("sh", &["-c", &script], home.path(), WIDE, &[]);
    screen.wait_for("1 session");
    screen.send("\t6");
    screen.wait_for("why:");
    screen.send("cart.py\r");
    screen
}

#[test]
fn why_shows_the_edits_of_a_file() {
    let home = repository("Write the total of the cart");
    let screen = ask_why(&home);
    let text = screen.wait_for("Write the total of the cart");
    assert!(text.contains("class Cart:"), "{text}");
    screen.send("o");
    screen.wait_for("It returns forty-two.");
}
