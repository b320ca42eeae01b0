//! `loci pick` and `loci shell-init`.

use crate::WIDE;
use testutil::{Home, Screen, can_run, run_loci, sample_home};

/// Runs a shell line on a terminal with the binary on its path.
fn open_shell(home: &Home, line: &str) -> Screen {
    let folder = std::path::Path::new(testutil::binary()).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    Screen::spawn("sh", &["-c", line], home.path(), WIDE, &[("PATH", &path)])
}

#[test]
fn the_chosen_id_is_printed_to_standard_output() {
    let home = sample_home();
    let screen = open_shell(&home, "chosen=$(loci pick); echo \"chosen: $chosen ($?)\"; read line");
    screen.wait_for("4 sessions");
    screen.send("socket");
    screen.wait_for("1 session ");
    screen.send("\r");
    screen.wait_for("chosen: aaaa1111-0000-4000-8000-000000000001 (0)");
}

#[test]
fn words_on_the_command_line_are_searched_and_the_command_is_printed() {
    let home = sample_home();
    let screen = open_shell(&home, "loci pick --command codex list | sed 's/^/line: /'; read line");
    screen.wait_for("search: codex list");
    screen.wait_for("Codex, list the files");
    screen.send("\r");
    screen.wait_for("line: codex resume cccc1111-0000-4000-8000-000000000004");
}

#[test]
fn leaving_without_a_choice_has_the_exit_code_of_nothing_found() {
    let home = sample_home();
    let screen = open_shell(&home, "chosen=$(loci pick); echo \"chosen: [$chosen] ($?)\"; read line");
    screen.wait_for("4 sessions");
    screen.send("\x1b");
    screen.wait_for("q quit");
    screen.send("q");
    screen.wait_for("chosen: [] (2)");
}

#[test]
fn resume_runs_the_agent() {
    let home = sample_home();
    let agent =
        testutil::write_file(&home.path().join("bin/codex"), b"#!/bin/sh\necho \"the agent runs: $*\"\n");
    std::fs::set_permissions(agent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let screen = open_shell(&home, "PATH=$HOME/bin:$PATH; loci pick --resume codex; read line");
    screen.wait_for("Codex, list the files");
    screen.send("\r");
    screen.wait_for("the agent runs: resume cccc1111");
}

#[test]
fn scripts_are_accepted_by_their_shells() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = run_loci(&home, &["shell-init", shell]).expect(0);
        let path = testutil::write_file(&home.path().join(shell), script.text().as_bytes());
        assert!(script.text().contains("loci pick --command"), "{shell}");
        if can_run(shell, &["-c", "exit"]) {
            assert!(can_run(shell, &["-n", path.to_str().unwrap()]), "{shell} rejects its script");
        }
    }
    assert!(can_run("bash", &["-c", "exit"]), "bash is always there");
    run_loci(&home, &["shell-init", "tcsh"]).expect(1);
}

#[test]
fn the_key_of_bash_puts_the_command_on_the_command_line() {
    let home = sample_home();
    testutil::write_file(&home.path().join(".bashrc"), b"PS1='prompt> '\neval \"$(loci shell-init bash)\"\n");
    let screen = open_shell(&home, "exec bash -i");
    screen.wait_for("prompt>");
    screen.send("codex\x1bg");
    screen.wait_for("Codex, list the files");
    screen.send("\r");
    screen.wait_for("codex resume cccc1111-0000-4000-8000-000000000004");
}
