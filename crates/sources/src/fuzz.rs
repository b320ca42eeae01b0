//! The door for fuzzing: reads any bytes as a transcript of an agent and holds what comes of it to the promises.

use crate::{Error, Facts, Names, SOURCES, Survey, Transcript, Want};
use record::{Row, RowKind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Surveys `bytes` as the file `name` of an agent, in every depth, and reads every row again. Panics where a promise is
/// broken: lines that do not add up, a row that cannot be read again, input that is no JSON.
pub fn survey(agent: &str, name: &str, bytes: &[u8]) {
    let Some(source) = SOURCES.iter().position(|s| s.name() == agent) else { return };
    let dir = std::env::temp_dir().join(format!("loci-fuzz-{}", std::process::id()));
    // A file is kept open between reads: the next bytes are another file.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let path = dir.join(format!("{}-{name}", COUNT.fetch_add(1, Ordering::Relaxed)));
    if std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(&path, bytes)).is_err() {
        return;
    }
    let size = bytes.len() as u64;
    let transcript = Transcript {
        source,
        path,
        part: None,
        size,
        age: crate::Age::default(),
        hint: "x".to_string(),
        group: dir,
    };
    for want in [(true, true, true), (true, true, false), (false, true, false), (true, false, false)] {
        let (messages, calls, fields) = want;
        let (facts, rows) = told(&transcript, Want { messages, calls, fields });
        for (version, coverage) in &facts.coverage {
            assert!(coverage.adds_up(), "{version}: {coverage:?}");
        }
        rows.iter().for_each(|row| read_again(&transcript, row));
    }
    let _ = std::fs::remove_file(&transcript.path);
}

fn told(transcript: &Transcript, want: Want) -> (Facts, Vec<Row>) {
    let (names, mut rows) = (Names::default(), Vec::new());
    let mut emit = |new: &mut Vec<Row>| rows.append(new);
    let mut survey = Survey::new(0, &transcript.path, &names, want, &mut emit);
    let read = SOURCES[transcript.source].survey(transcript, &mut survey);
    let facts = survey.finish();
    assert!(read.is_ok(), "{read:?}");
    (facts, rows)
}

fn read_again(transcript: &Transcript, row: &Row) {
    let source = SOURCES[transcript.source];
    match row.row {
        RowKind::Message => drop(found(source.message(transcript, row))),
        RowKind::Call => {
            let Some(call) = found(source.call(transcript, transcript, row)) else { return };
            for json in [Some(&call.input), call.output.as_ref()].into_iter().flatten() {
                let parsed = serde_json::from_str::<&serde_json::value::RawValue>(json);
                assert!(parsed.is_ok(), "not JSON: {json}");
            }
        }
        RowKind::Result => {}
    }
}

/// A record with a key written twice is told by one and looked for by the other: it may be missed, and is then counted
/// as lost. Anything else must be found.
fn found<T>(read: Result<T, Error>) -> Option<T> {
    match read {
        Ok(found) => Some(found),
        Err(Error::Moved { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}
