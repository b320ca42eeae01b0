//! Finds secrets by the command, statement or sentence around them: `mysql -pX`, `IDENTIFIED BY 'X'`, `密码是 X`.
//!
//! Does not know formats of vendors (`rules`) nor assignments to names (`assignment`). A row says where a secret stands;
//! `plausible` decides whether the text there is one.

use crate::plausible;
use Shape::{Any, Groups, Mixed, Printed, Random, Setting};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// What the text in the place of the secret must look like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// The place alone is proof enough: anything but a placeholder or code.
    Any,
    /// A password that a person chose: not a word, nor code.
    Setting,
    /// A random value.
    Random,
    /// A random value of letters, digits and signs, which may begin like code.
    Mixed,
    /// A random value that is no digest: letters of both cases and digits.
    Printed,
    /// Groups of letters and digits.
    Groups,
}

struct Context {
    kind: &'static str,
    /// One of these is in the text, in any case.
    words: &'static [&'static str],
    /// Every group is a place for the secret; the first that takes part counts.
    pattern: &'static str,
    shape: Shape,
}

const fn row(
    kind: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
    shape: Shape,
) -> Context {
    Context { kind, words, pattern, shape }
}

#[rustfmt::skip] // one row per line, so that the table can be checked by eye
#[allow(clippy::needless_raw_string_hashes)] // the same quotes in every row: half of them contain a quotation mark
const CONTEXTS: &[Context] = &[
    // Sentences.
    row("password", &["密码", "密碼", "口令", "パスワード", "パスは", "暗証番号", "비밀번호", "암호는"], r#"(?:密码|密碼|口令|パスワード|パス|暗証番号|비밀번호|암호)[^\n!-~]{0,12}?(?:是|为|為|は|는|은|[:：=]|改成|设为|「|“)[\s:：=「『“"'`]*([!-~]{4,})"#, Any),
    row("pin", &["pin ", "pin:"], r#"(?i)\bpin\b[^\n\d]{0,30}?(?:\bis|:|=)\s?(\d{4,10})\b"#, Any),
    row("seed-phrase", &["phrase", "mnemonic", "seed words", "助记词"], r#"(?i)(?:recovery phrase|seed phrase|secret phrase|mnemonic|seed words|助记词)[^\n]{0,30}?[\s:：=]["'「]?((?:[a-z]{3,8} ){11,23}[a-z]{3,8})"#, Any),
    row("password", &["assword:\"", "assword: \"", "assword:*", "*assword"], r#"assword[^\n]{0,24}\n\s*send\s+(?:--\s+)?"([^"\\\n]{4,})\\[rn]"#, Any),
    row("password", &["ugfzc3dvcmq6"], r#"UGFzc3dvcmQ6\r?\n(?:C: |> )?([A-Za-z0-9+/=]{6,})"#, Any),
    row("password", &["oracle:thin:"], r#"oracle:thin:[\w-]+/([^\s@"'/]{4,})@"#, Any),
    row("recovery-code", &["backup code"], r#"(?i)backup codes?[^\n:]{0,20}:\s?((?:[A-Z0-9]{4,6}[- ,]{1,2}){2,}[A-Z0-9]{4,6})"#, Any),
    row("totp-seed", &["enter this key", "enter this code", "manual entry", "setup key"], r#"(?i)(?:enter this (?:key|code)|manual entry|setup key)[^\n:]{0,20}:\s?((?:[a-z2-7]{4} ?){4,16})"#, Any),

    // SQL.
    row("password", &["identified"], r#"(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?(?:N?'([^'\n]{4,})'|"([^"\n]{4,})"|([^\s'";,()]{6,}))"#, Any),

    // Commands.
    row("password", &["redis-cli", "ipmitool", "ldapsearch", "ldapmodify", "ldapadd", "snmp", "htpasswd", "sqlcmd", "mongosh", "mongo ", "docker login", "helm registry", "twine upload", "smbclient"], r#"\b(?:redis-cli\b[^\n|;]*?\s(?:-a|--pass)|ipmitool\b[^\n|;]*?\s-P|ldap(?:search|modify|add)\b[^\n|;]*?\s-w|snmp(?:walk|get|set|bulkwalk)\b[^\n|;]*?\s-c|sqlcmd\b[^\n|;]*?\s-P|mongo(?:sh)?\b[^\n|;]*?\s-p|docker login\b[^\n|;]*?\s-p|helm registry\b[^\n|;]*?\s-p|twine upload\b[^\n|;]*?\s-p|smbclient\b[^\n|;]*?\s-U\s*[^%\s]+%)\s*(?:'([^'\n]{4,})'|"([^"\n]{4,})"|([^\s'"]{4,}))"#, Any),
    row("password", &["rabbitmqctl", "net user", "net use", "schtasks", "psexec"], r#"(?i)(?:rabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+|net user\s+\S+\s+|net use\b[^\n]*?/user:\S+\s+|schtasks\b[^\n]*?/rp\s+|psexec\b[^\n]*?\s-p\s+)(\S{4,})"#, Any),
    row("password", &["chpasswd", "sudo -s", "-stdin", "passwd", "docker login", "registry login", "auth login", "with-token", "secret put", "secret set", "secrets set", "secret create", "luksopen", "insert -e", "passphrase-fd", "-pass stdin", "env add"], r#"(?i)(?:echo|printf)\s+(?:-\w+\s+|'%s(?:\\n)?'\s+|"%s(?:\\n)?"\s+|%s\s+)?(?:"(?:[\w.-]{1,32}:)?([^"\n|]{4,})"|'(?:[\w.-]{1,32}:)?([^'\n|]{4,})'|(?:[\w.-]{1,32}:)?([^\s"':|]{4,}))\s*\|[^|\n]{0,120}?(?:chpasswd|sudo\s+-S|passwd\b|-stdin\b|docker login|registry login|auth login|with-token|secrets? (?:put|set|create)|luksOpen|insert -e|passphrase-fd|-pass stdin|env add)"#, Any),
    row("password", &["-stdin", "with-token", "passphrase-fd", "sudo -s"], r#"(?i)(?:-stdin\b|with-token|passphrase-fd|sudo\s+-S)[^|\n]{0,80}?<<<\s*(?:"([^"\n]{4,})"|'([^'\n]{4,})'|([^\s"']{4,}))"#, Any),
    row("password", &["<(echo", "<(printf", "<( echo", "<( printf", "<(cat <<<"], r#"(?i)[\w-]*(?:pass|secret|token|key|cred|auth)[\w-]*[= ]<\(\s*(?:echo|printf|cat <<<)\s*(?:-\w+\s+|'%s(?:\\n)?'\s+|"%s(?:\\n)?"\s+|%s\s+)?(?:"([^"\n]{4,})"|'([^'\n]{4,})'|([^\s"')]{4,}))"#, Any),
    row("password", &["-auth ", "-auth=", "--creds", "--credentials"], r#"(?i)\s--?(?:basic-|http-|proxy-)?(?:auth|creds|credentials)[ =]["']?[\w.@+-]+:([^\s"'@/]{4,})"#, Any),
    row("token", &["dns cloudflare", "dns digitalocean", "dns hetzner", "dns gandi", "dns duckdns", "dns vultr", "dns linode", "dns porkbun", "dns godaddy", "dns netlify", "dns desec", "dns ovh", "dns namecheap", "dns dnsimple", "dns inwx", "dns ionos", "dns alidns"], r#"(?i)\bdns\s+\w+\s+["']?([A-Za-z0-9_-]{20,})"#, Random),
    row("user-password", &["http -a", "https -a", "lftp", "sqlplus", "--user"], r#"(?:\bhttps?\s+-a\s+[\w.@-]+:|\blftp\s+-u\s+[\w.@-]+,|\bsqlplus\s+(?:-\w+\s+)*[\w-]+/)([^\s@'"]{4,})"#, Any),
    row("password", &["convertto-securestring", "-aspassword"], r#"(?i)ConvertTo-SecureString\s+(?:-String\s+)?['"]([^'"\n]{4,})['"]"#, Any),

    // Configuration lines.
    row("password", &["requirepass", "masterauth", "bindpw", "masteruser"], r#"(?m)^\s*(?:requirepass|masterauth|bindpw|olcRootPW:|rootpw)\s+["']?([^\s"']{4,})"#, Any),
    row("password", &["setuser"], r#"(?i)\bsetuser\s+\S+[^\n]*?\s>(\S{4,})"#, Any),
    row("password", &["community", "enable secret", "enable password", "-server key", "password 7", "password 0", "-value"], r#"(?i)(?:snmp-server community|enable (?:secret|password)(?: \d+)?|(?:tacacs|radius)-server key(?: \d+)?|username \S+ (?:privilege \d+ )?(?:password|secret)(?: \d+)?|password-value)\s+"?([^\s"]{4,})"#, Any),
    row("wifi-psk", &["psk=", "wpa_passphrase", "wifi connect", "wifi:"], r#"(?i)(?:\bpsk="?|wpa_passphrase \S+ |wifi connect [^\n]*? password |WIFI:[^\n]*?P:)["']?([^\s"';][^\n"';]{6,}[^\s"';])"#, Any),
    row("password", &[":5432:", ":3306:", "pgpass", ":*:*:"], r#"(?m)^[\w.*-]+:(?:\d{2,5}|\*):[^:\n]*:[^:\n]*:((?:\\.|[^\s\\:]){4,})\s*$"#, Any),
    row("password", &["@tcp("], r#"[\w.-]+:([^\s:@'"]{4,})@tcp\("#, Any),
    row("secret", &["unseal key"], r#"Unseal Key \d+:\s*([A-Za-z0-9+/=]{40,})"#, Any),
    row("secret", &["openssl rand", "secrets.token", "pwgen", "wg genkey"], r#"(?m)(?:openssl rand|secrets\.token_\w+|pwgen|wg genkey)[^\n]*\n(\S{16,})$"#, Random),

    // Assignments of a password, which a person may have chosen.
    row("password", &["password=", "pwd="], r#"(?i)(?:[;?&]|\()\s*(?:password|pwd)=([^;&\s"')]{4,})"#, Setting),

    // Code.
    row("password", &["getconnection(", "mysqli_connect(", "mysqli(", "mysql_real_connect(", "->connect(", ".login(", "pdo("], r#"(?:getConnection\(\s*"[^"\n]*"\s*,\s*"[^"\n]*"|mysqli(?:_connect)?\(\s*["'][^"'\n]*["']\s*,\s*["'][^"'\n]*["']|mysql_real_connect\(\s*\w+\s*,\s*"[^"\n]*"\s*,\s*"[^"\n]*"|->connect\(\s*["'][^"'\n]*["']\s*,\s*["'][^"'\n]*["']|\bPDO\(\s*["'][^"'\n]*["']\s*,\s*["'][^"'\n]*["']|\.login\(\s*["'][^"'\n]*@?[^"'\n]*["'])\s*,\s*["']([^"'\n]{4,})["']"#, Any),
    row("secret", &["fernet(", "sessionsecret", "cookieparser("], r#"(?:Fernet\(\s*b?|cookieParser\(\s*)["']([^"'\n]{8,})["']"#, Any),
    row("api-key", &["akia", "asia"], r#"A[KS]IA[A-Z0-9]{16}["',\s:/|]{1,6}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#, Random),

    row("private-key", &["accounts", "wallet(", "private-key", "privatekey"], r#"(?i)(?:accounts["']?\s*[:=]\s*\[\s*|wallet\(\s*|--private-key[ =]|private_?key["']?\s*[:=]\s*)["'`]?(0x[0-9a-f]{64})\b"#, Random),
    row("secret", &["provider :"], r#"provider\s+:\w+,\s*['"][^'"\n]+['"],\s*['"]([^'"\n]{8,})['"]"#, Any),
    row("secret", &["random_password", "random_bytes"], r#"random_(?:password|bytes)"[^{}]{0,200}?\{[\s\S]{0,240}?"(?:result|base64|hex)":\s*"([^"\n]{4,})""#, Any),
    row("django-secret-key", &["secret_key"], r#"(?i)secret_key["']?\s*(?:[=:]|,\s*default=)\s*[rbu]?(?:"([!#-~]{40,80})"|'([!-&(-~]{40,80})')"#, Mixed),

    // What a command prints that is asked for a key, on a line of its own.
    row("password", &["pass show", "op read", "bw get", "lpass show", "gopass show", "keyring get", "find-generic-password", "secret-tool lookup", "chamber read"], r#"(?m)(?:pass show|op read|bw get password|lpass show|keyring get|find-generic-password|secret-tool lookup|chamber read)\b[^\n]*\n(\S{8,})$"#, Setting),
    row("secret", &["keys list", "key list", "get-secret", "secret get", "secrets get", "secret show", "access-token", "get-token", "auth token", "whoami -t", "secrets access", "login-password", "base64 -d", "base64 --decode", "output -raw", "token create", "token new", "jq -r", "-o tsv", "--value-only"], r#"(?mi)^[^\n]{0,160}?(?:key|token|secret|password|passwd|credential)[^\n]{0,160}\n([A-Za-z0-9+/=_.~-]{20,})$"#, Printed),

    // Dumps of accounts: name, number and two hashes.
    row("password-hash", &[":::"], r#"(?m)^[^\s:]{1,64}:\d{1,10}:(?:[0-9a-fA-F]{32}|\*|NO PASSWORD\**):([0-9a-fA-F]{32}):::"#, Random),
    row("password-hash", &[":::"], r#"(?m)^[^\s:]{1,64}:\d{1,10}:([0-9a-fA-F]{32}):[0-9a-fA-F]{32}:::"#, Random),

    // Cookies and addresses.
    row("session-cookie", &["samlresponse=", "assertion="], r#"(?i)(?:samlresponse|client_assertion|assertion)=([A-Za-z0-9%+/=_.-]{80,})"#, Any),
    row("byte-key", &["id.json", "keypair"], r#"\[((?:\d{1,3},\s?){63}\d{1,3})\]"#, Any),
    row("license-key", &["product key", "licence key", "license key", "serial number", "serial key", "serial:", "activation key", "activation code", "produktschl", "lizenzschl", "cd key", "cd-key", "clé de produit", "clave de producto", "license:", "licence:", "lizenz:", "windows key"], r#"(?i)(?:product key|windows key|licen[cs]e(?: key)?|lizenz|serial(?: number| key)?|activation (?:key|code)|produktschlüssel|lizenzschlüssel|cd[ -]key|clé de produit|clave de producto)[^\n]{0,40}?[\s:=“"„]((?:[A-Z0-9]{5}-){3,5}[A-Z0-9]{5}|(?:[A-Z0-9]{4}-){3,7}[A-Z0-9]{4})\b"#, Groups),
    row("session-cookie", &["sessid", "sessionid=", "session_id=", "session_token", "session-token", "session=", "_session", "csrf", "connect.sid", "li_at", "_auth", "auth_session"], r#"(?i)(?:sessionid|\w*sessid|jsessionid|[\w.-]*session[_-]?(?:id|token)?|[\w.-]*csrf[_-]?token|connect\.sid|li_at|\w*_auth|auth_session)(?:\s?=\s?|\t|['"]\s*,\s*value:\s*['"])["']?([A-Za-z0-9%._~+/-]{16,})"#, Random),
    row("signed-url", &["signature="], r#"(?i)\bsignature=([A-Za-z0-9%+/=_-]{20,})"#, Any),
    row("oauth-code", &["code=", "appid="], r#"(?i)[?&](?:code|device_code|appid|auth_code)=([A-Za-z0-9_%./~-]{16,})"#, Random),
    row("webhook", &["webhook/send?key=", "incomingwebhook/", "oapi.dingtalk", "open.feishu"], r#"(?i)(?:webhook/send\?key=|access_token=|bot/v2/hook/|webhook(?:b2)?/[0-9a-f-]{36}@[0-9a-f-]{36}/)((?:IncomingWebhook/)?[0-9A-Za-z/-]{32,})"#, Any),
    row("stream-key", &["rtmp://", "rtmps://"], r#"rtmps?://[^\s/]+/\w+/(?:live_)?([\w-]{16,})"#, Random),

    // Hashes of passwords, and keys with a prefix.
    row("password-hash", &["$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$y$", "$argon2", "$apr1$", "$pbkdf2"], r#"(\$(?:2[aby]\$\d\d\$[A-Za-z0-9./]{53}|(?:1|apr1)\$[^$\s]{1,16}\$[A-Za-z0-9./]{20,}|[56]\$(?:rounds=\d+\$)?[^$\s]{1,16}\$[A-Za-z0-9./]{43,}|y\$[^\s:"\x27]{20,}|argon2(?:id|i|d)\$[^\s"']{40,}|pbkdf2[^\s"']{30,}))"#, Any),
    row("artifactory-key", &["akcp8"], r#"\b(AKCp8[A-Za-z0-9]{60,})"#, Any),
    row("honeycomb-key", &["hcaik_", "hcbik_"], r#"\b(hc[ab]ik_[a-z0-9]{50,})"#, Any),
    row("yandex-token", &["y0_a"], r#"\b(y0_[\w-]{40,})"#, Any),
    row("extended-private-key", &["xprv", "tprv"], r#"\b([xt]prv[A-Za-z0-9]{100,})"#, Any),
    row("planetscale-token", &["pscale_pw_"], r#"(pscale_pw_[\w.=-]{32,})"#, Any),
    row("discord-token", &[".login("], r#"\.login\(["']([MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,})["']"#, Any),
    row("minisign-key", &["minisign encrypted", "secret key\n"], r#"secret key\n([A-Za-z0-9+/=]{60,})"#, Any),
    row("byte-key", &["secret:", "keypair", "secretkey"], r#"(?i)secret\w*["']?\s?[:=]\s?\[((?:\d{1,3},\s?){31,}\d{1,3})\]"#, Any),
];

/// A keyword is tried once in a block of this many bytes; the window around it covers the others.
pub(crate) const BLOCK: usize = 128;

/// The text before and after a keyword in which its pattern is tried: a command line, or a few lines of a file.
const BEFORE: usize = 160;
const AFTER: usize = 320 + BLOCK;

static PATTERNS: LazyLock<Vec<OnceLock<Option<Regex>>>> =
    LazyLock::new(|| CONTEXTS.iter().map(|_| OnceLock::new()).collect());

/// Each row by its number, with its keywords.
pub(crate) fn keywords() -> impl Iterator<Item = (&'static str, usize)> {
    CONTEXTS.iter().enumerate().flat_map(|(at, row)| row.words.iter().map(move |word| (*word, at)))
}

/// The secrets that the row finds around its keyword.
pub(crate) fn find_secrets(text: &str, word: &Range<usize>, row: usize) -> Vec<(Range<usize>, &'static str)> {
    let Some(pattern) = compiled_pattern(row) else { return Vec::new() };
    let from = text.floor_char_boundary(word.start.saturating_sub(BEFORE));
    let to = text.floor_char_boundary((word.end + AFTER).min(text.len()));
    let mut found = Vec::new();
    for hit in pattern.captures_iter(&text.as_bytes()[from..to]) {
        let Some(secret) = hit.iter().skip(1).flatten().next() else { continue };
        // A pattern counts bytes, and may end within a character.
        let start = text.floor_char_boundary(from + secret.start());
        let value = trim_value(&text[start..text.ceil_char_boundary(from + secret.end())]);
        if has_shape(value, CONTEXTS[row].shape) {
            found.push((start..start + value.len(), CONTEXTS[row].kind));
        }
    }
    found
}

fn compiled_pattern(row: usize) -> Option<&'static Regex> {
    // Over bytes where possible: with Unicode classes, compiling all rows took half a second instead of a few
    // milliseconds. A test compiles every row, so none is silently lost here.
    let pattern = CONTEXTS[row].pattern;
    let compile = || RegexBuilder::new(pattern).unicode(!pattern.is_ascii()).build().ok();
    PATTERNS[row].get_or_init(compile).as_ref()
}

/// Without the punctuation of a sentence or a command after it.
fn trim_value(value: &str) -> &str {
    value.trim_end_matches([',', '.', ';', ':', ')', ']', '}', '\'', '"', '`'])
}

fn has_shape(value: &str, shape: Shape) -> bool {
    if shape == Mixed {
        let has = |is_meant: fn(&u8) -> bool| value.bytes().filter(is_meant).count() >= 3;
        let is_varied =
            has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && has(u8::is_ascii_punctuation);
        return is_varied
            && !value.contains("${")
            && !value.contains("{{")
            && !plausible::is_placeholder(value);
    }
    if value.len() < 4 || !plausible::is_literal_text(value) {
        return false;
    }
    match shape {
        Any => true,
        Setting => plausible::is_typed_password(value) && !plausible::reads_like_code(value),
        Random => plausible::is_random_value(value),
        Printed => plausible::is_random_value(value) && is_of_both_cases(value),
        Groups => {
            value.bytes().any(|byte| byte.is_ascii_digit())
                && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        }
        Mixed => false, // answered above
    }
}

fn is_of_both_cases(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_lowercase()) && value.bytes().any(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_every_keyword_is_long_enough() {
        for (at, row) in CONTEXTS.iter().enumerate() {
            assert!(compiled_pattern(at).is_some(), "{}", row.pattern);
            assert!(row.words.iter().all(|word| word.len() >= 3), "{:?}", row.words);
        }
    }
}
