//! What changed since a commit.
//!
//! Does not know what earlier requests reported: the same tree and commit give the same response.

use super::code_query::{CodeQuery, with_tree};
use super::index::{added_member, type_alias, type_change};
use super::tree::store_error;
use crate::Service;
use api::code::{ChangesFound, CodeChanges, TypeChange};
use api::{Code, Error, Handle, Request};
use code_index::{ChangedType, SinceError};
use config::env;
use std::path::Path;
use std::time::Duration;
use subprocess::{Job, Supervisor};

/// Git answers in milliseconds; a first look at a large cold tree takes seconds.
const GIT_DEADLINE: Duration = Duration::from_mins(2);
/// The old contents of all changed files.
const MAX_GIT_OUTPUT: usize = 256 << 20;

impl Handle<CodeChanges> for Service {
    fn handle(&self, request: &CodeChanges) -> Result<ChangesFound, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let git = |args: &[&str], stdin: Vec<u8>| run_git(self, query.root(), args, stdin);
            let found = query.store().changes_since(&request.since, &request.under, &git).map_err(
                |error| match error {
                    SinceError::Git(_) => Error::new(Code::NotFound, error.to_string())
                        .hint("--since takes a commit, branch or tag of the repository around --root"),
                    SinceError::Store(error) => store_error(&error),
                },
            )?;
            if found.files.is_empty() {
                query.require_folder(&request.under)?;
            }
            if found.unsearched > 0 {
                query.add_note(format!(
                    "users of {} more changed symbols were not searched",
                    found.unsearched
                ));
            }
            Ok(ChangesFound {
                since: found.commit,
                files: found.files,
                changes: found.changes.iter().map(|it| with_places(query, it)).collect(),
                aliases: found.aliases.iter().map(type_alias).collect(),
                dependents: found.dependents.into_iter().map(|(_, name)| query.mask_text(name)).collect(),
                tests: found.tests,
                coverage: query.coverage(),
            })
        })
    }
}

/// A changed type with the places of its name and of its changed members; of an added type, of all its members.
fn with_places(query: &CodeQuery<'_>, changed: &ChangedType) -> TypeChange {
    let mut change = type_change(changed);
    let card = if changed.removed { None } else { query.card_of(changed.id) };
    let Some(card) = card else { return change };
    (change.file, change.line) = query.name_place(&card, None);
    if changed.change.is_none() {
        change.members = card.members.iter().map(added_member).collect();
    }
    for changed in &mut change.members {
        if let Some(member) = card.members.iter().find(|it| it.key == changed.key) {
            (changed.file, changed.line) = query.name_place(&card, Some(member));
        }
    }
    change
}

/// Runs git on the repository around the folder.
pub(crate) fn run_git(
    service: &Service,
    root: &Path,
    args: &[&str],
    stdin: Vec<u8>,
) -> Result<Vec<u8>, String> {
    match Supervisor::new(&service.exe).run(git_job(root, args, stdin)) {
        Ok(finished) if finished.status == 0 => Ok(finished.stdout),
        Ok(finished) => Err(finished.stderr.trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs a git command that ends soon, in a process that ends soon.
pub(crate) fn run_git_briefly(root: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let job = git_job(root, args, Vec::new());
    let output = subprocess::run_briefly(&job.program, &job.args, &job.env, root, MAX_GIT_OUTPUT);
    output.map_err(|error| error.to_string())
}

/// Git without monitors, locks and the network, and with a few variables only: others name another repository while git runs a hook, or
/// hold keys. A repository
/// that was unpacked from an archive brings its configuration with it: no program that it names may run, and `log.showSignature` runs
/// `gpg.program`.
fn git_job(root: &Path, args: &[&str], stdin: Vec<u8>) -> Job<'static> {
    let quiet = ["core.fsmonitor=false", "core.quotePath=false", "log.showSignature=false"];
    let quiet = quiet.iter().flat_map(|setting| ["-c", setting]);
    let mut vars = env::tool_env();
    vars.extend([("GIT_NO_LAZY_FETCH".into(), "1".into()), ("GIT_TERMINAL_PROMPT".into(), "0".into())]);
    Job {
        program: "git".into(),
        args: ["--no-optional-locks"]
            .into_iter()
            .chain(quiet)
            .chain(args.iter().copied())
            .map(Into::into)
            .collect(),
        env: vars,
        cwd: root.to_path_buf(),
        stdin,
        deadline: GIT_DEADLINE,
        stdout_limit: MAX_GIT_OUTPUT,
        cancel: None,
    }
}
