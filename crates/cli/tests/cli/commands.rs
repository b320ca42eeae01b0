//! How the commands behave: help, refusals, exit codes, what is asked before it is done.

use api::OPERATIONS;
use testutil::{run_line, run_loci, sample_home, split_words};

#[test]
fn every_operation_has_help_with_its_example() {
    let home = sample_home();
    let all = run_loci(&home, &["--help"]).expect(0);
    for operation in OPERATIONS {
        let typed: Vec<&str> = operation.command.split(' ').collect();
        assert!(all.text().contains(&format!("\n  {} ", typed[0])), "{}", operation.command);
        let help = run_loci(&home, &[&typed[..], &["--help"]].concat()).expect(0);
        assert!(help.text().contains(operation.example), "{}", help.text());
        for param in operation.params {
            assert!(
                help.text().contains(&format!("--{}", api::params::flag_name(param.name))),
                "{}",
                param.name
            );
        }
    }
}

#[test]
fn what_is_not_understood_is_refused_as_a_record_and_in_words() {
    let home = sample_home();
    for line in [
        "search",
        "search x --tool Bash",
        "search x --time-window soon",
        "search x --role-filter robot",
        "search x --precision-mode exact",
        "search x --limit-chats 0",
        "show",
        "resolve",
        "sessions --since soon",
        "archive --prune-to much",
        "archive --dry-run",
        "forget --dry-run",
        "forget aaaa1111 --project . --dry-run",
        "doctor now",
    ] {
        let ended = run_line(&home, line).expect(1);
        let record = &ended.records()[0];
        assert_eq!(record["code"], "INVALID_ARGUMENT", "{line}: {record}");
        assert!(!ended.stderr.is_empty(), "{line}");
    }
}

#[test]
fn nothing_is_forgotten_unasked() {
    let home = sample_home();
    let ended = run_line(&home, "forget aaaa1111").expect(1);
    let record = &ended.records()[0];
    assert_eq!(record["code"], "INVALID_ARGUMENT");
    assert_eq!(record["hints"][0], "loci forget aaaa1111 --dry-run");
    assert_eq!(record["hints"][1], "loci forget aaaa1111 --yes");
}

#[test]
fn an_error_in_text_is_on_standard_error_alone() {
    let home = sample_home();
    let ended = run_line(&home, "show zzzz -o text").expect(1);
    assert!(ended.stdout.is_empty());
    assert!(ended.stderr.contains("error: no session matches the ID prefix `zzzz`"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: "), "{}", ended.stderr);
}

#[test]
fn json_is_json_however_it_is_asked_for() {
    let home = sample_home();
    let plain = run_line(&home, "show cccc").expect(0).stdout;
    for way in ["show cccc --json", "show cccc -o json", "show --output=json cccc", "show --chat-ids cccc"] {
        assert_eq!(run_line(&home, way).expect(0).stdout, plain, "{way}");
    }
    assert_eq!(split_words("a 'b c'"), ["a", "b c"]);
}
