//! Conventions of all commands: help, invalid arguments, exit codes, confirmation and output formats.

use api::OPERATIONS;
use testutil::{run_line, run_loci, sample_home, split_words};

#[test]
fn every_operation_has_help_with_its_example() {
    let home = sample_home();
    let all = run_loci(&home, &["--help"]).expect(0);
    for operation in OPERATIONS {
        let words: Vec<&str> = operation.command.split(' ').collect();
        assert!(all.text().contains(&format!("\n  {} ", words[0])), "{}", operation.command);
        let help = run_loci(&home, &[&words[..], &["--help"]].concat()).expect(0);
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
fn invalid_arguments_are_reported_as_a_record_and_on_stderr() {
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
        let output = run_line(&home, line).expect(1);
        let record = &output.records()[0];
        assert_eq!(record["code"], "INVALID_ARGUMENT", "{line}: {record}");
        assert!(!output.stderr.is_empty(), "{line}");
    }
}

#[test]
fn forget_requires_confirmation() {
    let home = sample_home();
    let output = run_line(&home, "forget aaaa1111").expect(1);
    let record = &output.records()[0];
    assert_eq!(record["code"], "INVALID_ARGUMENT");
    assert_eq!(record["hints"][0], "loci forget aaaa1111 --dry-run");
    assert_eq!(record["hints"][1], "loci forget aaaa1111 --yes");
}

#[test]
fn text_mode_prints_errors_only_on_stderr() {
    let home = sample_home();
    let output = run_line(&home, "show zzzz -o text").expect(1);
    assert!(output.stdout.is_empty());
    assert!(output.stderr.contains("error: no session matches the ID prefix `zzzz`"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: "), "{}", output.stderr);
}

#[test]
fn every_way_to_request_json_prints_the_same() {
    let home = sample_home();
    let plain = run_line(&home, "show cccc").expect(0).stdout;
    for line in ["show cccc --json", "show cccc -o json", "show --output=json cccc", "show --chat-ids cccc"] {
        assert_eq!(run_line(&home, line).expect(0).stdout, plain, "{line}");
    }
    assert_eq!(split_words("a 'b c'"), ["a", "b c"]);
}
