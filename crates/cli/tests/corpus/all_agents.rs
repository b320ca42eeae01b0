//! A home with the histories of every agent: recorded where there are recordings, made up otherwise.

use std::fs;
use testutil::needs::{recorded_transcripts, shared_folder};
use testutil::{Home, command, copy_folder, made_up_stores, run_command, write_file};

/// Agents whose recordings are in the first corpus, with the version that is used.
const FIRST: [(&str, &str); 4] =
    [("claude-code", "2.1.170"), ("codex", "0.166.0"), ("gemini-cli", "0.61.0"), ("opencode", "1.18.33")];

fn home_with_all() -> Home {
    let home = Home::new();
    for (agent, version) in FIRST {
        copy_folder(&recorded_transcripts().join(agent).join(version), home.path());
    }
    for agent in fs::read_dir(shared_folder().join("corpus/more")).expect("needs corpus") {
        for version in fs::read_dir(agent.unwrap().path()).unwrap() {
            copy_folder(&version.unwrap().path(), home.path());
        }
    }
    for agent in made_up_stores::names() {
        made_up_stores::add(&agent, home.path());
    }
    write_file(&home.path().join(".codeium/windsurf/cascade/a.pb"), b"x");
    write_file(&home.path().join(".config/Trae/ModularData/ai-agent/b"), b"x");
    home
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn the_sources_of_a_home_with_all_agents_read_well() {
    let home = home_with_all();
    let history = home.path().join("work/aider/my.proj_é 1/.aider.chat.history.md");
    let mut sources = command(home.path(), &["sources", "-o", "text"]);
    sources.env("AIDER_CHAT_HISTORY_FILE", &history);
    let printed = run_command(sources);
    let text = printed.text().replace(home.path().to_str().unwrap(), "~");
    insta::assert_snapshot!("sources_of_all_agents", text);
}
