//! `loci sync` with a team: what is shared, what arrives, and what a person must accept. Each member is a home of its own.

use crate::sync::run_with;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use testutil::{Home, McpClient, Session, command, git, run_line};

const RULE: &str = "Deploy only from the branch main";
const REMOTE: &str = "git@example.org:zoo/shop.git";

fn run(home: &Home, line: &str) -> Value {
    run_line(home, &format!("{line} --json")).expect(0).records().remove(0)
}

/// A person with a clone of the repository that all work in.
struct Person {
    home: Home,
    shop: PathBuf,
}

impl Person {
    fn new(name: &str) -> Person {
        let home = Home::new();
        let shop = home.path().join(format!("code-of-{name}")).join("shop");
        std::fs::create_dir_all(&shop).unwrap();
        git(&shop, "2026-02-01T08:00:00Z", &["init", "-q", "-b", "main"]);
        git(&shop, "2026-02-01T08:00:00Z", &["remote", "add", "origin", REMOTE]);
        let person = Person { home, shop };
        person.add_session(9, "Count the penguins");
        run_line(&person.home, "index").expect(0);
        person
    }

    fn add_session(&self, number: u32, prompt: &str) -> String {
        let id = format!("{number:08x}-0000-4000-8000-000000000099");
        let mut session =
            Session::new(&id, self.shop.to_str().unwrap(), &format!("2026-03-{number:02}T10:00:00Z"));
        session.prompt(prompt).reply(&["Understood."]);
        session.did("Bash", json!({"command": "make secret-target"}), "the output of make");
        self.home.add(&session);
        id
    }

    fn add_fact(&self, text: &str) -> String {
        let added = run(&self.home, &format!("memory add '{text}' --project {}", self.shop.display()));
        added["memory"]["id"].as_str().unwrap().to_string()
    }

    fn run(&self, line: &str) -> Value {
        run(&self.home, line)
    }

    fn refused(&self, line: &str) -> String {
        run_line(&self.home, line).expect(1).stderr
    }

    fn facts(&self, state: &str) -> Vec<Value> {
        let line = format!("memory list --kind facts --state {state} --json");
        run_line(&self.home, &line).records().remove(0)["memories"].as_array().unwrap().clone()
    }

    /// What an agent is told when it starts in the repository.
    fn session_start(&self) -> String {
        let mut hook = command(self.home.path(), &["hook", "session-start"]);
        hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = hook.spawn().unwrap();
        let input = json!({"session_id": "new", "cwd": self.shop, "source": "startup"});
        write!(child.stdin.take().unwrap(), "{input}").unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }
}

/// Ada has started the team, Bob was admitted.
struct Team {
    bucket: Home,
    ada: Person,
    bob: Person,
}

fn join(admin: &Person, new: &Person, url: &str, label: &str, role: &str) {
    let asked = new.run(&format!("sync join {url} --team core --label {label}"));
    let request = asked["request"].as_str().unwrap();
    let admitted = admin.run(&format!("sync admit {request} --team core --role {role}"));
    assert_eq!((&admitted["label"], &admitted["role"]), (&json!(label), &json!(role)), "{admitted}");
    let joined =
        new.run(&format!("sync join {url} {} --team core", admitted["invitation"].as_str().unwrap()));
    assert_eq!((&joined["label"], &joined["team"]), (&json!(label), &json!("core")), "{joined}");
}

impl Team {
    fn new() -> Team {
        let (bucket, ada, bob) = (Home::new(), Person::new("ada"), Person::new("bob"));
        let url = bucket.path().display().to_string();
        let started = ada.run(&format!("sync init --show-phrase {url} --team core --label ada"));
        assert!(started["phrase"].is_string(), "{started}");
        join(&ada, &bob, &url, "bob", "writer");
        Team { bucket, ada, bob }
    }

    fn rounds(&self) {
        for person in [&self.ada, &self.bob, &self.ada, &self.bob] {
            run_line(&person.home, "sync now").expect(0);
        }
    }

