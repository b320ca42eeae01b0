//! Generates secrets and decoys for the tests of this crate and for the end-to-end checks of `loci`.
//!
//! Does not know the rules: formats are written down again here, so that an error in one place shows in the other. The
//! source contains no secret; each is drawn from an alphabet.

use std::fmt::Write;

/// A secret and a text that contains it.
pub struct Specimen {
    pub kind: &'static str,
    /// Whether a vendor gave it a format of its own, so that it must be found without context.
    pub vendor: bool,
    pub wrapping: Wrapping,
    /// The pieces that must not remain: the secret, or the lines of a key.
    pub secret: Vec<String>,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrapping {
    Sentence,
    /// A JSON text inside a string of another JSON text.
    Json,
    Shell,
    /// Lines with line numbers or diff markers.
    Listing,
}

const WRAPPINGS: [Wrapping; 4] = [Wrapping::Sentence, Wrapping::Json, Wrapping::Shell, Wrapping::Listing];

/// Specimens per kind and wrapping.
const PER_WRAPPING: usize = 6;

/// In a shape, `{x12}` is twelve letters of the alphabet `x`: see `alphabet_for`. In a carrier, `§` is the secret; an empty
/// carrier means the secret alone.
struct Shape(&'static str, bool, &'static str, &'static str);

#[rustfmt::skip] // a table
const SHAPES: &[Shape] = &[
    Shape("github-pat", true, "ghp_{A36}", ""),
    Shape("github-fine-grained-pat", true, "github_pat_{A22}_{A59}", ""),
    Shape("github-oauth", true, "gho_{A36}", ""),
    Shape("github-app", true, "ghs_{A36}", ""),
    Shape("gitlab-pat", true, "glpat-{w20}", ""),
    Shape("aws-access-key-id", true, "AKIA{S16}", ""),
    Shape("gcp-api-key", true, "AIza{w35}", ""),
    Shape("google-client-secret", true, "GOCSPX-{w28}", ""),
    Shape("slack-token", true, "xoxb-{d12}-{d12}-{A24}", ""),
    Shape("slack-webhook", true, "T{U9}/B{U9}/{A24}", "https://hooks.slack.com/services/§"),
    Shape("discord-webhook", true, "{d18}/{w68}", "https://discord.com/api/webhooks/§"),
    Shape("stripe-key", true, "sk_live_{A24}", ""),
    Shape("sendgrid-key", true, "SG.{w22}.{w43}", ""),
    Shape("mailgun-key", true, "key-{h32}", ""),
    Shape("mailchimp-key", true, "{h32}-us{d2}", ""),
    Shape("npm-token", true, "npm_{A36}", ""),
    Shape("pypi-token", true, "pypi-AgEI{w80}", ""),
    Shape("crates-io-token", true, "cio{A32}", ""),
    Shape("rubygems-key", true, "rubygems_{h48}", ""),
    Shape("docker-pat", true, "dckr_pat_{w27}", ""),
    Shape("digitalocean-token", true, "dop_v1_{h64}", ""),
    Shape("databricks-token", true, "dapi{h32}", ""),
    Shape("newrelic-key", true, "NRAK-{U27}", ""),
    Shape("grafana-token", true, "glsa_{A32}_{h8}", ""),
    Shape("sentry-token", true, "sntryu_{h64}", ""),
    Shape("linear-key", true, "lin_api_{A40}", ""),
    Shape("notion-token", true, "ntn_{d11}{A35}", ""),
    Shape("figma-token", true, "figd_{w40}", ""),
    Shape("airtable-pat", true, "pat{A14}.{h64}", ""),
    Shape("shopify-token", true, "shpat_{h32}", ""),
    Shape("square-token", true, "sq0atp-{w22}", ""),
    Shape("huggingface-token", true, "hf_{A34}", ""),
    Shape("openai-key", true, "sk-{A48}", ""),
    Shape("openai-project-key", true, "sk-proj-{w74}T3BlbkFJ{w74}", ""),
    Shape("anthropic-key", true, "sk-ant-api03-{w93}AA", ""),
    Shape("openrouter-key", true, "sk-or-v1-{h64}", ""),
    Shape("groq-key", true, "gsk_{A52}", ""),
    Shape("replicate-token", true, "r8_{A37}", ""),
    Shape("perplexity-key", true, "pplx-{A48}", ""),
    Shape("xai-key", true, "xai-{A80}", ""),
    Shape("telegram-token", true, "{e9}:AA{w33}", ""),
    Shape("telegram-token", true, "{e10}:AA{w33}", "https://api.telegram.org/bot§/getMe"),
    Shape("doppler-token", true, "dp.pt.{A43}", ""),
    Shape("vault-token", true, "hvs.{w96}", ""),
    Shape("terraform-token", true, "{A14}.atlasv1.{w67}", ""),
    Shape("pulumi-token", true, "pul-{h40}", ""),
    Shape("age-secret-key", true, "AGE-SECRET-KEY-1{q58}", ""),
    Shape("azure-client-secret", true, "{A3}8Q~{w34}", ""),
    Shape("supabase-token", true, "sbp_{h40}", ""),
    Shape("planetscale-token", true, "pscale_tkn_{w43}", ""),
    Shape("netlify-token", true, "nfp_{A36}", ""),
    Shape("jwt", true, "eyJ{w33}.eyJ{w80}.{w43}", ""),
    Shape("private-key", true, "PEM", ""),
    Shape("pgp-private-key", true, "PGP", ""),
    Shape("azure-sas", false, "{A43}%3D", "https://store.blob.core.windows.net/c?sv=2022-11-02&sr=c&sig=§"),
    Shape("aws-secret-key", false, "{b40}", "AWS_SECRET_ACCESS_KEY=§"),
    Shape("azure-storage-key", false, "{b86}==", "AccountName=store;AccountKey=§;EndpointSuffix=core.windows.net"),
    Shape("heroku-key", false, "{h8}-{h4}-{h4}-{h4}-{h12}", "HEROKU_API_KEY=§"),
    Shape("cloudflare-token", false, "{w40}", "cloudflare_api_token: §"),
    Shape("datadog-key", false, "{h32}", "DD_API_KEY=§"),
    Shape("mistral-key", false, "{A32}", "MISTRAL_API_KEY=§"),
    Shape("cohere-key", false, "{A40}", "the Cohere API key is §"),
    Shape("twilio-auth-token", false, "{h32}", "twilio_auth_token: §"),
    Shape("twilio-key", false, "SK{h32}", "twilio login with §"),
    Shape("discord-token", false, "MT{A22}.{A6}.{w27}", "the discord bot uses §"),
    Shape("url-password", false, "{A16}", "postgres://app:§@db.internal:5432/main"),
    Shape("bearer-token", false, "{w40}", "curl -H 'Authorization: Bearer §' https://api.internal"),
    Shape("basic-auth", false, "BASIC", "Authorization: Basic §"),
    Shape("password", false, "{l6}{d3}{l4}", "password: §"),
    Shape("password", false, "{A12}", "mysql --user app --password § main"),
    Shape("password", false, "{A10}!{d2}", "Server=db;User Id=app;Password=§;"),
    Shape("api-key", false, "{h32}", "api_key = '§'"),
    Shape("token", false, "{A40}", "ACCESS_TOKEN=§"),
    Shape("secret", false, "{w50}", "SECRET_KEY=§"),
    Shape("user-password", false, "{A14}", "curl -u app:§ https://api.internal"),
    Shape("password", false, "{A6}&{d1}{l2}{d1}", "the password is §, please"),
    Shape("password", false, "{l2}#{A4}&{d2}?{l2}", "DB_PASSWORD=§"),
    Shape("password", false, "{A4}&{l2}!{d1}", "mysql --password=§ main"),
    Shape("password", false, "{l1}@{l2} {l1}{d1}{l2};{d1}", "the password is \"§\""),
];

/// Texts that must not be changed; `{…}` as in shapes.
#[rustfmt::skip] // a table
const DECOYS: &[&str] = &[
    "commit {h40}\nAuthor: A <a@b.c>",
    "Merge {h7} into {h7}",
    "session {h8}-{h4}-4{h3}-a{h3}-{h12} resumed",
    "\"integrity\": \"sha512-{b86}==\"",
    "checksum = \"{h64}\"",
    "<img src=\"data:image/png;base64,iVBORw0KGgo{b200}=\">",
    "api_key: your-api-key-here",
    "export API_TOKEN=<token>",
    "PASSWORD=${DB_PASSWORD}",
    "const token = process.env.TOKEN_{U4};",
    "password = getPassword{d1}(user)",
    "api_key: Option<String>, // set {d4}",
    "function login(token: string, password: string) { return {d3}; }",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE # run {d3}",
    "color: #{h6}; background: #{h3}",
    "app.{h8}.js and vendor.{h20}.css",
    "ETag: W/\"{h32}\"",
    "!function(e,t){{l3}.{l2}=e.{l4}({d3},t),key=e.{l5}}({l3},{l4});",
    "请检查密码是否正确，令牌{d3}已过期，密钥：见文档",
    "/home/user/{l8}/{A10}/secret_store/{l6}.rs:{d3}",
    "AbstractSingletonProxyFactoryBeanTokenProvider{d2}SecretManager",
    "2026-03-{d2}T12:{d2}:{d2}.{d6}Z token refreshed",
    "00000010: {h4} {h4} {h4} {h4} {h4} {h4} {h4} {h4}  ................",
    "image: registry.example.com/app@sha256:{h64}",
    "max_tokens: {d4}, total_tokens={d6}, token_count: {d5}",
    "key: \"{l5}-{l6}-{d2}\", cacheKey = `{l4}:{h40}`",
    "https://example.com/{l8}/{h24}?page={d2}#{l6}",
    "secret=os.environ[\"APP_SECRET_{U3}\"]",
    "sk-learn pipeline task-{d4} disk-{h8} ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "-----BEGIN CERTIFICATE-----\n{b64}\n{b64}\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} me@host",
    "req_{A24} msg_{A24} toolu_{A24} call_{A24} chatcmpl-{A29}",
];

/// Decoys per pattern.
const PER_DECOY: usize = 60;

/// Every kind in every wrapping, several times; deterministic for a seed.
pub fn generate_secrets(seed: u64) -> Vec<Specimen> {
    let mut dice = Generator(seed);
    let mut all = Vec::new();
    for Shape(kind, vendor, shape, carrier) in SHAPES {
        for wrapping in WRAPPINGS {
            for _ in 0..PER_WRAPPING {
                let secret = dice.make_secret(shape);
                let carried =
                    if carrier.is_empty() { secret.clone() } else { carrier.replace('§', &secret) };
                let text = dice.wrap_text(wrapping, &carried, carrier.is_empty());
                let pieces =
                    secret.lines().filter(|line| !line.starts_with("-----")).map(str::to_owned).collect();
                all.push(Specimen { kind, vendor: *vendor, wrapping, secret: pieces, text });
            }
        }
    }
    all
}

/// Texts without a secret; deterministic for a seed.
pub fn generate_decoys(seed: u64) -> Vec<String> {
    let mut dice = Generator(seed);
    DECOYS.iter().flat_map(|sort| (0..PER_DECOY).map(|_| dice.fill_shape(sort)).collect::<Vec<_>>()).collect()
}

/// `SplitMix64`: pseudo-random numbers, always the same for a start value.
struct Generator(u64);

impl Generator {
    fn random_below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }

