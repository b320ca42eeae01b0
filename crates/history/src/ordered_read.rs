//! Processes sorted rows on several threads and emits the results in row order, with bounded read-ahead.
//!
//! Does not know what is done with a row.

use crate::error::read_error;
use api::Error;
use catalogue::Sorted;
use record::{Problem, Row};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};

/// The result for one row.
pub enum RowResult {
    /// Does not match the request.
    Skipped,
    Line(Vec<u8>),
    Problem(Problem),
}

/// Rows per unit of work.
const CHUNK: usize = 128;

/// Calls `work` for each row on up to `threads` threads and `each` with the results in order, until `each` returns false.
pub fn process_in_order(
    threads: usize,
    mut rows: Sorted,
    work: impl Fn(&Row) -> RowResult + Sync,
    mut each: impl FnMut(RowResult) -> bool,
) -> Result<(), Error> {
    if threads <= 1 {
        // Small chunks first: whoever wants one record should not wait for a hundred.
        for size in (0..).map(|n: u32| CHUNK.min(1 << n.min(16))) {
            let chunk = rows.by_ref().take(size).collect::<Result<Vec<_>, _>>().map_err(read_error)?;
            if chunk.is_empty() || !work_chunk(&chunk, &work).into_iter().all(&mut each) {
                break;
            }
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (give, given) = mpsc::sync_channel::<(u64, Vec<Row>)>(threads);
        let (send, done) = mpsc::channel::<(u64, Vec<RowResult>)>();
        let given = Arc::new(Mutex::new(given));
        for _ in 0..threads {
            let (send, given, work) = (send.clone(), given.clone(), &work);
            scope.spawn(move || {
                while let Some((number, rows)) = given.lock().ok().and_then(|g| g.recv().ok()) {
                    if send.send((number, work_chunk(&rows, work))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let result = distribute_chunks(threads, &mut rows, &give, &done, &mut each);
        drop(give);
        result
    })
}

/// The results of rows, in their order. They are worked on in the order of the files: a compressed transcript can only be
/// read forwards, and newest first would start it over for every row.
fn work_chunk(rows: &[Row], work: &(impl Fn(&Row) -> RowResult + ?Sized)) -> Vec<RowResult> {
    let mut by_place: Vec<usize> = (0..rows.len()).collect();
    by_place.sort_by_key(|at| (rows[*at].file, rows[*at].start));
    let mut results: Vec<(usize, RowResult)> = by_place.into_iter().map(|at| (at, work(&rows[at]))).collect();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Distributes chunks of rows and emits finished chunks in order; at most two chunks per thread are in flight.
fn distribute_chunks(
    threads: usize,
    rows: &mut Sorted,
    give: &mpsc::SyncSender<(u64, Vec<Row>)>,
    done: &mpsc::Receiver<(u64, Vec<RowResult>)>,
    each: &mut impl FnMut(RowResult) -> bool,
) -> Result<(), Error> {
    let (mut given, mut printed, mut ended) = (0, 0, false);
    let mut early: BTreeMap<u64, Vec<RowResult>> = BTreeMap::new();
    loop {
        while !ended && given - printed < 2 * threads as u64 {
            let chunk = rows.by_ref().take(CHUNK).collect::<Result<Vec<_>, _>>().map_err(read_error)?;
            ended = chunk.len() < CHUNK;
            if !chunk.is_empty() {
                let _ = give.send((given, chunk));
                given += 1;
            }
        }
        if printed == given {
            return Ok(());
        }
        let Ok((number, chunk)) = done.recv() else { return Ok(()) };
        early.insert(number, chunk);
        while let Some(chunk) = early.remove(&printed) {
            printed += 1;
            if !chunk.into_iter().all(&mut *each) {
                return Ok(());
            }
        }
    }
}
