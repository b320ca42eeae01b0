//! The same engine against servers that speak S3 and Azure: moto and Azurite, started by the test on loopback.
//!
//! Does not install them: `.ci/run` does.

use crate::device::{Connect, Device};
use crate::stores::Rng;
use loci_sync::Problem;
use loci_sync::storage::{Backoff, Cloud, Retry, Store, StoreError};
use std::path::Path;
use std::process::Command;
use testutil::StorageServer;

/// The account that Azurite documents.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// Creates a container; object_store cannot.
const CREATE_CONTAINER: &str = r#"
const crypto = require('crypto'), http = require('http');
const [port, account, key] = process.argv.slice(1);
const date = new Date().toUTCString(), version = '2021-10-04';
const text = `PUT${'\n'.repeat(12)}x-ms-date:${date}\nx-ms-version:${version}\n/${account}/${account}/loci\nrestype:container`;
const signature = crypto.createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
const headers = { 'x-ms-date': date, 'x-ms-version': version, 'Content-Length': 0, Authorization: `SharedKey ${account}:${signature}` };
const request = { host: '127.0.0.1', port, method: 'PUT', path: `/${account}/loci?restype=container`, headers };
http.request(request, (answer) => process.exit(answer.statusCode === 201 ? 0 : 1)).end();
"#;