    fn random_letters(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(alphabet[self.random_below(alphabet.len())])).collect()
    }

    /// Fills in the `{x12}` of a shape. Other braces are kept.
    fn fill_shape(&mut self, shape: &str) -> String {
        let mut text = String::new();
        let mut rest = shape;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let slot = after.split_once('}').and_then(|(slot, rest)| {
                let alphabet = alphabet_for(slot.chars().next()?)?;
                Some((alphabet, slot[1..].parse().ok()?, rest))
            });
            if let Some((alphabet, count, behind)) = slot {
                text.push_str(&self.random_letters(alphabet, count));
                rest = behind;
            } else {
                text.push('{');
                rest = after;
            }
        }
        text + rest
    }

    fn make_secret(&mut self, shape: &str) -> String {
        match shape {
            "PEM" => {
                let label = ["RSA ", "EC ", "OPENSSH ", ""][self.random_below(4)];
                self.make_block(&format!("{label}PRIVATE KEY"))
            }
            "PGP" => self.make_block("PGP PRIVATE KEY BLOCK"),
            "BASIC" => {
                let login = format!("app:{}", self.random_letters(ALPHANUMERIC, 12));
                encode_base64(login.as_bytes())
            }
            shape => self.fill_shape(shape),
        }
    }

    fn make_block(&mut self, label: &str) -> String {
        let mut text = format!("-----BEGIN {label}-----\n");
        for _ in 0..4 + self.random_below(12) {
            let _ = writeln!(text, "{}", self.random_letters(BASE64, 64)); // writing to a string cannot fail
        }
        text + &format!("{}\n-----END {label}-----", self.random_letters(BASE64, 24))
    }

    fn wrap_text(&mut self, wrapping: Wrapping, carried: &str, bare: bool) -> String {
        let number = self.random_below(900) + 1;
        match wrapping {
            Wrapping::Sentence => {
                let after = if bare { ", then try again." } else { "\nThen try again." };
                format!("I could not sign in on machine {number}; use {carried}{after}")
            }
            Wrapping::Json => {
                let inner =
                    format!("{{\"stdout\":\"step {number}\\n{}\\n\",\"code\":0}}", escape_json(carried));
                format!("{{\"type\":\"tool_result\",\"content\":\"{}\"}}", escape_json(&inner))
            }
            Wrapping::Shell if bare => format!("cd app{number}\nexport SETTING=\"{carried}\"\nmake"),
            Wrapping::Shell => format!("cd app{number}\n{carried}\nmake"),
            Wrapping::Listing if number.is_multiple_of(2) => {
                let line = |(at, line): (usize, &str)| format!("{:6}\t{line}\n", number + at);
                format!("fn main() {{\n{carried}\n}}").lines().enumerate().map(line).collect()
            }
            Wrapping::Listing => {
                let added: String = carried.lines().flat_map(|line| ["+", line, "\n"]).collect();
                format!("@@ -1,2 +{number},3 @@\n fn main() {{\n{added} }}\n")
            }
        }
    }
}

const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn alphabet_for(name: char) -> Option<&'static [u8]> {
    Some(match name {
        'A' => ALPHANUMERIC,
        'b' => BASE64,
        'w' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
        'h' => b"0123456789abcdef",
        'd' => b"0123456789",
        'e' => b"123456789",
        'l' => b"abcdefghijklmnopqrstuvwxyz",
        'U' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        'S' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        'q' => b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        _ => return None,
    })
}

fn escape_json(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
}

fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let letters = (0..=chunk.len()).map(|at| char::from(BASE64[(bits >> (18 - 6 * at) & 63) as usize]));
        text.extend(letters);
        text.extend(std::iter::repeat_n('=', 3 - chunk.len()));
    }
    text
}
