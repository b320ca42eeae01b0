//! A sort that needs the same memory for a thousand rows and for ten million: full buffers are sorted and
//! spilled as runs, and the runs are merged while they are read.
//!
//! The result depends on the rows alone, not on the order or the threads they came from, as long as `order`
//! has no ties between different rows.

use crate::Error;
use record::Row;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Rows buffered before a run is spilled: 7 MB of them.
const HELD: usize = 60_000;
/// Rows read from a run at a time: 58 KB.
const READ: usize = 512;

pub type Order = fn(&Row, &Row) -> Ordering;

pub struct Sorter {
    order: Order,
    held: Vec<Row>,
    most: usize,
    spill: Option<File>,
    /// Where each run starts, and how many rows it has.
    runs: Vec<(u64, u64)>,
    written: u64,
}

impl Sorter {
    pub fn new(order: Order) -> Sorter {
        Sorter::holding(order, HELD)
    }

    /// One sorter for each of `n` threads, which together buffer as much as one: a thread that spills does
    /// not block the others.
    pub fn shared(order: Order, n: usize) -> Vec<Sorter> {
        (0..n.max(1)).map(|_| Sorter::holding(order, (HELD / n.max(1)).max(READ))).collect()
    }

    pub(crate) fn holding(order: Order, most: usize) -> Sorter {
        Sorter { order, held: Vec::new(), most, spill: None, runs: Vec::new(), written: 0 }
    }

    pub fn push(&mut self, row: Row) -> Result<(), Error> {
        if self.held.len() == self.most {
            self.spill()?;
        }
        if self.held.len() == self.held.capacity() {
            // Grown in steps: doubling would allocate half as much again for nothing.
            self.held.reserve_exact((self.held.len() / 2).max(1024).min(self.most - self.held.len()));
        }
        self.held.push(row);
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Error> {
        self.held.sort_unstable_by(self.order);
        let file = match &mut self.spill {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        self.runs.push((self.written, self.held.len() as u64));
        let mut bytes = Vec::with_capacity(READ * Row::SIZE);
        for chunk in self.held.chunks(READ) {
            bytes.clear();
            for row in chunk {
                row.encode(&mut bytes);
            }
            file.write_all_at(&bytes, self.written)?;
            self.written += bytes.len() as u64;
        }
        self.held.clear();
        Ok(())
    }

    /// Ends the input and returns the rows in order.
    pub fn sorted(self) -> Result<Sorted, Error> {
        Sorter::merged(self.order, vec![self])
    }

    /// Merges the rows of several sorters into one order.
    pub fn merged(order: Order, sorters: Vec<Sorter>) -> Result<Sorted, Error> {
        let (mut runs, mut files) = (Vec::new(), Vec::new());
        for mut sorter in sorters {
            sorter.held.sort_unstable_by(order);
            runs.extend(sorter.runs.iter().map(|(at, left)| Run::spilled(files.len(), *at, *left)));
            runs.push(Run { file: files.len(), at: 0, left: 0, rows: sorter.held.into_iter() });
            files.push(sorter.spill);
        }
        let mut sorted = Sorted { order, files, runs, heads: BinaryHeap::new() };
        for run in 0..sorted.runs.len() {
            sorted.refill(run)?;
        }
        Ok(sorted)
    }
}

struct Run {
    /// Index of the spill file that contains it.
    file: usize,
    at: u64,
    left: u64,
    rows: std::vec::IntoIter<Row>,
}

impl Run {
    fn spilled(file: usize, at: u64, left: u64) -> Run {
        Run { file, at, left, rows: Vec::new().into_iter() }
    }

    fn next(&mut self, files: &[Option<File>]) -> Result<Option<Row>, Error> {
        if let Some(row) = self.rows.next() {
            return Ok(Some(row));
        }
        let n = self.left.min(READ as u64) as usize;
        let Some(file) = files[self.file].as_ref().filter(|_| n > 0) else { return Ok(None) };
        let mut bytes = vec![0; n * Row::SIZE];
        file.read_exact_at(&mut bytes, self.at)?;
        self.at += bytes.len() as u64;
        self.left -= n as u64;
        self.rows = bytes.chunks_exact(Row::SIZE).map(Row::decode).collect::<Vec<_>>().into_iter();
        Ok(self.rows.next())
    }
}

struct Head {
    row: Row,
    run: usize,
    order: Order,
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        (self.order)(&self.row, &other.row).then(self.run.cmp(&other.run))
    }
}
impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Head {}

/// Rows in order, one at a time.
pub struct Sorted {
    order: Order,
    files: Vec<Option<File>>,
    runs: Vec<Run>,
    heads: BinaryHeap<Reverse<Head>>,
}

impl Sorted {
    fn refill(&mut self, run: usize) -> Result<(), Error> {
        if let Some(row) = self.runs[run].next(&self.files)? {
            self.heads.push(Reverse(Head { row, run, order: self.order }));
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<Option<Row>, Error> {
        let Some(Reverse(head)) = self.heads.pop() else { return Ok(None) };
        self.refill(head.run)?;
        Ok(Some(head.row))
    }
}

impl Iterator for Sorted {
    type Item = Result<Row, Error>;
    fn next(&mut self) -> Option<Self::Item> {
        self.pop().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Stamp;

    fn by_time(a: &Row, b: &Row) -> Ordering {
        (a.at, a.place).cmp(&(b.at, b.place))
    }

    #[test]
    fn spilling_changes_nothing() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        };
        let rows: Vec<Row> = (0..5000)
            .map(|place| Row { at: Stamp((random() % 100) as i64), place, ..Row::default() })
            .collect();
        let mut expected = rows.clone();
        expected.sort_by(by_time);
        for most in [1, 2, 7, 999, 5000, 100_000] {
            let mut sorter = Sorter::holding(by_time, most);
            for row in &rows {
                sorter.push(*row).unwrap();
            }
            let found: Vec<Row> = sorter.sorted().unwrap().map(Result::unwrap).collect();
            assert_eq!(found, expected, "{most} buffered");
            let mut several: Vec<Sorter> = (0..3).map(|_| Sorter::holding(by_time, most)).collect();
            for (n, row) in rows.iter().enumerate() {
                several[n % 3].push(*row).unwrap();
            }
            let found: Vec<Row> = Sorter::merged(by_time, several).unwrap().map(Result::unwrap).collect();
            assert_eq!(found, expected, "{most} buffered by each of three");
        }
        assert!(Sorter::new(by_time).sorted().unwrap().next().is_none());
    }
}
