//! Places the packages of a code base in rows: what uses others above what it uses, related packages near each other.
//!
//! Does not know what a package is: it has widths, layers and edges.

/// What is to be placed: its width, its layer (0 at the bottom) and the positions of those it uses.
pub(crate) struct Node {
    pub(crate) width: f64,
    pub(crate) layer: usize,
    pub(crate) uses: Vec<usize>,
}

/// Where a node is: its left upper corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

pub(crate) struct Layout {
    pub(crate) places: Vec<Place>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

pub(crate) const NODE_HEIGHT: f64 = 34.0;
const GAP: f64 = 14.0;
/// Between two rows of a layer, and between two layers, where edges need room.
const ROW_STEP: f64 = NODE_HEIGHT + 16.0;
const LAYER_GAP: f64 = 56.0;
/// A wider layer continues in another row: a picture much wider than high cannot be read.
const MAX_ROW: f64 = 1800.0;
/// More sweeps moved no node in the trees tried (up to 300 packages).
const SWEEPS: usize = 6;

pub(crate) fn place_nodes(nodes: &[Node]) -> Layout {
    let layers = order_layers(nodes);
    let rows: Vec<Vec<Vec<usize>>> = layers.iter().map(|layer| split_rows(nodes, layer)).collect();
    let width = rows.iter().flatten().map(|row| row_width(nodes, row)).fold(0.0, f64::max);
    let mut places = vec![Place::default(); nodes.len()];
    let mut y = 0.0;
    for layer in rows.iter().rev() {
        for row in layer {
            let mut x = (width - row_width(nodes, row)) / 2.0;
            for of in row {
                places[*of] = Place { x, y };
                x += nodes[*of].width + GAP;
            }
            y += ROW_STEP;
        }
        y += LAYER_GAP;
    }
    Layout { places, width, height: (y - LAYER_GAP).max(NODE_HEIGHT) }
}

/// The nodes of each layer, from the bottom, ordered so that edges are short: each node moves towards the mean of its neighbours.
fn order_layers(nodes: &[Node]) -> Vec<Vec<usize>> {
    let top = nodes.iter().map(|node| node.layer).max().unwrap_or(0);
    let mut layers = vec![Vec::new(); top + 1];
    for (of, node) in nodes.iter().enumerate() {
        layers[node.layer].push(of);
    }
    let neighbours = list_neighbours(nodes);
    let mut position = vec![0.0; nodes.len()];
    for sweep in 0..=SWEEPS {
        for layer in &mut layers {
            if sweep > 0 {
                layer.sort_by(|one, other| {
                    mean(&neighbours[*one], &position, position[*one]).total_cmp(&mean(
                        &neighbours[*other],
                        &position,
                        position[*other],
                    ))
                });
            }
            let count = layer.len() as f64;
            for (at, of) in layer.iter().enumerate() {
                position[*of] = (at as f64 + 0.5) / count;
            }
        }
    }
    layers
}

fn list_neighbours(nodes: &[Node]) -> Vec<Vec<usize>> {
    let mut neighbours: Vec<Vec<usize>> = nodes.iter().map(|node| node.uses.clone()).collect();
    for (of, node) in nodes.iter().enumerate() {
        node.uses.iter().for_each(|to| neighbours[*to].push(of));
    }
    neighbours
}

fn mean(of: &[usize], position: &[f64], own: f64) -> f64 {
    if of.is_empty() { own } else { of.iter().map(|to| position[*to]).sum::<f64>() / of.len() as f64 }
}

fn split_rows(nodes: &[Node], layer: &[usize]) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for of in layer {
        match rows.last_mut() {
            Some(row) if row_width(nodes, row) + GAP + nodes[*of].width <= MAX_ROW => row.push(*of),
            _ => rows.push(vec![*of]),
        }
    }
    rows
}

fn row_width(nodes: &[Node], row: &[usize]) -> f64 {
    let gaps = GAP * row.len().saturating_sub(1) as f64;
    row.iter().map(|of| nodes[*of].width).sum::<f64>() + gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(layer: usize, uses: &[usize]) -> Node {
        Node { width: 100.0, layer, uses: uses.to_vec() }
    }

    #[test]
    fn users_stand_above_what_they_use() {
        let layout = place_nodes(&[node(0, &[]), node(1, &[0]), node(2, &[1, 0])]);
        let [low, middle, high] = layout.places[..] else { panic!("{:?}", layout.places) };
        assert!(high.y < middle.y && middle.y < low.y, "{:?}", layout.places);
        assert!(low.y + NODE_HEIGHT <= layout.height);
    }

    #[test]
    fn related_nodes_stand_near_each_other() {
        let layout = place_nodes(&[node(0, &[]), node(0, &[]), node(0, &[]), node(1, &[2]), node(1, &[0])]);
        let apart = |one: usize, other: usize| (layout.places[one].x - layout.places[other].x).abs();
        assert!(apart(3, 2) < apart(3, 0) && apart(4, 0) < apart(4, 2), "{:?}", layout.places);
    }

    #[test]
    fn no_node_covers_another_and_no_row_is_too_wide() {
        let nodes: Vec<Node> = (0..200).map(|of| node(of % 3, &[])).collect();
        let layout = place_nodes(&nodes);
        assert!(layout.width <= MAX_ROW);
        for (at, one) in layout.places.iter().enumerate() {
            for other in &layout.places[at + 1..] {
                let apart = (one.x - other.x).abs() >= 100.0 || (one.y - other.y).abs() >= NODE_HEIGHT;
                assert!(apart, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn nothing_has_a_place_too() {
        assert!(place_nodes(&[]).places.is_empty());
    }
}
