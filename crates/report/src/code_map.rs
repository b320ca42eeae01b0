//! The page of a code base: its packages as boxes in layers, the dependencies between them, and a table of the same numbers.
//!
//! Everything from the source tree is escaped. Does not know how a dependency was found.

use crate::document::{draw_end, draw_head};
use crate::layers::{Layout, NODE_HEIGHT, Node, Place, place_nodes};
use crate::table::{Cell, Table, shorten};
use api::code::{MapDrawn, Package};
use api::terminal_text::{append_fmt, escape_html, truncate_width};
use render::format::{count_of, group_digits};
use std::collections::BTreeMap;

const STYLE: &str = include_str!("code_map.css");
const SCRIPT: &str = include_str!("code_map.js");

/// The lightest dependencies beyond this number are not drawn: the picture would be one dark area. The table counts all.
const MAX_EDGES: usize = 2000;
const MIN_WIDTH: f64 = 96.0;
const MAX_WIDTH: f64 = 320.0;
/// Units of one character of a label.
const LETTER: f64 = 7.0;
const MARGIN: f64 = 20.0;

pub fn map_to_html(map: &MapDrawn, tree: &str) -> String {
    let title = escape_html(&format!("Packages of {}", shorten(tree, 80)));
    let mut out = draw_head(&title, STYLE);
    append_fmt(&mut out, format_args!("<header>\n<h1>{title}</h1>\n{}</header>\n<main>\n", draw_intro(map)));
    if map.packages.is_empty() {
        out += "<p>No source files.</p>\n";
        return out + &draw_end("");
    }
    let graph = PackageGraph::new(&map.packages);
    append_fmt(&mut out, format_args!("{TOOLS}{}", graph.draw()));
    append_fmt(&mut out, format_args!("<h2 id=\"packages\">Packages</h2>\n{}", graph.draw_table()));
    out + &draw_end(SCRIPT)
}

const TOOLS: &str = "<p class=\"tools\" hidden><label>Find a package or type <input type=\"search\"></label> <output></output>\
    <button type=\"button\" value=\"0.7\">Zoom in</button> <button type=\"button\" value=\"1.4\">Zoom out</button> \
    <button type=\"button\" value=\"all\">Show all</button></p>\n\
    <p class=\"rest\">A box is as wide as its package is large. Packages stand above what they use. Select one: \
    <span class=\"key selected\"></span> what it uses, <span class=\"key user\"></span> what uses it. \
    <span class=\"key back\"></span> Packages that use each other.</p>\n";

fn draw_intro(map: &MapDrawn) -> String {
    let lines = map.packages.iter().map(|package| package.lines).sum();
    let types = map.packages.iter().map(|package| package.types).sum();
    let cycles = map.packages.iter().filter_map(|package| package.cycle).max().unwrap_or(0);
    let counts = [
        count_of(map.packages.len() as u64, "package"),
        count_of(lines, "line"),
        count_of(types, "type"),
        count_of(cycles, "cycle"),
    ];
    format!("<p>{}. The page loads nothing.</p>\n", counts.join(", "))
}

/// The packages with the positions of those that each uses and is used by.
struct PackageGraph<'p> {
    packages: &'p [Package],
    /// From, to and references, the most references first.
    edges: Vec<(usize, usize, u64)>,
    users: Vec<usize>,
}

