//! Opens a page in a real browser without network.
//!
//! Does not know what the page shows: a script in it puts what a test wants to know into its title.

use std::path::Path;
use std::process::Command;

/// The title of a page after its scripts ran. The browser has a network namespace of its own, without a network.
pub fn title_in_chromium(home: &Path, file: &Path) -> String {
    let mut browser = Command::new("unshare");
    browser.args([
        "-n",
        "timeout",
        "120",
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
    ]);
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