    fn url(&self) -> String {
        self.bucket.path().display().to_string()
    }
}

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_shared_fact_is_a_suggestion_until_it_is_accepted() {
    let team = Team::new();
    let fact = team.ada.add_fact(RULE);
    team.ada.run(&format!("sync share {fact} --team core --yes"));
    team.ada.run("sync now");
    let received = team.bob.run("sync now");
    assert_eq!((&received["suggested"], &received["memory"]), (&json!(1), &json!(0)), "{received}");
    // Neither listed nor told to an agent.
    assert!(team.bob.facts("fresh").is_empty());
    let mut agent = McpClient::new(team.bob.home.path(), &[("LOCI_TOOLSETS", "memory")]);
    let told = agent.tool_result("list_memory", json!({})).to_string();
    assert!(!told.contains(RULE) && !team.bob.session_start().contains(RULE), "{told}");
    let waiting = team.bob.facts("review");
    assert_eq!((&waiting[0]["text"], &waiting[0]["device"]), (&json!(RULE), &json!("ada")), "{waiting:?}");
    assert_eq!(waiting[0]["project"], team.bob.shop.to_str().unwrap(), "by the remote of the repository");
    let shown = run_line(&team.bob.home, "memory list --state review -o text").expect(0);
    assert!(shown.text().contains("from ada"), "{}", shown.text());
    team.bob.run(&format!("memory accept {}", waiting[0]["id"].as_str().unwrap()));
    let accepted = team.bob.facts("fresh");
    assert_eq!((&accepted[0]["text"], &accepted[0]["device"]), (&json!(RULE), &json!("ada")));
    assert!(team.bob.session_start().contains(RULE));
    // A second round changes nothing, and nothing goes back to its author.
    team.rounds();
    assert_eq!((team.bob.facts("review").len(), team.ada.facts("review").len()), (0, 0));
}

#[test]
fn nothing_leaves_before_it_was_shown_and_confirmed() {
    let team = Team::new();
    let fact = team.ada.add_fact(RULE);
    let other = team.ada.add_fact("The walrus budget is secret");
    let refused = team.ada.refused(&format!("sync share {fact} --team core"));
    assert!(refused.contains("--dry-run") && refused.contains("--yes"), "{refused}");
    let dry = team.ada.run(&format!("sync share {fact} --team core --dry-run"));
    assert_eq!(
        (&dry["items"][0]["text"], &dry["items"][0]["project"]),
        (&json!(RULE), &json!("example.org/zoo/shop"))
    );
    team.rounds();
    assert!(team.bob.facts("review").is_empty());
    let shared = team.ada.run(&format!("sync share {fact} --team core --yes"));
    assert_eq!(shared["items"].as_array().unwrap().len(), 1);
    let preview = team.ada.run("sync preview --team core");
    assert_eq!((&preview["items"][0]["id"], &preview["total"]), (&json!(fact), &json!(1)), "{preview}");
    assert_eq!(team.ada.run("sync preview --team core --limit 0").get("items"), None);
    team.rounds();
    let texts: Vec<String> = team.bob.facts("review").iter().map(|one| one["text"].to_string()).collect();
    assert_eq!(texts, [format!("\"{RULE}\"")]);
    let everything = run_line(&team.bob.home, "memory export --json").text().to_string();
    assert!(!everything.contains("walrus"), "{other} was not shared");
    for path in list_files(team.bucket.path()) {
        let bytes = std::fs::read(&path).unwrap();
        for word in ["branch main", "zoo/shop", "ada", "walrus"] {
            assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "{word} in {path:?}");
        }
    }
}

