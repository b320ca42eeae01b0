//! Opens a page in a real browser without network.
//!
//! Does not know what the page shows: a script in it puts what a test wants to know into its title.

use crate::needs;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The title of a page after its scripts ran. The browser has a network namespace of its own, without a network.
pub fn title_in_chromium(home: &Path, file: &Path) -> String {
    run_chromium(home, file, &[])
}

fn run_chromium(home: &Path, file: &Path, flags: &[&str]) -> String {
    let mut browser = Command::new("unshare");
    browser.args(["-n", "timeout", "120", "chromium", "--headless", "--no-sandbox", "--disable-gpu"]);
    browser.args(["--dump-dom", "--virtual-time-budget=20000"]).args(flags);
    browser.arg(format!("--user-data-dir={}", home.join("profile").display()));
    browser.arg(format!("file://{}", file.display())).env("HOME", home);
    let output = browser.output().unwrap();
    assert!(output.status.success(), "needs chromium: {}", String::from_utf8_lossy(&output.stderr));
    let dom = String::from_utf8_lossy(&output.stdout);
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    title
        .unwrap_or_else(|| panic!("no title: {}", dom.chars().take(2000).collect::<String>()))
        .replace("&quot;", "\"")
}

/// Puts the number of rules that axe-core checked, and the serious findings, into the title.
const CHECK: &str = "axe.run().then((found) => {\n\
    const serious = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));\n\
    const findings = serious.map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', '));\n\
    document.body.innerHTML = '';\n\
    document.title = JSON.stringify({passed: found.passes.length, findings});\n\
    });\n";

/// Checks that axe-core finds no serious accessibility issue in a page, light and dark.
#[track_caller]
pub fn check_accessibility(home: &Path, page: &str) {
    let axe = needs::axe_core();
    let file = home.join("checked.html");
    let scripts = format!("<script>\n{axe}\n{CHECK}</script>\n</html>");
    std::fs::write(&file, page.replace("</html>", &scripts)).unwrap();
    for scheme in ["--blink-settings=preferredColorScheme=1", "--blink-settings=preferredColorScheme=0"] {
        let title = run_chromium(home, &file, &[scheme]);
        let found: Value = serde_json::from_str(&title).unwrap_or_else(|_| panic!("{scheme}: {title}"));
        assert!(found["passed"].as_u64() > Some(10), "{scheme}: few rules were checked: {title}");
        assert_eq!(found["findings"], serde_json::json!([]), "{scheme}");
    }
}
