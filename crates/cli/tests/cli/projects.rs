//! A project is its git repository, wherever its folder is: `loci project`, and `--project` by name, path and remote.

use serde_json::{Value, json};
use std::path::Path;
use testutil::{Home, Session, run_line};

/// The dates of these commits say nothing.
fn git(folder: &Path, args: &[&str]) {
    testutil::git(folder, "2026-02-01T08:00:00Z", args);
}

fn add_session(home: &Home, id: &str, folder: &Path, day: u8, word: &str) {
    let mut session = Session::new(id, folder.to_str().unwrap(), &format!("2026-02-{day:02}T09:00:00Z"));
    session.prompt(&format!("why does the {word} leak?")).reply(&["It is never closed."]);
    home.add(&session);
}

const MAIN: &str = "aaaa1111-0000-4000-8000-000000000001";
const TREE: &str = "bbbb2222-0000-4000-8000-000000000002";
const MOVED: &str = "cccc3333-0000-4000-8000-000000000003";
const OTHER: &str = "dddd4444-0000-4000-8000-000000000004";

/// A repository with a worktree, which is moved after two sessions and used once more; and another project.
fn home_with_a_moved_project() -> Home {
    let home = Home::new();
    let (old, tree, new) =
        (home.path().join("old/shop"), home.path().join("old/fix"), home.path().join("new/store"));
    std::fs::create_dir_all(&old).unwrap();
    git(&old, &["init", "-q"]);
    git(&old, &["remote", "add", "origin", "git@example.org:acme/shop.git"]);
    git(&old, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&old, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    add_session(&home, MAIN, &old, 1, "walrus");
    add_session(&home, TREE, &tree, 2, "pelican");
    add_session(&home, OTHER, Path::new("/srv/demo/other"), 3, "zebra");
    run_line(&home, "index").expect(0);
    std::fs::create_dir_all(new.parent().unwrap()).unwrap();
    std::fs::rename(&old, &new).unwrap();
    add_session(&home, MOVED, &new, 4, "ocelot");
    run_line(&home, "index").expect(0);
    home
}

fn ids(home: &Home, line: &str) -> Vec<String> {
    let found = run_line(home, line).expect(0).records();
    let listed: Vec<Value> = match found[0].get("sessions") {
        Some(listed) => listed.as_array().unwrap().clone(),
        None => found,
    };
    let id = |one: &Value| {
        one.get("chatId").or(one.get("session_id")).and_then(Value::as_str).unwrap().to_string()
    };
    listed.iter().map(id).collect()
}

#[test]
fn a_project_is_found_by_name_path_and_remote_wherever_it_was() {
    let home = home_with_a_moved_project();
    let new = home.path().join("new/store");
    for named in
        ["store", "shop", "acme/shop", "git@example.org:acme/shop.git", "https://example.org/acme/shop"]
    {
        for line in ["sessions", "query sessions"] {
            assert_eq!(
                ids(&home, &format!("{line} --project {named}")),
                [MOVED, TREE, MAIN],
                "{line} {named}"
            );
        }
    }
    assert_eq!(ids(&home, &format!("sessions --project {}", new.display())), [MOVED, TREE, MAIN]);
    assert_eq!(ids(&home, "sessions --project other"), [OTHER]);
    let found = run_line(&home, "search leak --project acme/shop").expect(0).records().remove(0);
    assert_eq!(found["results"].as_array().unwrap().len(), 3, "{found}");
}

#[test]
fn projects_are_listed_with_their_folders() {
    let home = home_with_a_moved_project();
    let listed = run_line(&home, "project list").expect(0).records().remove(0);
    assert_eq!((&listed["total"], &listed["projects"][0]["name"]), (&json!(2), &json!("store")), "{listed}");
    let project = &listed["projects"][0];
    assert_eq!((&project["remote"], &project["sessions"]), (&json!("example.org/acme/shop"), &json!(3)));
    let exists: Vec<&Value> =
        project["folders"].as_array().unwrap().iter().map(|one| &one["exists"]).collect();
    assert_eq!(exists, [true, true, false]);
    let text = run_line(&home, "project list -n 1 -o text").expect(0);
    assert!(
        text.text().ends_with("\n1 of 2 projects\n") && text.text().contains("(not there any more)"),
        "{}",
        text.text()
    );
    let oldest = run_line(&home, "project list -n 1 --offset 1 --reverse").expect(0).records().remove(0);
    assert_eq!(oldest["projects"][0]["name"], "store");
    assert_eq!(run_line(&home, "projects").expect(0).records()[0]["total"], 2);
}

/// As after a restored backup or a home that has moved.
#[test]
fn a_session_with_two_transcripts_is_counted_once() {
    let home = home_with_a_moved_project();
    let projects = home.path().join(".claude/projects");
    let folder = std::fs::read_dir(&projects).unwrap().flatten().map(|entry| entry.path());
    let file = folder.map(|folder| folder.join(format!("{MAIN}.jsonl"))).find(|file| file.exists()).unwrap();
    std::fs::create_dir(projects.join("restored")).unwrap();
    std::fs::copy(&file, projects.join("restored").join(file.file_name().unwrap())).unwrap();
    let listed = run_line(&home, "project list").expect(0).records().remove(0);
    assert_eq!(listed["projects"][0]["sessions"], 3, "{listed}");
}

#[test]
fn resume_uses_the_folder_that_exists_today() {
    let home = home_with_a_moved_project();
    let resumed = run_line(&home, "resume aaaa1111 --print").expect(0);
    assert!(
        resumed.text().contains("/new/store &&") && !resumed.text().contains("/old/shop"),
        "{}",
        resumed.text()
    );
    let listed = run_line(&home, "sessions --reverse -n 1").expect(0).records().remove(0);
    assert!(listed["sessions"][0]["resume"].as_str().unwrap().contains("/new/store &&"), "{listed}");
    let found = run_line(&home, "search walrus").expect(0).records().remove(0);
    assert!(found["results"][0]["resume"].as_str().unwrap().contains("/new/store &&"), "{found}");
}

#[test]
fn a_name_joins_folders_until_it_is_removed() {
    let home = home_with_a_moved_project();
    run_line(&home, "project alias till /srv/demo/other").expect(0);
    assert_eq!(ids(&home, "sessions --project Till"), [OTHER]);
    let named = run_line(&home, "project alias till --folders acme/shop").expect(0).records().remove(0);
    assert_eq!(named["folders"].as_array().unwrap().len(), 4, "{named}");
    assert_eq!(ids(&home, "query sessions --project till"), [MOVED, OTHER, TREE, MAIN]);
    assert_eq!(run_line(&home, "project list").expect(0).records()[0]["projects"][0]["name"], "till");
    run_line(&home, "project alias till --remove").expect(0);
    run_line(&home, "sessions --project till").expect(2);
    for (line, says) in [
        ("project alias till --remove", "no project was given the name `till`"),
        ("project alias x /srv/nowhere", "loci project list"),
        ("project alias a/b /srv/demo/other", "without `/`"),
        ("project alias", "loci project alias shop"),
    ] {
        let refused = run_line(&home, line).expect(1);
        assert!(refused.stderr.contains(says), "{line}: {}", refused.stderr);
    }
}
