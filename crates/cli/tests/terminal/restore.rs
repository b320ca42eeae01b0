//! The terminal is given back as it was, however the browser ends; without one, an error says what to type.

use crate::WIDE;
use std::process::{Command, Stdio};
use std::time::Duration;
use testutil::{Home, Screen, run_loci, sample_home};

/// Runs the browser inside a shell that prints the settings of the terminal before and after.
fn open_in_shell(home: &Home, command: &str) -> Screen {
    let script = format!("stty -g; {command}; echo \"exit $?\"; stty -g; echo finished; read line");
    Screen::spawn("sh", &["-c", &script], home.path(), WIDE, &[])
}

/// Checks that the terminal is as before; returns the text of the screen.
#[track_caller]
fn check_restored(screen: &Screen) -> String {
    let text = screen.wait_for("finished");
    let settings: Vec<&str> = text.lines().filter(|line| line.matches(':').count() > 20).collect();
    assert_eq!(settings.len(), 2, "{text}");
    assert_eq!(settings[0], settings[1], "raw mode was left");
    screen.inspect(|screen| {
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste(), "{text}");
        assert_eq!(format!("{:?}", screen.mouse_protocol_mode()), "None");
    });
    text
}

fn browser_pid(screen: &Screen) -> String {
    let children = format!("/proc/{0}/task/{0}/children", screen.pid());
    for _ in 0..6000 {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        if let Some(pid) = text.split_whitespace().next() {
            return pid.to_string();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the browser did not start");
}

#[test]
fn quitting_and_ctrl_c_restore_the_terminal() {
    for keys in ["\tq", "\x03"] {
        let home = sample_home();
        let screen = open_in_shell(&home, &format!("{} ui", testutil::binary()));
        screen.wait_for("4 sessions");
        assert!(screen.inspect(|screen| screen.alternate_screen()));
        screen.send(keys);
        assert!(check_restored(&screen).contains("exit 0"));
    }
}

#[test]
fn signals_restore_the_terminal() {
    for signal in ["TERM", "HUP", "INT"] {
        let home = sample_home();
        let screen = open_in_shell(&home, &format!("{} ui", testutil::binary()));
        screen.wait_for("4 sessions");
        let pid = browser_pid(&screen);
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert!(check_restored(&screen).contains("exit 143"), "{signal}");
    }
}

#[test]
fn a_panic_restores_the_terminal_and_shows_its_message() {
    let home = Home::new();
    let example = std::path::Path::new(testutil::binary()).with_file_name("examples").join("tui_panic");
    assert!(example.is_file(), "{} is built with the tests of the workspace", example.display());
    let screen = open_in_shell(&home, example.to_str().unwrap());
    let text = check_restored(&screen);
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    assert!(raw.contains("\x1b[?1049h"), "the browser was open");
    assert!(text.contains("panicked") && text.contains("on purpose") && text.contains("exit 101"), "{text}");
}

#[test]
fn in_a_pipe_an_error_says_what_to_type() {
    let home = sample_home();
    for command in [&["ui"][..], &["pick"]] {
        let mut run = testutil::command(home.path(), command);
        // Without a controlling terminal, as in a job of cron.
        let args: Vec<String> = run.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        run = Command::new("setsid");
        testutil::set_environment(&mut run, home.path());
        run.args(["--wait", testutil::binary()]).args(args).stdin(Stdio::null());
        let done = testutil::run_command(run).expect(1);
        assert!(
            done.stderr.contains("terminal") && done.stderr.contains("hint: loci search"),
            "{}",
            done.stderr
        );
        assert!(!done.stderr.contains('\x1b') && !done.stdout.contains(&0x1b), "no control sequences");
    }
}

#[test]
fn loci_alone_opens_the_browser_only_with_a_history_and_a_terminal() {
    let home = sample_home();
    let screen = Screen::open(home.path(), &[], WIDE, &[]);
    screen.wait_for("4 sessions");
    assert!(screen.inspect(|screen| screen.alternate_screen()));

    let empty = Home::new();
    let mut screen = Screen::open(empty.path(), &[], (100, 120), &[]);
    screen.wait_for("Usage: loci COMMAND");
    assert_eq!(screen.wait_for_exit(), Some(1));
    assert!(!screen.inspect(|screen| screen.alternate_screen()));

    let piped = run_loci(&home, &[]).expect(1);
    assert!(piped.stderr.contains("Usage: loci COMMAND") || piped.text().contains("Usage"), "{piped:?}");
}
