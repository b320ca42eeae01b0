//! The real clients, driven by the scripted provider during the test, and what Loci reads of the stores they write.
//!
//! They run as on a machine of their own: namespaces with loopback only, user `dev`, its home a temporary folder. So paths
//! are those of `expected.json`, and a process that a client leaves behind ends with the run.

use crate::check::{Client, check_models, check_runs, check_times, read_expected, read_store};
use crate::table;
use serde_json::Value;
use testutil::clients::Clients;

/// Runs of a client; each takes 5 to 20 seconds. The failing command is in the first.
struct Live {
    client: &'static Client,
    /// Its program below the folder of installed clients.
    program: &'static str,
    runs: &'static [&'static str],
}

fn check_live(live: &Live) {
    let clients = Clients::as_root(live.program);
    let expected = read_expected(live.client);
    let (home, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    clients.run_neutral(live.client.name, home.path(), out.path(), live.runs);
    let store = read_store(live.client, home.path());
    let of_run = |run: &&Value| live.runs.contains(&run["run"].as_str().unwrap());
    let runs: Vec<Value> = expected["runs"].as_array().unwrap().iter().filter(of_run).cloned().collect();
    assert!(runs.len() >= 2, "{}: {runs:?}", live.client.name);
    check_runs(live.client, &store, &runs);
    if live.client.times {
        check_times(live.client, &store, "20");
    }
    check_models(live.client, &store);
}

#[test]
#[ignore = "needs qwen: see CONTRIBUTING.md"]
fn qwen_is_read_as_it_writes() {
    let runs = &["basic", "resume", "err", "kill9"];
    check_live(&Live { client: &table::QWEN, program: "qwen/node_modules/.bin/qwen", runs });
}

#[test]
#[ignore = "needs pi: see CONTRIBUTING.md"]
fn pi_is_read_as_it_writes() {
    let runs = &["basic", "resume", "err", "kill9"];
    check_live(&Live { client: &table::PI, program: "pi/node_modules/.bin/pi", runs });
}

#[test]
#[ignore = "needs copilot: see CONTRIBUTING.md"]
fn copilot_is_read_as_it_writes() {
    let runs = &["basic", "resume", "err", "kill9"];
    check_live(&Live { client: &table::COPILOT, program: "copilot/node_modules/.bin/copilot", runs });
}

#[test]
#[ignore = "needs droid: see CONTRIBUTING.md"]
fn droid_is_read_as_it_writes() {
    let runs = &["basic", "fork", "err", "kill9"];
    check_live(&Live {
        client: &table::DROID,
        program: "droid/node_modules/@factory/cli-linux-x64/bin/droid",
        runs,
    });
}

#[test]
#[ignore = "needs grok: see CONTRIBUTING.md"]
fn grok_is_read_as_it_writes() {
    let runs = &["basic", "resume", "err"];
    check_live(&Live { client: &table::GROK, program: "grok/node_modules/.bin/grok", runs });
}

#[test]
#[ignore = "needs kimi: see CONTRIBUTING.md"]
fn kimi_is_read_as_it_writes() {
    let runs = &["basic", "resume", "err", "kill9"];
    check_live(&Live { client: &table::KIMI, program: "kimi/node_modules/.bin/kimi", runs });
}

#[test]
#[ignore = "needs cn: see CONTRIBUTING.md"]
fn cn_is_read_as_it_writes() {
    let runs = &["basic", "resume"];
    check_live(&Live { client: &table::CN, program: "cn/node_modules/.bin/cn", runs });
}

#[test]
#[ignore = "needs cline: see CONTRIBUTING.md"]
fn cline_is_read_as_it_writes() {
    let runs = &["auth", "basic", "err"];
    check_live(&Live { client: &table::CLINE, program: "cline/node_modules/.bin/cline", runs });
}
