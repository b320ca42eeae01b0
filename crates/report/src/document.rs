//! What all pages share: the head, the policy that forbids loading anything, and the script that sorts and filters tables.
//!
//! Does not know what a page is about.

pub(crate) const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Title (escaped) and the style that only this page needs.
pub(crate) fn draw_head(title: &str, style: &str) -> String {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n"
    )
}

/// Closes the page, with the script that only this page needs.
pub(crate) fn draw_end(script: &str) -> String {
    format!("</main>\n<script>\n{SCRIPT}{script}</script>\n</html>\n")
}
