//! Renders a dependency diagram as Mermaid, Graphviz or SVG.
//!
//! Does not choose the types in it.

use crate::Graph;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiagramFormat {
    Mermaid,
    Dot,
    Svg,
}

pub const DIAGRAM_FORMATS: &[(DiagramFormat, &str)] =
    &[(DiagramFormat::Mermaid, "mermaid"), (DiagramFormat::Dot, "dot"), (DiagramFormat::Svg, "svg")];

/// Renders these types and the edges between them.
pub fn render_diagram(
    graph: &Graph,
    of: &[u32],
    name: &dyn Fn(u32) -> String,
    form: DiagramFormat,
) -> String {
    let edges = graph.edges_among(of);
    match form {
        DiagramFormat::Mermaid => render_mermaid(of, &edges, name),
        DiagramFormat::Dot => render_dot(of, &edges, name),
        DiagramFormat::Svg => render_svg(&assign_rows(graph, of), &edges, name),
    }
}

fn render_mermaid(of: &[u32], edges: &[(u32, u32)], name: &dyn Fn(u32) -> String) -> String {
    let mut out = "graph TD\n".to_string();
    for each in of {
        write_line(&mut out, format_args!("  t{each}[\"{}\"]", name(*each).replace('"', "#quot;")));
    }
    for (from, to) in edges {
        write_line(&mut out, format_args!("  t{from} --> t{to}"));
    }
    out
}

fn render_dot(of: &[u32], edges: &[(u32, u32)], name: &dyn Fn(u32) -> String) -> String {
    let mut out = "digraph types {\n  rankdir=LR;\n  node [shape=box];\n".to_string();
    for each in of {
        let label = name(*each).replace('\\', "\\\\").replace('"', "\\\"");
        write_line(&mut out, format_args!("  t{each} [label=\"{label}\"];"));
    }
    for (from, to) in edges {
        write_line(&mut out, format_args!("  t{from} -> t{to};"));
    }
    out + "}\n"
}

fn write_line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{text}"); // writing to a String does not fail
}

/// Layers for the SVG: each type is one row above the highest of its dependencies; the types of a cycle share a row.
fn assign_rows(graph: &Graph, of: &[u32]) -> Vec<Vec<u32>> {
    let mut row: BTreeMap<u32, usize> = BTreeMap::new();
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for group in graph.groups() {
        let inside: Vec<u32> = group.into_iter().filter(|each| of.contains(each)).collect();
        let below = inside.iter().flat_map(|each| graph.uses(*each)).filter_map(|to| row.get(to)).max();
        let at = below.map_or(0, |below| below + 1);
        if rows.len() <= at && !inside.is_empty() {
            rows.resize(at + 1, Vec::new());
        }
        for each in inside {
            row.insert(each, at);
            rows[at].push(each);
        }
    }
    rows.reverse();
    rows
}

const ROW_HEIGHT: f64 = 84.0;
const GAP: f64 = 20.0;
const BOX_HEIGHT: f64 = 30.0;
/// Approximate width of a character of the font.
const CHAR_WIDTH: f64 = 7.4;

/// The position of a box: its horizontal centre, its top and its width.
struct NodeBox {
    x: f64,
    y: f64,
    width: f64,
}

fn render_svg(rows: &[Vec<u32>], edges: &[(u32, u32)], name: &dyn Fn(u32) -> String) -> String {
    let (mut places, mut width) = (BTreeMap::new(), 0.0_f64);
    for (n, row) in rows.iter().enumerate() {
        let mut x = GAP;
        for each in row {
            let wide = name(*each).chars().count() as f64 * CHAR_WIDTH + 20.0;
            places.insert(*each, NodeBox { x: x + wide / 2.0, y: GAP + n as f64 * ROW_HEIGHT, width: wide });
            x += wide + GAP;
        }
        width = width.max(x);
    }
    let height = 2.0 * GAP + BOX_HEIGHT + ROW_HEIGHT * rows.len().saturating_sub(1) as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"monospace\" font-size=\"12\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n"
    );
    for (from, to) in edges {
        if let (Some(from), Some(to)) = (places.get(from), places.get(to)) {
            let (y1, y2) =
                if from.y < to.y { (from.y + BOX_HEIGHT, to.y) } else { (from.y, to.y + BOX_HEIGHT) };
            write_line(
                &mut out,
                format_args!(
                    "<path d=\"M{:.0} {y1:.0}L{:.0} {y2:.0}\" stroke=\"#888\" marker-end=\"url(#tip)\"/>",
                    from.x, to.x
                ),
            );
        }
    }
    for (each, place) in &places {
        let (left, text) = (place.x - place.width / 2.0, escape_xml(&name(*each)));
        write_line(
            &mut out,
            format_args!(
                "<rect x=\"{left:.0}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{BOX_HEIGHT}\" rx=\"4\" fill=\"#f5f5f5\" stroke=\"#444\"/>\
                 <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{text}</text>",
                place.y,
                place.width,
                place.x,
                place.y + 20.0
            ),
        );
    }
    out + "</svg>\n"
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample_graph;

    #[test]
    fn a_diagram_contains_the_types_and_the_edges_between_them() {
        let graph = sample_graph(4, &[(0, 1), (1, 2), (2, 1), (0, 3)]);
        let name = |of: u32| ["App<T>", "Store", "Node", "\"Odd\""][of as usize].to_string();
        let of = [0, 1, 2, 3];
        let shown = render_diagram(&graph, &of, &name, DiagramFormat::Mermaid);
        assert!(
            shown.starts_with("graph TD\n")
                && shown.contains("t0[\"App<T>\"]")
                && shown.contains("#quot;Odd")
        );
        assert_eq!(shown.matches("-->").count(), 4);
        let shown = render_diagram(&graph, &of, &name, DiagramFormat::Dot);
        assert!(
            shown.contains("t1 -> t2;") && shown.contains("label=\"\\\"Odd\\\"\"") && shown.ends_with("}\n")
        );
        let shown = render_diagram(&graph, &of, &name, DiagramFormat::Svg);
        assert!(shown.contains(">App&lt;T&gt;</text>") && shown.matches("<rect").count() == 4);
        assert_eq!(assign_rows(&graph, &of), [vec![0], vec![1, 2, 3]]);
        assert_eq!(render_diagram(&graph, &[0, 2], &name, DiagramFormat::Mermaid).matches("-->").count(), 0);
    }
}
