//! What a prompt window shows within its budget.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{Region, Window, WindowEntry, fill_window, recency_score};
fn sample_entry(of: u32, prices: &[usize]) -> WindowEntry {
    WindowEntry { of, texts: prices.iter().map(|n| (String::new(), *n)).collect() }
}

fn shown_entries(window: &Window) -> Vec<(u32, Region, usize)> {
    window.shown.iter().map(|shown| (shown.of, shown.region, shown.texts)).collect()
}

#[test]
fn regions_are_ordered_and_types_are_shown_once() {
    let window = fill_window(
        100,
        &[sample_entry(1, &[10, 5])],
        &[sample_entry(1, &[10]), sample_entry(2, &[10, 5, 5])],
        &[sample_entry(2, &[1]), sample_entry(3, &[10])],
    );
    assert_eq!(
        shown_entries(&window),
        [(1, Region::Pinned, 2), (2, Region::Focus, 3), (3, Region::Recent, 1)]
    );
    assert_eq!(window.tokens, 45);
}

#[test]
fn an_entry_that_does_not_fit_is_shown_in_part() {
    let large = sample_entry(2, &[30, 10, 40, 40]);
    assert_eq!(
        shown_entries(&fill_window(200, &[], std::slice::from_ref(&large), &[])),
        [(2, Region::Focus, 4)]
    );
    assert_eq!(
        shown_entries(&fill_window(60, &[], std::slice::from_ref(&large), &[])),
        [(2, Region::Focus, 2)]
    );
    assert_eq!(
        shown_entries(&fill_window(35, &[], std::slice::from_ref(&large), &[])),
        [(2, Region::Focus, 1)]
    );
    assert_eq!(
        shown_entries(&fill_window(20, &[], &[large.clone(), sample_entry(3, &[15])], &[])),
        [(3, Region::Focus, 1)]
    );
    assert_eq!(fill_window(0, &[], &[large], &[]).shown, []);
}

#[test]
fn pinned_types_do_not_crowd_out_the_focus() {
    let window = fill_window(
        100,
        &[sample_entry(1, &[50]), sample_entry(2, &[50]), sample_entry(3, &[10])],
        &[sample_entry(4, &[40])],
        &[],
    );
    assert_eq!(
        shown_entries(&window),
        [(1, Region::Pinned, 1), (3, Region::Pinned, 1), (4, Region::Focus, 1)]
    );
    assert_eq!(window.left_out, [2]);
}

#[test]
fn recent_types_with_many_dependents_score_higher() {
    assert!(
        recency_score(0, 4, false) > recency_score(1, 4, false)
            && recency_score(0, 9, false) > recency_score(0, 4, false)
    );
    assert!((recency_score(2, 4, true) - 1.5 * recency_score(2, 4, false)).abs() < 1e-9);
}
