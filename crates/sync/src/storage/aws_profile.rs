//! Reads a key and a region from the files of the AWS tools, `~/.aws/credentials` and `~/.aws/config`.
//!
//! Does not know single sign-on and assumed roles: a `credential_process` does, whose command is passed on.

use std::path::{Path, PathBuf};

type Variables = Vec<(String, String)>;

/// The command that gives out a key.
pub(super) const PROCESS: &str = "credential_process";

/// The settings of a profile that become variables.
const SETTINGS: [(&str, &str); 5] = [
    (PROCESS, PROCESS),
    ("aws_access_key_id", "aws_access_key_id"),
    ("aws_secret_access_key", "aws_secret_access_key"),
    ("aws_session_token", "aws_session_token"),
    ("region", "aws_region"),
];

/// What the files add to variables in lower case: nothing that is set already, and no key if there is one.
pub(super) fn load_profile(variables: &[(String, String)]) -> Variables {
    let find =
        |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let profile = find("aws_profile").unwrap_or("default");
    let file = |variable: &str, name: &str| -> Option<PathBuf> {
        find(variable).map(PathBuf::from).or_else(|| Some(Path::new(find("home")?).join(".aws").join(name)))
    };
    let read =
        |path: Option<PathBuf>| path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let mut found = read_section(&read(file("aws_shared_credentials_file", "credentials")), &[profile]);
    let section = format!("profile {profile}");
    found.extend(read_section(&read(file("aws_config_file", "config")), &[profile, &section]));
    let has_key = find("aws_access_key_id").is_some();
    let is_new = |name: &str| find(name).is_none() && (name == "aws_region" || !has_key);
    found.into_iter().filter(|(name, _)| is_new(name)).collect()
}

/// The known settings of the sections with one of these names.
fn read_section(text: &str, names: &[&str]) -> Variables {
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_inside = names.contains(&section.trim());
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_inside) {
            let known = SETTINGS.iter().find(|(setting, _)| *setting == name.trim());
            found.extend(known.map(|(_, variable)| ((*variable).to_owned(), value.trim().to_owned())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_profile_fills_in_what_is_not_set() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().join(".aws");
        std::fs::create_dir(&folder).unwrap();
        let keys =
            "[default]\naws_access_key_id = A\naws_secret_access_key=B=\n[team]\naws_access_key_id = C\n";
        std::fs::write(folder.join("credentials"), keys).unwrap();
        std::fs::write(
            folder.join("config"),
            "[default]\nregion = x\noutput = json\n[profile team]\nregion = y\n",
        )
        .unwrap();
        let home = tmp.path().to_str().unwrap();
        let all = [("aws_access_key_id", "A"), ("aws_secret_access_key", "B="), ("aws_region", "x")];
        assert_eq!(load_profile(&variables(&[("home", home)])), variables(&all));
        let team = [("aws_access_key_id", "C"), ("aws_region", "y")];
        assert_eq!(load_profile(&variables(&[("home", home), ("aws_profile", "team")])), variables(&team));
        let set = [("home", home), ("aws_access_key_id", "mine"), ("aws_region", "z")];
        assert_eq!(load_profile(&variables(&set)), []);
        assert_eq!(load_profile(&[]), []);
    }
}