#[test]
fn a_folder_stands_for_the_reviewed_facts_that_it_has_now() {
    let team = Team::new();
    let (one, two) = (team.ada.add_fact(RULE), team.ada.add_fact("Tests run on two cores"));
    let retired = team.ada.add_fact("Use tabs");
    team.ada.run(&format!("memory retire {retired}"));
    let shared = team.ada.run(&format!("sync share {} --team core --yes", team.ada.shop.display()));
    let mut ids: Vec<&str> =
        shared["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let mut expected = [one.as_str(), two.as_str()];
    expected.sort_unstable();
    assert_eq!(ids, expected);
    let refused = team.ada.refused(&format!("sync share {retired} --team core --yes"));
    assert!(refused.contains("only reviewed facts are shared"), "{refused}");
    // What is added later is not shared by that.
    team.ada.add_fact("Added later");
    team.rounds();
    assert_eq!(team.bob.facts("review").len(), 2);
}

#[test]
fn what_is_withdrawn_leaves_the_reviews_and_what_was_accepted_stays() {
    let team = Team::new();
    let (one, two) = (team.ada.add_fact(RULE), team.ada.add_fact("Tests run on two cores"));
    team.ada.run(&format!("sync share {one} {two} --team core --yes"));
    team.rounds();
    let accepted = team.bob.facts("review").iter().find(|fact| fact["text"] == RULE).unwrap().clone();
    team.bob.run(&format!("memory accept {}", accepted["id"].as_str().unwrap()));
    let gone = team.ada.run(&format!("sync unshare {one} {two} --team core"));
    assert_eq!((gone["items"].as_array().unwrap().len(), &gone["withdrawn"]), (2, &json!(true)), "{gone}");
    team.ada.run("sync now");
    let round = team.bob.run("sync now");
    assert_eq!(round["withdrawn"], json!([accepted["id"]]), "{round}");
    assert_eq!((team.bob.facts("review").len(), team.bob.facts("fresh").len()), (0, 1));
    let nothing = team.ada.refused(&format!("sync unshare {one} --team core"));
    assert!(nothing.contains("is not shared"), "{nothing}");
    // It can be shared again, and is offered again to those who had not decided.
    team.ada.run(&format!("sync share {two} --team core --yes"));
    team.rounds();
    assert_eq!(team.bob.facts("review").len(), 1);
}

#[test]
fn what_its_author_forgets_or_rewords_changes_for_others_too() {
    let team = Team::new();
    let (one, two) = (team.ada.add_fact(RULE), team.ada.add_fact("Tests run on two cores"));
    team.ada.run(&format!("sync share {one} {two} --team core --yes"));
    team.rounds();
    team.ada.run(&format!("memory edit {two} --text 'Tests run on four cores'"));
    run_line(&team.ada.home, &format!("memory forget {one} --yes")).expect(0);
    team.rounds();
    let waiting = team.bob.facts("review");
    let texts: Vec<&str> = waiting.iter().map(|fact| fact["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Tests run on four cores"]);
    // A suggestion that was turned down does not come again.
    team.bob.run(&format!("memory retire {}", waiting[0]["id"].as_str().unwrap()));
    team.rounds();
    assert!(team.bob.facts("review").is_empty());
}

#[test]
fn a_session_is_shared_by_name_and_searched_once_it_was_taken() {
    let team = Team::new();
    let id = team.ada.add_session(1, "OK, decided: we go with the walrus for the labels.");
    team.ada.add_session(2, "This stays with me, walrus or not");
    let dry = team.ada.run("sync share 00000001 --team core --dry-run");
    assert_eq!((&dry["items"][0]["messages"], dry["items"][0].get("calls")), (&json!(2), None), "{dry}");
    let with_tools = team.ada.run("sync share 00000001 --team core --with-tools --dry-run");
    assert_eq!(with_tools["items"][0]["calls"], 1, "{with_tools}");
    team.ada.run("sync share 00000001 --team core --yes");
    team.ada.run("sync now");
    assert_eq!(team.bob.run("sync now")["offered"], 1);
    run_line(&team.bob.home, "search walrus").expect(2);
    let status = team.bob.run("sync status --team core");
    assert_eq!(
        (&status["offered"][0]["id"], &status["offered"][0]["device"]),
        (&json!(id), &json!("ada")),
        "{status}"
    );
    assert!(team.bob.refused("sync take 00000002 --team core").contains("no member shares"));
    assert_eq!(team.bob.run("sync take 00000001 --team core")["session"]["device"], "ada");
    let found = team.bob.run("search walrus");
    let (taken, device) = (&found["results"][0]["chatId"], &found["results"][0]["device"]);
    assert!(taken.as_str().unwrap().starts_with(&format!("{id}@")) && device == "ada", "{found}");
    let shown = run_line(&team.bob.home, "show 00000001").expect(0).text().to_string();
    assert!(shown.contains("walrus for the labels") && !shown.contains("output of make"), "{shown}");
    // Its decisions are not Bob's.
    run_line(&team.bob.home, "memory consolidate --no-model").expect(0);
    assert!(!run_line(&team.bob.home, "memory export --json").text().contains("walrus"));
    // Shared in full, it replaces what was offered.
    team.ada.run("sync share 00000001 --team core --with-tools --yes");
    team.rounds();
    assert_eq!(team.bob.run("sync status --team core")["offered"][0]["calls"], 1);
    // Forgotten by its author, it is offered no more.
    run_line(&team.ada.home, "forget 00000001 --yes").expect(0);
    team.rounds();
    assert_eq!(team.bob.run("sync status --team core").get("offered"), None);
}

/// A member chooses the ID of what he shares.
#[test]
fn a_shared_session_replaces_no_other_and_must_be_named_clearly() {
    let team = Team::new();
    let id = team.ada.add_session(1, "The walrus session of Ada");
    team.ada.add_session(2, "Another walrus session of Ada");
    team.ada.run("sync share 00000001 00000002 --team core --yes");
    team.rounds();
    assert!(team.bob.refused("sync take 0000000 --team core").contains("ambiguous"));
    let own = [
        json!({"type": "session", "id": id, "title": "Mine"}),
        json!({"type": "message", "role": "user", "text": "The walrus session of Bob"}),
    ];
    let file = team.bob.home.path().join("own.jsonl");
    std::fs::write(&file, own.map(|line| format!("{line}\n")).concat()).unwrap();
    run_line(&team.bob.home, &format!("import {}", file.display())).expect(0);
    let taken = team.bob.run("sync take 00000001 --team core")["session"]["id"].as_str().unwrap().to_string();
    assert!(taken.starts_with(&format!("{id}@")), "{taken}");
    let shown = run_line(&team.bob.home, &format!("show {id}")).expect(0).text().to_string();
    assert!(shown.contains("of Bob") && !shown.contains("of Ada"), "{shown}");
    let shown = run_line(&team.bob.home, &format!("show {taken}")).expect(0).text().to_string();
    assert!(shown.contains("of Ada") && !shown.contains("of Bob"), "{shown}");
    team.bob.run("sync take 00000002 --team core");
    // Taken once more, it is the same session of the same member.
    team.bob.run("sync take 00000002 --team core");
}

#[test]
fn a_removed_member_gets_nothing_more_and_a_reader_shares_nothing() {
    let team = Team::new();
    let eve = Person::new("eve");
    let asked = eve.run(&format!("sync join {} --team core --label bob", team.url()));
    let line = format!("sync admit {} --team core", asked["request"].as_str().unwrap());
    assert!(
        team.ada.refused(&line).contains("has a member called `bob`"),
        "nobody takes the name of another"
    );
    join(&team.ada, &eve, &team.url(), "eve", "reader");
    let fact = eve.add_fact("Eve knows better");
    eve.run(&format!("sync share {fact} --team core --yes"));
    assert!(eve.refused("sync now").contains("read"), "a reader cannot write");
    eve.run(&format!("sync unshare {fact} --team core"));
    team.rounds();
    eve.run("sync leave --team core");
    assert!(eve.refused("sync status --team core").contains("does not belong to the team `core`"));
    let request = eve.run(&format!("sync join {} --team core", team.url()))["request"].clone();
    let line = format!("sync admit {} --team core", request.as_str().unwrap());
    assert!(team.bob.refused(&line).contains("administrator"), "only administrators admit");
    let left = team.ada.run("sync remove bob --team core");
    assert!(!left.to_string().contains("\"label\":\"bob\""), "{left}");
    let fact = team.ada.add_fact(RULE);
    team.ada.run(&format!("sync share {fact} --team core --yes"));
    team.ada.run("sync now");
    assert!(team.bob.refused("sync now --team core").contains("removed"));
    assert!(team.bob.facts("review").is_empty());
}

#[test]
fn a_team_and_the_devices_of_a_person_stay_apart() {
    let team = Team::new();
    let (own, laptop) = (Home::new(), Home::new());
    let url = own.path().display().to_string();
    let started = team.bob.run(&format!("sync init --show-phrase {url} --label desk"));
    run(&laptop, &format!("sync join {url} {} --label laptop", started["phrase"].as_str().unwrap()));
    let private = team.bob.add_fact("Only for the devices of Bob");
    let fact = team.ada.add_fact(RULE);
    team.ada.run(&format!("sync share {fact} --team core --yes"));
    let exchange = || {
        team.rounds();
        run(&laptop, "sync now");
        run_line(&laptop, "memory export --json").text().to_string()
    };
    let there = exchange();
    assert!(there.contains("Only for the devices of Bob") && !there.contains(RULE), "{there}");
    assert!(
        !run_line(&team.ada.home, "memory export --json").text().contains("Only for the devices"),
        "{private}"
    );
    let waiting = team.bob.facts("review");
    team.bob.run(&format!("memory accept {}", waiting[0]["id"].as_str().unwrap()));
    assert!(exchange().contains(RULE));
    let status = team.bob.run("sync status");
    assert_eq!((&status["teams"], &status["label"]), (&json!(["core"]), &json!("desk")), "{status}");
    assert_eq!(team.bob.run("sync status --team core")["label"], "bob");
    let labels = |line: &str| -> Vec<String> {
        let mut found: Vec<String> = team.bob.run(line)["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["label"].as_str().unwrap().to_string())
            .collect();
        found.sort();
        found
    };
    assert_eq!(labels("sync devices"), ["desk", "laptop"]);
    assert_eq!(labels("sync devices --team core"), ["ada", "bob"]);
}

#[test]
fn teams_are_named_in_mistakes() {
    let team = Team::new();
    for (line, said) in [
        ("sync now --team other", "one of: core"),
        ("sync share f-000000 --team core --yes", "no fact has an ID"),
        ("sync share nothing --team core --yes", "no session matches the ID prefix"),
        ("sync init --show-phrase /tmp --team a/b", "invalid team name"),
        ("sync admit nonsense --team core", "join request"),
    ] {
        assert!(team.ada.refused(line).contains(said), "{line}: {}", team.ada.refused(line));
    }
    assert!(Person::new("eve").refused("sync share f-1 --yes").contains("belongs to no team"));
    // Without devices of one's own, the only team is meant, and one's own name is known.
    assert_eq!(team.ada.run("sync status")["team"], "core");
    assert_eq!(team.ada.run("sync devices"), team.ada.run("sync devices --team core"));
    assert_eq!(team.ada.run("sessions --device ada")["total"], 1);
    let twice = team.bob.refused(&format!("sync join {} --team core", team.url()));
    assert!(twice.contains("already belongs"), "{twice}");
}

#[test]
fn of_several_teams_one_must_be_named_and_only_that_one_is_meant() {
    let team = Team::new();
    let (other, url) = (Home::new(), team.url());
    let second = other.path().display().to_string();
    team.ada.run(&format!("sync init --show-phrase {second} --team zoo --label ada"));
    let fact = team.ada.add_fact(RULE);
    for line in
        [format!("sync share {fact} --yes"), format!("sync unshare {fact}"), "sync take 0000".to_string()]
    {
        let refused = team.ada.refused(&line);
        assert!(refused.contains("several teams") && refused.contains("one of: core, zoo"), "{refused}");
    }
    team.ada.run(&format!("sync share {fact} --team zoo --yes"));
    assert_eq!(team.ada.run("sync now --team core")["sent"], 0);
    assert_eq!(team.ada.run("sync now --team zoo")["sent"], 1);
    team.bob.run("sync now");
    assert!(team.bob.facts("review").is_empty(), "shared with the other team only");
    let shared = |name: &str| team.ada.run(&format!("sync status --team {name}")).get("shared").cloned();
    assert!(shared("core").is_none() && shared("zoo").is_some());
    assert!(team.ada.refused(&format!("sync unshare {fact} --team core")).contains("is not shared"));
    // A request is admitted to the team that is named.
    let eve = Person::new("eve");
    let asked = eve.run(&format!("sync join {url} --team core --label eve"));
    let line = format!("sync admit {} --team core", asked["request"].as_str().unwrap());
    let invitation = team.ada.run(&line)["invitation"].as_str().unwrap().to_string();
    eve.run(&format!("sync join {url} {invitation} --team core"));
    let status = team.ada.run("sync leave --team zoo");
    assert_eq!(status["url"], second, "{status}");
    assert_eq!(team.ada.run("sync status --team core").get("teams"), Some(&json!(["core"])));
}

#[test]
fn the_guide_works_with_a_folder() {
    let shared = Home::new();
    follow_guide(shared.path().to_str().unwrap(), &[]);
}

#[test]
#[ignore = "needs moto: see CONTRIBUTING.md"]
fn the_guide_works_with_a_bucket() {
    let (_server, variables) = testutil::StorageServer::moto();
    follow_guide("s3://loci/team", &variables);
}

/// A member with a program of his own writes into his log what Ada is supposed to share. Everybody else runs Loci.
#[test]
fn a_record_in_the_name_of_another_member_is_refused_and_counted() {
    let team = Team::new();
    let carol = Person::new("carol");
    join(&team.ada, &carol, &team.url(), "carol", "writer");
    team.rounds();
    let state = team.bob.home.path().join(".local/share/loci/teams/core");
    let forge = |label: &str, key: &str, body: Option<String>| {
        let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/forge");
        assert!(program.exists(), "no {}: build the examples of loci-sync", program.display());
        let mut forge = std::process::Command::new(program);
        forge.arg(&state).arg(team.bucket.path()).args([label, "shared-facts", key]).args(body);
        assert!(forge.status().unwrap().success());
    };
    let fact = |text: &str| {
        let project = json!({"remote": "example.org/zoo/shop", "name": "shop"});
        Some(json!({"text": text, "kind": "decision", "origin": "user", "project": project}).to_string())
    };
    forge("ada", "\t\tf-1\t1", fact("Deploy from anywhere"));
    forge("ada", "\t\tf-2\t1", None);
    // The same form in his own name is read: what is refused above is the name.
    forge("bob", "\t\tf-1\t1", fact("Deploy at noon"));
    for person in [&team.ada, &carol] {
        let round = person.run("sync now");
        assert_eq!((&round["refused"], &round["suggested"]), (&json!(2), &json!(1)), "{round}");
        let review = person.facts("review");
        assert_eq!((review.len(), &review[0]["text"]), (1, &json!("Deploy at noon")), "{review:?}");
        assert!(!person.session_start().contains("Deploy"));
    }
}

/// A session of more than 64 MB is refused, and one that grows beyond it stays as the others got it last.
#[test]
fn a_session_is_shared_up_to_the_size_of_a_record() {
    let team = Team::new();
    let folder = team.ada.shop.to_str().unwrap();
    let line = "a walrus and a penguin meet at the north pole ";
    let large = line.repeat((2 << 20) / line.len());
    let write = |prompts: usize| {
        let mut session =
            Session::new("00000003-0000-4000-8000-000000000099", folder, "2026-03-03T10:00:00Z");
        session.prompt("The size of a walrus").reply(&["Understood."]);
        for _ in 0..prompts {
            session.prompt(&large);
        }
        team.ada.home.add(&session);
    };
    write(33);
    let refused = team.ada.refused("sync share 00000003 --team core --yes");
    assert!(refused.contains("at most 64 MB are shared"), "{refused}");
    assert_eq!(team.ada.run("sync status --team core").get("shared"), None);
    write(0);
    team.ada.run("sync share 00000003 --team core --yes");
    team.rounds();
    assert_eq!(team.bob.run("sync status --team core")["offered"][0]["messages"], 2);
    write(33);
    let round = team.ada.run("sync now");
    assert_eq!((&round["too_large"], &round["sent"]), (&json!(1), &json!(0)), "{round}");
    team.bob.run("sync now");
    assert_eq!(team.bob.run("sync status --team core")["offered"][0]["messages"], 2);
}

/// The commands of the guide, as it has them: each must be in it.
fn follow_guide(url: &str, variables: &[(String, String)]) {
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/team.md")).unwrap();
    let (ada, bob) = (Person::new("ada"), Person::new("bob"));
    let type_line = |person: &Person, line: &str, values: &[(&str, &str)]| {
        assert!(guide.lines().any(|written| written.trim() == line), "the guide does not have `{line}`");
        let mut typed = line.replace("/mnt/team/loci", url);
        typed = values.iter().fold(typed, |typed, (name, value)| typed.replace(name, value));
        // A person would answer the question, and see the phrase.
        let confirmed = match line {
            _ if line.contains(" share ") => " --yes",
            _ if line.contains(" init ") => " --show-phrase",
            _ => "",
        };
        let words =
            testutil::split_words(&format!("{}{confirmed} -o text", typed.strip_prefix("loci ").unwrap()));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run_with(&person.home, variables, &words).expect(0).text().to_string()
    };
    let word_after = |text: &str, label: &str| {
        text.split(label).nth(1).unwrap().split_whitespace().next().unwrap().to_string()
    };
    let fact = ada.add_fact(RULE);
    let session = ada.add_session(1, "Draw the walrus labels");
    assert!(
        type_line(&ada, "loci sync init /mnt/team/loci --team core --label ada", &[])
            .contains("Recovery phrase")
    );
    let asked = type_line(&bob, "loci sync join /mnt/team/loci --team core --label bob", &[]);
    let admitted = type_line(
        &ada,
        "loci sync admit REQUEST --team core",
        &[("REQUEST", &word_after(&asked, "Request: "))],
    );
    let invitation = word_after(&admitted, "Invitation: ");
    type_line(&bob, "loci sync join /mnt/team/loci INVITATION --team core", &[("INVITATION", &invitation)]);
    let shown = type_line(&ada, "loci sync share FACT --team core", &[("FACT", &fact)]);
    assert!(shown.contains(RULE) && shown.contains("example.org/zoo/shop"), "{shown}");
    let shown = type_line(&ada, "loci sync share SESSION --team core", &[("SESSION", &session)]);
    assert!(
        shown.contains("Draw the walrus labels") && shown.contains("2 messages, 0 tool calls"),
        "{shown}"
    );
    assert!(type_line(&ada, "loci sync preview --team core", &[]).contains("2 items"));
    assert!(type_line(&ada, "loci sync now", &[]).starts_with("sent 2 records"));
    assert!(type_line(&bob, "loci sync now", &[]).contains("1 fact to review"));
    let review = type_line(&bob, "loci memory list --state review", &[]);
    assert!(review.contains(RULE) && review.contains("from ada"), "{review}");
    let suggested = review.split_whitespace().next().unwrap().to_string();
    type_line(&bob, "loci memory accept FACT", &[("FACT", &suggested)]);
    assert!(type_line(&bob, "loci sync status --team core", &[]).contains("from ada"));
    type_line(&bob, "loci sync take SESSION --team core", &[("SESSION", &session)]);
    assert!(type_line(&bob, "loci search the walrus labels", &[]).contains("on ada"));
    type_line(&ada, "loci sync unshare FACT --team core", &[("FACT", &fact)]);
    type_line(&ada, "loci sync now", &[]);
    assert!(type_line(&bob, "loci sync now", &[]).contains("withdrawn by its author, and still yours"));
    assert!(!type_line(&ada, "loci sync remove bob --team core", &[]).contains("  bob "));
}
