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
        for row in rows {
            let row = row.map_err(read_error)?;
            if !each(work(&row)) {
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
                    if send.send((number, rows.iter().map(work).collect())).is_err() {
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