fn azurite(location: &Path) -> (StorageServer, Vec<(String, String)>) {
    let server = StorageServer::start("azurite", "azurite/node_modules/.bin/azurite-blob", |port| {
        let location = location.to_str().unwrap();
        [
            "--silent",
            "--skipApiVersionCheck",
            "--blobHost",
            "127.0.0.1",
            "--blobPort",
            &port.to_string(),
            "--location",
            location,
        ]
        .map(str::to_owned)
        .to_vec()
    });
    let port = server.port.to_string();
    let created = Command::new("node").args(["-e", CREATE_CONTAINER, &port, ACCOUNT, KEY]).status().unwrap();
    assert!(created.success(), "the container was not created");
    let endpoint = format!("http://127.0.0.1:{port}/{ACCOUNT}");
    let variables = [
        ("AZURE_STORAGE_ENDPOINT", endpoint.as_str()),
        ("AZURE_ALLOW_HTTP", "true"),
        ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
        ("AZURE_STORAGE_ACCOUNT_KEY", KEY),
    ];
    (server, variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
}

/// What the engine expects of a storage.
fn check_contract(store: &dyn Store) {
    check_calls(store);
    // Both servers enforce the condition; Garage does not, and nothing rests on it.
    store.put("v1/c", b"one").unwrap();
    assert!(matches!(store.put("v1/c", b"other"), Err(StoreError::Exists { .. })));
    assert_eq!(store.get("v1/c", 9).unwrap(), b"one");
    store.delete("v1/c").unwrap();
}

pub(crate) fn check_calls(store: &dyn Store) {
    store.put("v1/a/2", b"two").unwrap();
    store.put("v1/a/1", b"one").unwrap();
    store.put("v1/b/1", b"").unwrap();
    assert_eq!(store.list("v1/a/", None).unwrap(), ["v1/a/1", "v1/a/2"]);
    assert_eq!(store.list("v1/a/", Some("v1/a/1")).unwrap(), ["v1/a/2"]);
    assert_eq!(store.list("v1/none/", None).unwrap(), Vec::<String>::new());
    assert_eq!(
        (store.get("v1/a/1", 3).unwrap(), store.get("v1/b/1", 3).unwrap()),
        (b"one".to_vec(), Vec::new())
    );
    assert!(matches!(store.get("v1/a/1", 2), Err(StoreError::TooLarge { .. })));
    assert!(matches!(store.get("v1/a/3", 9), Err(StoreError::NotFound { .. })));
    for name in ["v1/a/1", "v1/a/2", "v1/b/1", "v1/a/1"] {
        store.delete(name).unwrap();
    }
    assert_eq!(store.list("v1/", None).unwrap(), Vec::<String>::new());
}

/// More names than one page has.
fn check_pages(store: &dyn Store, count: usize) {
    let names: Vec<String> = (0..count).map(|at| format!("v1/pages/{at:05}")).collect();
    for name in &names {
        store.put(name, b"x").unwrap();
    }
    assert_eq!(store.list("v1/pages/", None).unwrap(), names);
}

pub(crate) fn connect(url: &str, variables: &[(String, String)]) -> Connect {
    let (url, variables) = (url.to_owned(), variables.to_vec());
    Box::new(move || {
        let store = Cloud::open(&url, variables.clone()).unwrap();
        Box::new(Retry::new(store, Backoff::default(), std::thread::sleep))
    })
}

/// Three devices that write, forget and are killed, over the server.
fn check_convergence(url: &str, variables: &[(String, String)]) {
    crate::device::expect_kills();
    let tmp = tempfile::tempdir().unwrap();
    let (first, phrase) = Device::create(&tmp.path().join("0"), connect(url, variables));
    let mut devices = vec![first];
    for at in 1..3 {
        devices.push(Device::recover(&tmp.path().join(at.to_string()), connect(url, variables), &phrase));
    }
    let mut rng = Rng(7);
    let mut kills = 0;
    for step in 0..60 {
        let now = 1_800_000_000_000 + step * 1_000;
        let device = &mut devices[rng.below(3) as usize];
        device.put(&format!("k{}", rng.below(30)), &format!("text {step}"), now);
        if rng.is_chance(10) {
            device.forget(&format!("k{}", rng.below(30)), now);
        }
        if rng.is_chance(40) {
            kills += u64::from(device.sync_killed(now, rng.below(20) + 1));
        } else {
            device.sync(now);
        }
    }
    for now in [1_800_001_000_000, 1_800_002_000_000, 1_800_003_000_000] {
        for device in &mut devices {
            assert_eq!(device.sync(now).findings, []);
        }
    }
    assert!(devices.iter().all(|device| device.export() == devices[0].export()));
    assert!(kills > 0 && devices[0].applied.len() > 5);
}

/// An outage in the middle is an error that says so, and the next round goes on.
fn check_outage(url: &str, variables: &[(String, String)], server: StorageServer) {
    let tmp = tempfile::tempdir().unwrap();
    let (mut device, _) = Device::create(tmp.path(), connect(url, variables));
    let (url, variables) = (url.to_owned(), variables.to_vec());
    device.connect = Box::new(move || Box::new(Cloud::open(&url, variables.clone()).unwrap()));
    device.put("a", "text", 1);
    drop(server);
    let failed = device.try_sync(2).unwrap_err();
    assert!(matches!(&failed, loci_sync::Error::Store(error) if error.is_temporary()), "{failed:?}");
    assert_eq!(device.open().status().unwrap().pending, 1);
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn devices_converge_over_s3() {
    let (server, variables) = StorageServer::moto();
    let store = Cloud::open("s3://loci/contract", variables.clone()).unwrap();
    check_contract(&store);
    check_pages(&store, 1_200);
    check_convergence("s3://loci/team/notes", &variables);
    check_outage("s3://loci/outage", &variables, server);
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn objects_that_were_changed_in_s3_are_noticed() {
    let (_server, variables) = StorageServer::moto();
    let tmp = tempfile::tempdir().unwrap();
    let url = "s3://loci/changed";
    let (mut writer, phrase) = Device::create(&tmp.path().join("a"), connect(url, &variables));
    let mut reader = Device::recover(&tmp.path().join("b"), connect(url, &variables), &phrase);
    writer.put("a", "text", 1);
    writer.sync(2);
    let store = Cloud::open(url, variables).unwrap();
    let name = store.list("v1/", None).unwrap().into_iter().find(|name| name.contains("/packs/")).unwrap();
    store.delete(&name).unwrap();
    store.put(&name, b"changed").unwrap();
    let found: Vec<Problem> = reader.sync(3).findings.iter().map(|finding| finding.problem).collect();
    assert_eq!(found, [Problem::DamagedPack]);
}

#[test]
#[ignore = "needs azurite: see CONTRIBUTING.md"]
fn devices_converge_over_azure() {
    let tmp = tempfile::tempdir().unwrap();
    let (server, variables) = azurite(tmp.path());
    check_contract(&Cloud::open("az://loci/contract", variables.clone()).unwrap());
    check_convergence("az://loci/team", &variables);
    check_outage("az://loci/outage", &variables, server);
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn a_missing_bucket_is_an_error_at_once() {
    let (_server, variables) = StorageServer::moto();
    let store = Cloud::open("s3://no-such-bucket/x", variables).unwrap();
    let put = store.put("v1/a", b"x").unwrap_err();
    assert!(!put.is_temporary(), "{put}");
    let list = store.list("v1/", None).unwrap_err();
    assert!(!list.is_temporary(), "{list}");
}

/// A profile that names a program instead of a key, as single sign-on and Vault do.
#[cfg(unix)]
#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn a_program_of_the_profile_gives_out_the_key() {
    let (_server, variables) = StorageServer::moto();
    let home = tempfile::tempdir().unwrap();
    let (log, program) = (home.path().join("log"), home.path().join("give key"));
    let answer = r#"{"Version":1,"AccessKeyId":"test","SecretAccessKey":"test","SessionToken":"t"}"#;
    std::fs::write(&program, format!("#!/bin/sh\n/usr/bin/env >> {}\necho '{answer}'\n", log.display()))
        .unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    let write_profile = |command: &str| {
        let text = format!("[profile team]\nregion = us-east-1\ncredential_process = {command}\n");
        std::fs::write(home.path().join(".aws/config"), text).unwrap();
    };
    let mut variables: Vec<(String, String)> =
        variables.into_iter().filter(|(name, _)| !name.contains("KEY")).collect();
    let more =
        [("HOME", home.path().to_str().unwrap()), ("AWS_PROFILE", "team"), ("AZURE_STORAGE_KEY", "secret")];
    variables.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
    write_profile(&format!("'{}' now", program.display()));
    for at in 0..2 {
        // Opening contacts nothing, and asks nobody.
        let store = Cloud::open("s3://loci/process", variables.clone()).unwrap();
        assert_eq!(log.exists(), at > 0);
        store.put(&format!("v1/{at}"), b"text").unwrap();
        assert_eq!(store.list("v1/", None).unwrap().len(), at + 1);
    }
    let environment = std::fs::read_to_string(&log).unwrap();
    assert_eq!(environment.matches("AWS_PROFILE=team").count(), 1, "it is asked once: {environment}");
    assert!(!environment.contains("secret"), "{environment}");
    write_profile("/bin/false");
    let refused = Cloud::open("s3://loci/process", variables).unwrap().put("v1/x", b"x").unwrap_err();
    assert!(!refused.is_temporary() && refused.to_string().contains("/bin/false"), "{refused}");
}