impl<'p> PackageGraph<'p> {
    fn new(packages: &'p [Package]) -> PackageGraph<'p> {
        let at: BTreeMap<&str, usize> =
            packages.iter().enumerate().map(|(at, package)| (package.path.as_str(), at)).collect();
        let mut edges: Vec<(usize, usize, u64)> = Vec::new();
        for (from, package) in packages.iter().enumerate() {
            let used =
                package.uses.iter().filter_map(|to| Some((from, *at.get(to.path.as_str())?, to.references)));
            edges.extend(used);
        }
        edges.sort_by_key(|(from, to, references)| (std::cmp::Reverse(*references), *from, *to));
        let mut users = vec![0; packages.len()];
        for (_, to, _) in &edges {
            users[*to] += 1;
        }
        PackageGraph { packages, edges, users }
    }

    fn draw(&self) -> String {
        let most = self.packages.iter().map(|package| package.lines).max().unwrap_or(1).max(1);
        let mut nodes: Vec<Node> = self
            .packages
            .iter()
            .map(|package| Node {
                width: box_width(package, most),
                layer: package.layer as usize,
                uses: Vec::new(),
            })
            .collect();
        self.edges.iter().for_each(|(from, to, _)| nodes[*from].uses.push(*to));
        let layout = place_nodes(&nodes);
        let mut marks = String::new();
        for (from, to, references) in self.edges.iter().take(MAX_EDGES) {
            draw_edge(&mut marks, (*from, *to), *references, &nodes, &layout);
        }
        for (at, package) in self.packages.iter().enumerate() {
            let words = self.describe(at);
            draw_package(&mut marks, at, package, &words, nodes[at].width, layout.places[at]);
        }
        let view = format!(
            "-{MARGIN} -{MARGIN} {:.0} {:.0}",
            layout.width + 2.0 * MARGIN,
            layout.height + 2.0 * MARGIN
        );
        format!(
            "<div class=\"map\">\n<svg role=\"group\" aria-label=\"Packages and their dependencies\" tabindex=\"0\" viewBox=\"{view}\">\n{marks}</svg>\n</div>\n\
             {}<p id=\"selected\" aria-live=\"polite\"></p>\n",
            self.left_out()
        )
    }

    fn left_out(&self) -> String {
        if self.edges.len() <= MAX_EDGES {
            return String::new();
        }
        format!(
            "<p class=\"rest\">The {} of {} dependencies with the most references are drawn.</p>\n",
            group_digits(MAX_EDGES as u64),
            group_digits(self.edges.len() as u64)
        )
    }

    /// What a reader is told about a package.
    fn describe(&self, at: usize) -> String {
        let package = &self.packages[at];
        let uses: Vec<String> = package.uses.iter().map(|to| shorten(name_of(&to.path), 60)).collect();
        let users: Vec<String> = self
            .edges
            .iter()
            .filter(|(_, to, _)| *to == at)
            .map(|(from, ..)| shorten(name_of(&self.packages[*from].path), 60))
            .collect();
        let list = |heading: &str, names: &[String]| match names.len() {
            0 => String::new(),
            _ => format!(". {heading} {}", names.join(", ")),
        };
        let leading: Vec<String> = package.leading.iter().map(|name| shorten(name, 60)).collect();
        format!(
            "{}: {} in {}, {}{}{}{}",
            shorten(name_of(&package.path), 120),
            count_of(package.lines, "line"),
            count_of(package.files, "file"),
            count_of(package.types, "type"),
            list("Types:", &leading),
            list("Uses:", &uses),
            list("Used by:", &users),
        )
    }

    fn draw_table(&self) -> String {
        let table = Table {
            caption: "Packages with their sizes and dependencies",
            columns: &[
                "Package",
                "Lines",
                "Files",
                "Types",
                "Uses",
                "Used by",
                "Layer",
                "Cycle",
                "Most important types",
            ],
            filter: "packages",
        };
        table.draw(self.packages.iter().enumerate().map(|(at, package)| {
            let counts = [
                package.lines,
                package.files,
                package.types,
                package.uses.len() as u64,
                self.users[at] as u64,
                package.layer,
            ];
            let cycle = package.cycle.map_or(String::new(), |number| number.to_string());
            let mut cells = vec![Cell::line(name_of(&package.path), 120)];
            cells.extend(counts.map(Cell::Count));
            cells.extend([Cell::Text(cycle), Cell::line(&package.leading.join(", "), 240)]);
            cells
        }))
    }
}

/// The root of the tree has no path.
fn name_of(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// The area of a box grows with the lines, not its width: a hundred times the lines is ten times as wide.
fn box_width(package: &Package, most: u64) -> f64 {
    let share = (package.lines as f64 / most as f64).sqrt();
    MIN_WIDTH + (MAX_WIDTH - MIN_WIDTH) * share
}

fn draw_edge(out: &mut String, (from, to): (usize, usize), references: u64, nodes: &[Node], layout: &Layout) {
    let (one, other) = (layout.places[from], layout.places[to]);
    let (x1, x2) = (one.x + nodes[from].width / 2.0, other.x + nodes[to].width / 2.0);
    let goes_down = nodes[from].layer > nodes[to].layer;
    let (y1, y2) = if goes_down { (one.y + NODE_HEIGHT, other.y) } else { (one.y, other.y + NODE_HEIGHT) };
    let bend = ((y2 - y1) / 2.0).abs().max(30.0) * if goes_down { 1.0 } else { -1.0 };
    let class = if goes_down { "edge" } else { "edge back" };
    append_fmt(
        out,
        format_args!(
            "<path class=\"{class}\" data-from=\"{from}\" data-to=\"{to}\" data-v=\"{references}\" stroke-width=\"{:.1}\" d=\"M{x1:.0} {y1:.0}C{x1:.0} {:.0} {x2:.0} {:.0} {x2:.0} {y2:.0}\"/>\n",
            1.0 + (references as f64).log10(),
            y1 + bend,
            y2 - bend,
        ),
    );
}

fn draw_package(out: &mut String, at: usize, package: &Package, words: &str, width: f64, place: Place) {
    let class = match (package.cycle, package.test) {
        (Some(_), _) => "package cycle",
        (None, true) => "package test",
        (None, false) => "package",
    };
    let columns = ((width - 10.0) / LETTER) as usize;
    let label = escape_html(&truncate_start(&shorten(name_of(&package.path), 120), columns));
    let (x, y) = (place.x, place.y);
    let searched = escape_html(&shorten(&format!("{} {}", package.path, package.leading.join(" ")), 1000));
    append_fmt(
        out,
        format_args!(
            "<g class=\"{class}\" data-n=\"{at}\" data-words=\"{searched}\"><title>{}</title><rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{NODE_HEIGHT}\" rx=\"4\" data-v=\"{}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{label}</text><text class=\"size\" x=\"{:.0}\" y=\"{:.0}\">{} lines</text></g>\n",
            escape_html(words),
            package.lines,
            x + 6.0,
            y + 15.0,
            x + 6.0,
            y + 28.0,
            group_digits(package.lines),
        ),
    );
}

/// The end of a path says more than its start.
fn truncate_start(path: &str, columns: usize) -> String {
    let mut rest = path;
    while truncate_width(rest, columns) != rest {
        match rest.split_once('/') {
            Some((_, after)) => rest = after,
            None => return truncate_width(rest, columns),
        }
    }
    if rest.len() == path.len() { rest.to_string() } else { truncate_width(&format!("…/{rest}"), columns) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::code::PackageUse;

    fn package(path: &str, lines: u64, layer: u64, uses: &[(&str, u64)]) -> Package {
        let uses =
            uses.iter().map(|(path, n)| PackageUse { path: (*path).to_string(), references: *n }).collect();
        Package { path: path.to_string(), files: 1, lines, types: 2, layer, uses, ..Package::default() }
    }

    #[test]
    fn boxes_edges_and_table_have_the_numbers() {
        let packages = vec![package("a/store", 1234, 0, &[]), package("b", 10, 1, &[("a/store", 7)])];
        let page = map_to_html(&MapDrawn { packages, ..MapDrawn::default() }, "shop");
        assert!(
            page.contains("<h1>Packages of shop</h1>\n<p>2 packages, 1,244 lines, 4 types, 0 cycles."),
            "{page}"
        );
        assert!(page.contains("data-from=\"1\" data-to=\"0\" data-v=\"7\""), "{page}");
        assert!(page.contains("<td class=\"n\">1,234</td><td class=\"n\">1</td><td class=\"n\">2</td><td class=\"n\">0</td><td class=\"n\">1</td>"), "{page}");
        assert!(page.contains("a/store: 1,234 lines in 1 file, 2 types. Used by: b</title>"), "{page}");
    }

    #[test]
    fn names_from_the_tree_are_escaped() {
        let mut hostile = package("<img src=x>/\"&\u{202e}", 1, 0, &[]);
        hostile.leading = vec!["</script><script>alert(1)".to_string()];
        let page = map_to_html(&MapDrawn { packages: vec![hostile], ..MapDrawn::default() }, "</title><b>");
        assert_eq!((page.matches("<script>").count(), page.matches("</title>").count()), (1, 2), "{page}");
        assert!(!page.contains("<img") && !page.contains("<b>") && !page.contains('\u{202e}'), "{page}");
    }

    #[test]
    fn the_end_of_a_path_is_kept() {
        assert_eq!(truncate_start("crates/report/src", 17), "crates/report/src");
        assert_eq!(truncate_start("crates/report/src/page", 12), "…/src/page");
        assert_eq!(truncate_start("averylongname", 6), "avery…");
    }
}
