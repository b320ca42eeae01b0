//! The page that package registries show: what Loci is, how to start it, and where to read on.
//!
//! Does not know the README of the repository, whose links are relative.

use super::names;

/// `start` is a command that works once the package is installed.
pub(crate) fn text(package: &str, start: &str) -> String {
    let (summary, repository, registry) = (names::SUMMARY, names::REPOSITORY, names::MCP_REGISTRY);
    format!(
        "# {package}\n\n\
        {summary}.\n\n\
        Loci reads the transcripts that Claude Code, Codex, Gemini CLI, OpenCode and other agents keep on disk. It searches every\n\
        session, reports what failed, what was decided and what it cost, and gives all of it to your agents over MCP. It needs no\n\
        background process, and sends nothing off the machine unless you configure a model or synchronise your machines.\n\n\
        \x20   {start}\n\
        \x20   loci search \"flaky upload test\"    # search all sessions of all agents\n\
        \x20   loci setup                         # connect your agents; `loci setup --remove` restores their files\n\n\
        Documentation, source and licences (MIT or Apache-2.0): {repository}\n\n\
        <!-- mcp-name: {registry} -->\n"
    )
}
