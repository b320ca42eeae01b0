//! The entry point for fuzzing: reads any bytes as a transcript of an agent and checks the invariants of the
//! result.

use crate::{Error, Names, SOURCES, Survey, SurveyOptions, SurveyOutcome, Transcript};
use record::{Row, RowKind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Surveys `bytes` as the file `name` of an agent, with every set of options, and fetches every row. Panics
/// if an invariant is violated: line counts that do not add up, a row that cannot be fetched, input that is
/// not JSON.
pub fn survey(agent: &str, name: &str, bytes: &[u8]) {
    let Some(source) = SOURCES.iter().position(|s| s.name() == agent) else { return };
    let dir = std::env::temp_dir().join(format!("loci-fuzz-{}", std::process::id()));
    // Files are kept open between reads, so each input gets its own file.
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
        file_stamp: crate::FileStamp::default(),
        hint: "x".into(),
        group: dir.into(),
    };
    for want in [(true, true, true), (true, true, false), (false, true, false), (true, false, false)] {
        let (messages, calls, fields) = want;
        let (outcome, rows) = survey_rows(&transcript, SurveyOptions { messages, calls, fields });
        for (version, coverage) in &outcome.coverage {
            assert!(coverage.adds_up(), "{version}: {coverage:?}");
        }
        rows.iter().for_each(|row| read_again(&transcript, row));
    }
    let _ = std::fs::remove_file(&transcript.path);
}

fn survey_rows(transcript: &Transcript, options: SurveyOptions) -> (SurveyOutcome, Vec<Row>) {
    let (names, mut rows) = (Names::default(), Vec::new());
    let mut emit = |new: &mut Vec<Row>| rows.append(new);
    let mut survey = Survey::new(0, &transcript.path, &names, options, &mut emit);
    let read = SOURCES[transcript.source].survey(transcript, &mut survey);
    let outcome = survey.finish();
    assert!(read.is_ok(), "{read:?}");
    (outcome, rows)
}

fn read_again(transcript: &Transcript, row: &Row) {
    let source = SOURCES[transcript.source];
    match row.row {
        RowKind::Message => drop(found_or_moved(source.fetch_message(transcript, row))),
        RowKind::Call => {
            let Some(call) = found_or_moved(source.fetch_call(transcript, transcript, row)) else { return };
            for json in [Some(&call.input), call.output.as_ref()].into_iter().flatten() {
                let parsed = serde_json::from_str::<&serde_json::value::RawValue>(json);
                assert!(parsed.is_ok(), "not JSON: {json}");
            }
        }
        RowKind::Result => {}
    }
}

/// If a record has a key twice, survey and fetch may use different values: the fetch may then report it as
/// moved. Any other record must be found.
fn found_or_moved<T>(read: Result<T, Error>) -> Option<T> {
    match read {
        Ok(found) => Some(found),
        Err(Error::Moved { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}
