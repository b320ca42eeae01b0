//! A session of 2,000 turns as one HTML file, in a real browser without network; and as Markdown.

use serde_json::json;
use std::time::Instant;
use testutil::{Home, Session, needs, run_line};

const TURNS: usize = 2000;

fn home_with_a_long_session() -> Home {
    let home = Home::new();
    let mut session =
        Session::new("aaaa1111-0000-4000-8000-000000000001", "/srv/demo/shop", "2026-02-27T09:00:00Z");
    for turn in 0..TURNS {
        session.prompt(&format!("question{turn} about the cart <b>&amp;"));
        session.did(
            "Bash",
            json!({"command": format!("echo {turn}")}),
            &format!("output{turn} <script>alert(1)</script>"),
        );
        session.reply(&[&format!("answer{turn}\n\n```py\nprint({turn})\n```")]);
    }
    home.add(&session);
    home
}

/// Types into the page's search, opens its calls, and writes down what is shown.
const TYPING: &str = "<script>\n\
    const type = (text) => { search.value = text; search.dispatchEvent(new Event('input')); return count.textContent; };\n\
    const found = [type('question1234'), type('question12 cart'), type('nosuchword'), type('')];\n\
    fold.click();\n\
    const opened = document.querySelectorAll('details[open]').length;\n\
    fold.click();\n\
    const folded = document.querySelectorAll('details[open]').length;\n\
    document.body.innerHTML = '';\n\
    document.title = JSON.stringify({found, opened, folded, articles: articles.length});\n\
    </script>\n</html>";

#[test]
#[ignore = "needs chromium: see CONTRIBUTING.md"]
fn a_page_of_two_thousand_turns_is_searched_and_folded_in_chromium_without_network() {
    needs::network_namespace();
    let home = home_with_a_long_session();
    let file = home.path().join("session.html");
    run_line(&home, &format!("export last -o html --file {}", file.display())).expect(0);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(!page.contains("src=") && !page.contains("href="), "the page refers to something else");
    assert_eq!(page.matches("<script>").count(), 1, "text of the session became a script");
    std::fs::write(&file, page.replace("</html>", TYPING)).unwrap();
    let began = Instant::now();
    let title = testutil::title_in_chromium(home.path(), &file);
    println!("{} bytes, {TURNS} turns, opened in {:?}", page.len(), began.elapsed());
    let articles = page.matches("<article").count();
    assert!(articles >= 2 * TURNS, "{articles}");
    let found = format!(r#"["1 of {articles}","111 of {articles}","0 of {articles}",""]"#);
    let expected = format!(r#"{{"found":{found},"opened":{TURNS},"folded":0,"articles":{articles}}}"#);
    assert_eq!(title, expected);
}

#[test]
fn the_markdown_of_a_long_session_has_every_turn_and_closes_its_fences() {
    let home = home_with_a_long_session();
    let text = run_line(&home, "export last").expect(0);
    for turn in [0, 1, TURNS / 2, TURNS - 1] {
        for word in ["question", "answer", "output"] {
            assert!(text.text().contains(&format!("{word}{turn}")), "{word}{turn}");
        }
    }
    let fences = text.text().lines().filter(|line| line.trim_start().starts_with("```")).count();
    assert_eq!(fences % 2, 0, "a fence is left open");
}
