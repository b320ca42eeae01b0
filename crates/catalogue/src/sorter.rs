//! A sort that needs the same memory for a thousand rows and for ten million: full buffers are sorted and
//! spilled as runs, and the runs are merged while they are read.
//!
//! The result depends on the rows alone, not on the order or the threads they came from, as long as `order`
//! has no ties between different rows.

use crate::Error;
use os::files::FileExt;
use record::Row;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;

/// Rows buffered before a run is spilled: 7 MB of them.
const MAX_BUFFERED_ROWS: usize = 60_000;
/// Rows read from a run at a time: 58 KB.
const READ_CHUNK_ROWS: usize = 512;

pub type Order = fn(&Row, &Row) -> Ordering;

pub struct Sorter {
    order: Order,
    buffer: Vec<Row>,
    capacity: usize,
    spill: Option<File>,
    /// Where each run starts, and how many rows it has.
    runs: Vec<(u64, u64)>,
    written: u64,
}

impl Sorter {
    pub fn new(order: Order) -> Sorter {
        Sorter::with_capacity(order, MAX_BUFFERED_ROWS)
    }

    /// One sorter for each of `n` threads, which together buffer as much as one: a thread that spills does
    /// not block the others.
    pub fn one_per_thread(order: Order, n: usize) -> Vec<Sorter> {
        (0..n.max(1))
            .map(|_| Sorter::with_capacity(order, (MAX_BUFFERED_ROWS / n.max(1)).max(READ_CHUNK_ROWS)))
            .collect()
    }

    pub(crate) fn with_capacity(order: Order, most: usize) -> Sorter {
        Sorter { order, buffer: Vec::new(), capacity: most, spill: None, runs: Vec::new(), written: 0 }
    }

    pub fn push(&mut self, row: Row) -> Result<(), Error> {
        if self.buffer.len() == self.capacity {
            self.spill_run()?;
        }
        if self.buffer.len() == self.buffer.capacity() {
            // Grown in steps: doubling would allocate half as much again for nothing.
            self.buffer
                .reserve_exact((self.buffer.len() / 2).max(1024).min(self.capacity - self.buffer.len()));
        }
        self.buffer.push(row);
        Ok(())
    }

    fn spill_run(&mut self) -> Result<(), Error> {
        self.buffer.sort_unstable_by(self.order);
        let file = match &mut self.spill {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        self.runs.push((self.written, self.buffer.len() as u64));
        let mut bytes = Vec::with_capacity(READ_CHUNK_ROWS * Row::SIZE);
        for chunk in self.buffer.chunks(READ_CHUNK_ROWS) {
            bytes.clear();
            for row in chunk {
                row.encode(&mut bytes);
            }
            file.write_all_at(&bytes, self.written)?;
            self.written += bytes.len() as u64;
        }
        self.buffer.clear();
        Ok(())
    }

    /// Ends the input and returns the rows in order.
    pub fn finish(self) -> Result<Sorted, Error> {
        Sorter::merge(self.order, vec![self])
    }

    /// Merges the rows of several sorters into one order.
    pub fn merge(order: Order, sorters: Vec<Sorter>) -> Result<Sorted, Error> {
        let (mut runs, mut files, mut rows) = (Vec::new(), Vec::new(), 0);
        for mut sorter in sorters {
            rows += sorter.buffer.len() as u64 + sorter.runs.iter().map(|(_, count)| count).sum::<u64>();
            sorter.buffer.sort_unstable_by(order);
            runs.extend(sorter.runs.iter().map(|(at, left)| Run::from_spill(files.len(), *at, *left)));
            runs.push(Run { file: files.len(), at: 0, left: 0, rows: sorter.buffer.into_iter() });
            files.push(sorter.spill);
        }
        let mut sorted = Sorted { order, files, runs, heads: BinaryHeap::new(), rows };
        for run in 0..sorted.runs.len() {
            sorted.refill_head(run)?;
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
    fn from_spill(file: usize, at: u64, left: u64) -> Run {
        Run { file, at, left, rows: Vec::new().into_iter() }
    }

    fn next_row(&mut self, files: &[Option<File>]) -> Result<Option<Row>, Error> {
        if let Some(row) = self.rows.next() {
            return Ok(Some(row));
        }
        let n = self.left.min(READ_CHUNK_ROWS as u64) as usize;
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
    rows: u64,
}

impl Sorted {
    /// The number of rows, read or not.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    fn refill_head(&mut self, run: usize) -> Result<(), Error> {
        if let Some(row) = self.runs[run].next_row(&self.files)? {
            self.heads.push(Reverse(Head { row, run, order: self.order }));
        }
        Ok(())
    }

    fn pop_row(&mut self) -> Result<Option<Row>, Error> {
        let Some(Reverse(head)) = self.heads.pop() else { return Ok(None) };
        self.refill_head(head.run)?;
        Ok(Some(head.row))
    }
}

impl Iterator for Sorted {
    type Item = Result<Row, Error>;
    fn next(&mut self) -> Option<Self::Item> {
        self.pop_row().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Stamp;

    fn by_time(a: &Row, b: &Row) -> Ordering {
        (a.at, a.start).cmp(&(b.at, b.start))
    }

    #[test]
    fn spilling_changes_nothing() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        };
        let rows: Vec<Row> = (0..5000)
            .map(|place| Row { at: Stamp((random() % 100) as i64), start: place, ..Row::default() })
            .collect();
        let mut expected = rows.clone();
        expected.sort_by(by_time);
        for most in [1, 2, 7, 999, 5000, 100_000] {
            let mut sorter = Sorter::with_capacity(by_time, most);
            for row in &rows {
                sorter.push(*row).unwrap();
            }
            let found: Vec<Row> = sorter.finish().unwrap().map(Result::unwrap).collect();
            assert_eq!(found, expected, "{most} buffered");
            let mut sorter = Sorter::with_capacity(by_time, most);
            for row in &rows {
                sorter.push(*row).unwrap();
            }
            assert_eq!(sorter.finish().unwrap().row_count(), 5000, "{most} buffered");
            let mut several: Vec<Sorter> = (0..3).map(|_| Sorter::with_capacity(by_time, most)).collect();
            for (n, row) in rows.iter().enumerate() {
                several[n % 3].push(*row).unwrap();
            }
            let found: Vec<Row> = Sorter::merge(by_time, several).unwrap().map(Result::unwrap).collect();
            assert_eq!(found, expected, "{most} buffered by each of three");
        }
        assert!(Sorter::new(by_time).finish().unwrap().next().is_none());
    }
}
