//! `loci pick` and `loci shell-init`.

use crate::WIDE;
use testutil::{Home, Screen, can_run, run_loci, sample_home};

/// Runs a shell line on a terminal with the binary on its path.
fn open_shell(home: &Home, line: &str) -> Screen {
    open_sized_shell(home, line, WIDE)
}

fn open_sized_shell(home: &Home, line: &str, size: (u16, u16)) -> Screen {
    let folder = std::path::Path::new(testutil::binary()).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    Screen::spawn("sh", &["-c", line], home.path(), size, &[("PATH", &path)])
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

fn uses_whole_terminal(screen: &Screen) -> bool {
    String::from_utf8_lossy(&screen.raw()).contains("\x1b[?1049h")
}

#[test]
fn what_is_above_stays_visible_and_nothing_is_left_below() {
    let home = sample_home();
    for lines_before in [1, 100] {
        let line = format!("seq -f 'above %g' {lines_before}; loci pick; echo after; read line");
        let screen = open_shell(&home, &line);
        let shown = screen.wait_for("4 sessions");
        let last = format!("above {lines_before}\n");
        assert!(shown.contains(&last) && shown.contains("Choose a session"), "{shown}");
        assert!(shown.find(&last) < shown.find("Choose a session"), "{shown}");
        screen.send("\r");
        let left = screen.wait_for("after");
        let expected = format!("{last}cccc1111-0000-4000-8000-000000000004\nafter");
        assert!(left.trim_end().ends_with(&expected), "{left}");
        assert!(!uses_whole_terminal(&screen));
    }
}

#[test]
fn the_lines_below_the_prompt_follow_a_resize() {
    let home = sample_home();
    let screen = open_shell(&home, "echo above; loci pick; echo after; read line");
    screen.wait_for("4 sessions");
    screen.resize(90, 30);
    // Keys that arrive together with the signal are read with the next key.
    screen.wait_until("the new width", |text| text.contains(&"─".repeat(90)));
    screen.send("socket");
    let shown = screen.wait_for("1 session ");
    assert!(shown.contains("above") && shown.matches("Choose a session").count() == 1, "{shown}");
    screen.send("\r");
    let left = screen.wait_for("after");
    assert!(!left.contains("Choose a session") && left.contains("above\naaaa1111"), "{left}");
}

#[test]
fn a_low_terminal_is_used_as_a_whole() {
    let home = sample_home();
    let screen = open_sized_shell(&home, "loci pick; read line", (80, 18));
    screen.wait_for("4 sessions");
    assert!(uses_whole_terminal(&screen));
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

#[track_caller]
fn check_script(shell: &str) {
    let home = Home::new();
    let script = run_loci(&home, &["shell-init", shell]).expect(0);
    let path = testutil::write_file(&home.path().join(shell), script.text().as_bytes());
    assert!(script.text().contains("loci pick --command"), "{shell}");
    assert!(can_run(shell, &["-n", path.to_str().unwrap()]), "{shell} rejects its script");
}

#[test]
fn bash_accepts_its_script() {
    check_script("bash");
    run_loci(&Home::new(), &["shell-init", "tcsh"]).expect(1);
}

#[test]
#[ignore = "needs shells: see CONTRIBUTING.md"]
fn zsh_and_fish_accept_their_scripts() {
    check_script("zsh");
    check_script("fish");
}

/// Types a word and Alt-G at the prompt of a shell, and chooses the session that was found.
fn press_key(screen: &Screen) {
    screen.wait_for("prompt>");
    screen.send("codex\x1bg");
    screen.wait_for("Codex, list the files");
    screen.send("\r");
    screen.wait_for("prompt> codex resume cccc1111-0000-4000-8000-000000000004");
}

#[test]
fn the_key_of_bash_puts_the_command_on_the_command_line() {
    let home = sample_home();
    testutil::write_file(&home.path().join(".bashrc"), b"PS1='prompt> '\neval \"$(loci shell-init bash)\"\n");
    let screen = open_shell(&home, "exec bash -i");
    press_key(&screen);
}

#[test]
#[ignore = "needs shells: see CONTRIBUTING.md"]
fn the_key_of_zsh_puts_the_command_on_the_command_line() {
    let home = sample_home();
    testutil::write_file(&home.path().join(".zshrc"), b"PS1='prompt> '\neval \"$(loci shell-init zsh)\"\n");
    press_key(&open_shell(&home, "exec zsh -i"));
}
