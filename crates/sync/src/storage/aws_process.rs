//! Credentials from a program: `credential_process` of an AWS profile, by which single sign-on, Vault and roles in other accounts give out
//! short-lived keys. The program gets a short environment and a deadline, and what it prints stays in memory.
//!
//! Does not know how the program comes to its answer, and parses no time: an answer counts for a few minutes.

use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// As the AWS tools have it.
const DEADLINE: Duration = Duration::from_mins(1);
const TICK: Duration = Duration::from_millis(20);
/// Such programs renew what is about to expire some minutes before. A daemon must not start one every minute.
const FRESH: Duration = Duration::from_mins(5);
const MOST_OUTPUT: u64 = 64 << 10;

/// Answers of this process, by command.
static ANSWERS: Mutex<BTreeMap<String, (Instant, Arc<AwsCredential>)>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
pub(super) struct ProcessCredentials {
    command: String,
    /// The whole environment of the program.
    variables: Vec<(String, String)>,
}

impl ProcessCredentials {
    /// Of the variables, in lower case, the program gets where things are, the profile and what belongs to it.
    pub(super) fn new(command: String, variables: &[(String, String)]) -> ProcessCredentials {
        let is_given = |name: &str| {
            ["home", "path"].contains(&name) || name.starts_with("aws_") && name != "aws_endpoint"
        };
        let given = variables.iter().filter(|(name, _)| is_given(name));
        let variables = given.map(|(name, value)| (name.to_ascii_uppercase(), value.clone())).collect();
        ProcessCredentials { command, variables }
    }

    fn load(&self) -> Result<Arc<AwsCredential>, String> {
        let mut answers = ANSWERS.lock().map_err(|_| "another thread has panicked".to_owned())?;
        if let Some((at, credential)) = answers.get(&self.command)
            && at.elapsed() < FRESH
        {
            return Ok(Arc::clone(credential));
        }
        let credential = Arc::new(parse_answer(&self.run()?)?);
        answers.insert(self.command.clone(), (Instant::now(), Arc::clone(&credential)));
        Ok(credential)
    }

    fn run(&self) -> Result<Vec<u8>, String> {
        let words = split_words(&self.command);
        let (program, arguments) = words.split_first().ok_or("it names no program")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let (sender, output) = mpsc::channel();
        let pipe = child.stdout.take();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.map(|pipe| pipe.take(MOST_OUTPUT).read_to_end(&mut bytes));
            // Nobody waits any longer if the program was stopped.
            let _ = sender.send(read.map(|read| read.map(|_| bytes)));
        });
        let is_done = wait(&mut child, DEADLINE).map_err(|error| error.to_string())?;
        if !is_done {
            return Err(format!("`{program}` did not end, or failed"));
        }
        match output.recv_timeout(Duration::from_secs(1)) {
            Ok(Some(Ok(bytes))) => Ok(bytes),
            _ => Err(format!("`{program}` has left its output open")),
        }
    }
}

/// Whether the program has ended without an error.
fn wait(child: &mut Child, deadline: Duration) -> std::io::Result<bool> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if began.elapsed() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(TICK);
    }
}

fn parse_answer(bytes: &[u8]) -> Result<AwsCredential, String> {
    let answer: Value = serde_json::from_slice(bytes).map_err(|_| "it did not print JSON".to_owned())?;
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    match (text("AccessKeyId"), text("SecretAccessKey")) {
        (Some(key_id), Some(secret_key)) => {
            Ok(AwsCredential { key_id, secret_key, token: text("SessionToken") })
        }
        _ => Err("it printed no `AccessKeyId` and `SecretAccessKey`".to_owned()),
    }
}

/// Splits a command as the AWS tools do: at blanks outside of quotes. No shell is involved.
fn split_words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

impl CredentialProvider for ProcessCredentials {
    type Credential = AwsCredential;

    fn get_credential<'c, 'f>(
        &'c self,
    ) -> Pin<Box<dyn Future<Output = object_store::Result<Arc<AwsCredential>>> + Send + 'f>>
    where
        'c: 'f,
        Self: 'f,
    {
        let loaded = self.load().map_err(|reason| object_store::Error::Unauthenticated {
            path: String::new(),
            source: format!("credential_process: {reason}").into(),
        });
        Box::pin(std::future::ready(loaded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_at_blanks_outside_of_quotes() {
        let words = split_words(r#"  "/opt/my tool" get --for='a b' "" x"#);
        assert_eq!(words, ["/opt/my tool", "get", "--for=a b", "", "x"]);
    }

    #[test]
    fn an_answer_needs_both_halves_of_a_key() {
        let parse = |text: &str| parse_answer(text.as_bytes());
        let whole =
            parse(r#"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"B","SessionToken":"C"}"#).unwrap();
        assert_eq!(
            (whole.key_id, whole.secret_key, whole.token.as_deref()),
            ("A".into(), "B".into(), Some("C"))
        );
        assert!(parse(r#"{"AccessKeyId":"A"}"#).is_err() && parse("no JSON").is_err());
    }
}
