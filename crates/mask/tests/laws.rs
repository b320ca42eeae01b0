//! Properties of masking for every text: it never fails and is idempotent, JSON stays JSON, and a secret has one
//! placeholder in every context.

use loci_mask::specimen::{Wrapping, generate_decoys, generate_secrets};
use loci_mask::{Masker, RULES_VERSION, SecretMatch, secret_kinds};
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Instant;

fn masker() -> Masker {
    Masker::new([5; 32])
}

/// Fixed letters and digits that are not a known secret.
fn sample_chars(count: usize) -> String {
    let alphabet = b"q7Zt2mV9xLb4Kd8Wn3RfGh5Js6Yc1Pw0";
    (0..count).map(|at| char::from(alphabet[(at * 7 + at / 5) % alphabet.len()])).collect()
}

/// The placeholders of a masked text.
fn placeholders(masked: &str) -> Vec<&str> {
    masked.split('⟦').skip(1).filter_map(|rest| rest.split('⟧').next()).collect()
}

/// Fragments that the rules react to, in any order: more likely to find a gap than random letters.
fn text_fragments() -> impl Strategy<Value = String> {
    let words = [
        "password",
        "=",
        ": ",
        "\"",
        "'",
        "\\",
        "\\n",
        "\n",
        "token",
        "API_KEY",
        "https://",
        "user:",
        "@host",
        "/",
        " ",
        "ghp_",
        "sk-",
        "Authorization: Bearer ",
        "Basic ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "⟦secret:github-pat:3f9a⟧",
        "⟦secret:",
        "⟧",
        "curl -u ",
        "--password ",
        "é",
        "密码",
        "12\t",
        "+",
        "eyJ",
        ".",
        "{",
        "}",
        ",",
        "[",
        "]",
        "Private-Lines: 2",
        ":AA",
        "discord",
        "sig=",
        "%3D",
        "is ",
        "<password>",
        "&",
    ];
    let word = prop::sample::select(words.to_vec()).prop_map(str::to_owned);
    let random = "[A-Za-z0-9+/_-]{0,70}";
    prop::collection::vec(prop_oneof![3 => word, 2 => random, 1 => any::<String>()], 0..24)
        .prop_map(|all| all.concat())
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let key = prop_oneof![
        Just("password".to_owned()),
        Just("api_key".to_owned()),
        Just("Authorization".to_owned()),
        text_fragments()
    ];
    let leaf = prop_oneof![
        text_fragments().prop_map(serde_json::Value::from),
        "[A-Za-z0-9]{20,40}".prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|all| serde_json::Value::Object(all.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn masking_text_is_idempotent(text in text_fragments()) {
        let masker = masker();
        let once = masker.mask_text(&text).into_owned();
        prop_assert_eq!(masker.mask_text(&once).into_owned(), once);
    }

    #[test]
    fn findings_are_ordered_and_inside_the_text(text in text_fragments()) {
        let found = masker().find_secrets(&text);
        prop_assert!(found.windows(2).all(|two| two[0].to <= two[1].from));
        prop_assert!(found.iter().all(|it| it.from < it.to && text.get(it.from..it.to).is_some()));
    }

    #[test]
    fn placeholders_survive_masking(before in text_fragments(), after in text_fragments()) {
        let placeholder = "⟦secret:npm-token:0a1b⟧";
        let text = format!("{before}{placeholder}{after}");
        prop_assert!(masker().mask_text(&text).contains(placeholder));
    }

    #[test]
    fn json_stays_json_and_masking_it_is_idempotent(value in json()) {
        let masker = masker();
        let text = value.to_string();
        let once = masker.mask_json(&text).into_owned();
        prop_assert!(serde_json::from_str::<serde_json::Value>(&once).is_ok(), "{} -> {}", text, once);
        prop_assert_eq!(masker.mask_json(&once).into_owned(), once);
    }

    #[test]
    fn any_text_can_be_masked_as_json(text in text_fragments()) {
        let masker = masker();
        let once = masker.mask_json(&text).into_owned();
        if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&once).is_ok());
        }
    }

    #[test]
    fn the_context_does_not_change_a_placeholder(before in "[a-z .,\n(]{0,80}", after in "[ \n,)][a-z .,\n]{0,80}") {
        let masker = masker();
        let secret = format!("ghp_{}", sample_chars(36));
        let whole = masker.mask_text(&format!("{before} {secret}{after}")).into_owned();
        let alone = masker.mask_text(&secret).into_owned();
        prop_assert_eq!(placeholders(&whole), placeholders(&alone));
    }
}

/// Random values with which a second masking found more than the first: the placeholder of a key announced a secret, and the one in a
/// value left a rest that looked like one.
#[test]
fn a_placeholder_reveals_nothing_that_was_not_masked_with_it() {
    let masker = masker();
    for (key, value) in [
        ("⟦secret:+Aa0_-AAA-0AaAaa+-A+0A_aAa--a+-----BEGIN PRIVATE KEY-----", "aaA0aaaAAaAaa0AAb510"),
        (
            "Authorization",
            "0a-0aaa-a-Aa-00-A__Aaaa0_a-_-AAa-A_-++A+A-a+A++aAa_a_A+0a+aaa0®#0𑃰𒐀𐞇Σ0ཉกAퟋ#\"𒑰密码",
        ),
    ] {
        let json = serde_json::json!({key: value}).to_string();
        let once = masker.mask_json(&json).into_owned();
        assert_ne!(once, json);
        assert_eq!(masker.mask_json(&once), once);
    }
}

#[test]
fn masking_specimens_and_decoys_is_idempotent() {
    let masker = masker();
    for text in generate_secrets(9).into_iter().map(|it| it.text).chain(generate_decoys(9)) {
        let once = masker.mask_text(&text).into_owned();
        assert_eq!(masker.mask_text(&once), once);
        let once = masker.mask_json(&text).into_owned();
        assert_eq!(masker.mask_json(&once), once);
    }
}

#[test]
fn json_of_specimens_stays_json() {
    let masker = masker();
    for it in generate_secrets(4).into_iter().filter(|it| it.wrapping == Wrapping::Json) {
        let masked = masker.mask_json(&it.text);
        assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
    }
}

#[test]
fn a_secret_has_one_placeholder_in_every_wrapping() {
    let masker = masker();
    let body: Vec<String> = (0..6).map(|at| format!("+{}", sample_chars(62 + at % 2))).collect();
    let pem = format!("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----", body.join("\n"));
    for secret in [format!("ghp_{}", sample_chars(36)), format!("sk-ant-api03-{}", sample_chars(95)), pem] {
        let lines = |mark: fn(usize) -> String| {
            secret.lines().enumerate().map(|(at, line)| mark(at) + line + "\n").collect::<String>()
        };
        let string = serde_json::to_string(&secret).unwrap();
        let nested = serde_json::to_string(&format!("{{\"a\":{string}}}")).unwrap();
        let twice = serde_json::to_string(&nested).unwrap();
        let texts = [
            secret.clone(),
            lines(|at| format!("{:6}\t", at + 1)),
            lines(|at| format!("{:6}→", at + 1)),
            lines(|_| "+".to_owned()),
            lines(|_| "    ".to_owned()),
            string.clone(),
            nested.clone(),
            twice.clone(),
            secret.replace('\n', "\r\n"),
        ];
        let mut seen = BTreeSet::new();
        for text in &texts {
            for masked in [masker.mask_text(text), masker.mask_json(text)] {
                let found = placeholders(&masked).into_iter().map(str::to_owned).collect::<Vec<_>>();
                assert_eq!(found.len(), 1, "{text} -> {masked}");
                seen.extend(found);
            }
        }
        assert_eq!(seen.len(), 1, "{seen:?}");
    }
}

#[test]
fn adjacent_secrets_are_all_found() {
    let (first, second) =
        (format!("ghp_{}", sample_chars(36)), format!("ghp_{}", sample_chars(37)[1..].to_owned()));
    for text in [
        format!("{first} {second}"),
        format!("{first},{second}"),
        format!("discord {first} https://u:{second}@h"),
    ] {
        let masked = masker().mask_text(&text).into_owned();
        assert_eq!(placeholders(&masked).len(), 2, "{masked}");
    }
    let discord =
        |at: usize| format!("MT{}.{}.{}", sample_chars(22), &sample_chars(20)[at..at + 6], sample_chars(27));
    let masked = masker().mask_text(&format!("discord: {} and {}", discord(0), discord(5))).into_owned();
    assert_eq!(placeholders(&masked).len(), 2, "{masked}");
}

#[test]
fn a_key_is_context_for_its_value_and_the_rest_is_unchanged() {
    let masker = masker();
    let json = format!(
        "{{ \"password\" : \"hunter2hunter2\",\n \"n\": 1.50, \"api_key\":\"{}\", \"u\": \"\\u00e9\\/\" }}",
        sample_chars(24)
    );
    let masked = masker.mask_json(&json).into_owned();
    let parts: Vec<&str> = masked.split(['⟦', '⟧']).step_by(2).collect();
    assert_eq!(
        parts,
        ["{ \"password\" : \"", "\",\n \"n\": 1.50, \"api_key\":\"", "\", \"u\": \"\\u00e9\\/\" }"]
    );
    let hidden = json.replace("password", "p\\u0061ssword");
    assert_eq!(placeholders(&masker.mask_json(&hidden)).len(), 2);
}

#[test]
fn a_truncated_key_is_masked_to_its_end() {
    let lines = [sample_chars(64), sample_chars(64), sample_chars(30)].join("\n");
    let masked = masker().mask_text(&format!("-----BEGIN RSA PRIVATE KEY-----\n{lines}")).into_owned();
    assert!(!masked.contains(&sample_chars(20)), "{masked}");
    let masked =
        masker().mask_text(&format!("-----BEGIN RSA PRIVATE KEY-----\n{lines}\n\nAnd so on.")).into_owned();
    assert!(masked.ends_with("⟧\n\nAnd so on."), "{masked}");
    let prose = "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY----- is what it looks like";
    assert_eq!(masker().mask_text(prose), prose);
}

#[test]
fn text_without_a_secret_is_borrowed() {
    let text = "the key is under the mat, the token is a string, and the password: none";
    assert!(matches!(masker().mask_text(text), Cow::Borrowed(_)));
    assert!(matches!(masker().mask_json("{\"token\": \"a string\"}"), Cow::Borrowed(_)));
}

#[test]
fn the_table_is_complete_and_well_formed() {
    let all: Vec<_> = secret_kinds().collect();
    let names: BTreeSet<_> = all.iter().map(|(kind, _)| *kind).collect();
    assert!(all.len() >= 60 && names.len() == all.len() && RULES_VERSION > 0);
    assert!(all.iter().all(|(kind, description)| description.ends_with('.')
        && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')));
}

#[test]
fn every_kind_found_is_in_the_table() {
    let names: BTreeSet<_> = secret_kinds().map(|(kind, _)| kind).collect();
    let found = generate_secrets(2).into_iter().flat_map(|it| masker().find_secrets(&it.text));
    assert!(found.map(|SecretMatch { kind, .. }| kind).all(|kind| names.contains(kind)));
}

/// Inputs for which a naive scanner reads to the end of the text at every occurrence, or never ends.
const HOSTILE: &[&str] = &[
    "key=",
    "pass1=",
    "password=",
    "password: ",
    "password='a",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n",
    "Private-Lines: 1",
    "eyJ",
    "--eyJ",
    "://a:",
    "https://a:b@",
    " -u \"",
    "authorization: ",
    "\"token\", ",
    "⟦secret:",
    "⟦secret:a",
    "{\"key\":",
    "\"'`",
    "\\",
    "\\\"",
    "AAAA",
    "pw=",
    "pass",
    "Key1",
    "密码",
    "key/aB9-",
    "key=a1B2.",
    "code: 1234 ",
    "login=a1B2c3 ",
    "session=abcd&code=",
    "ghp_k9X2mQ7vL4pR8sT1wY6zB3nC5dF0gH2jA4eU password=hunter2hunter2 ",
];

/// CPU time of this thread in nanoseconds, or elapsed time if the kernel does not report it.
fn cpu_nanoseconds() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let reported = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = reported.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.unwrap_or_else(|| START.elapsed().as_nanos() as u64)
}

/// Four times the text costs four times as much, more on a busy machine; quadratic work would cost sixteen times.
#[test]
fn time_is_linear_in_the_length_of_the_text() {
    const SMALL: usize = 20_000;
    let masker = masker();
    for piece in HOSTILE {
        let cost = |size: usize| {
            let text = piece.repeat(size / piece.len());
            let json = serde_json::to_string(&text).unwrap();
            let once = || {
                let before = cpu_nanoseconds();
                let _ = (masker.mask_text(&text), masker.mask_json(&json));
                cpu_nanoseconds() - before
            };
            once().min(once())
        };
        let (small, large) = (cost(SMALL), cost(4 * SMALL));
        // Below two milliseconds, the resolution of the clock dominates.
        let most = 12 * small.max(2_000_000);
        assert!(large < most, "{piece:?}: {small} ns, four times the text {large} ns");
    }
}

/// A line in which few words announce a secret, and none does.
const ORDINARY: &str =
    "The session was opened by the admin, so the key in the map is the code of the error. ";

/// Text of nothing but cues costs more than ordinary text, but not a thousand times as much: `pw=` once did.
#[test]
fn dense_cues_cost_a_bounded_multiple_of_ordinary_text() {
    const SIZE: usize = 60_000;
    let masker = masker();
    let cost = |piece: &str| {
        let text = piece.repeat(SIZE / piece.len());
        let once = || {
            let before = cpu_nanoseconds();
            let _ = masker.mask_text(&text);
            cpu_nanoseconds() - before
        };
        once().min(once())
    };
    let ordinary = cost(ORDINARY).max(1_000_000);
    for piece in HOSTILE {
        let ratio = cost(piece) / ordinary;
        assert!(ratio < 100, "{piece:?} costs {ratio} times ordinary text");
    }
}

#[test]
fn a_key_may_be_truncated_anywhere() {
    let body = [sample_chars(64), sample_chars(64), sample_chars(30)].join("\n");
    let whole = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----");
    for end in "-----BEGIN RSA PRIVATE KEY-----\n".len() + 64..=whole.len() {
        let masked = masker().mask_text(&whole[..end]).into_owned();
        assert!(
            masked.starts_with("⟦secret:private-key:") && !masked.contains(&sample_chars(20)),
            "{masked}"
        );
    }
}

/// The delimiters of a placeholder must not protect a secret between them.
#[test]
fn a_secret_in_a_forged_placeholder_is_masked() {
    let (pat, bot) =
        (format!("ghp_{}", sample_chars(36)), "xoxb-263594206564-2343594206574-kx7q2mv9tzlb4kd8wn3rfgh5");
    for secret in [&pat, bot] {
        assert!(!masker().mask_text(&format!("use {secret} here")).contains(secret), "{secret}");
        for text in [
            format!("⟦secret:{secret}:3f9a⟧"),
            format!("password=⟦secret:{secret}:3f9a⟧"),
            format!("⟦secret:github-pat:3f9a⟧⟦secret:{secret}:3f9a⟧"),
            format!("⟦secret:⟦secret:{secret}:3f9a⟧:3f9a⟧"),
        ] {
            let masked = masker().mask_text(&text).into_owned();
            assert!(!masked.contains(secret), "{masked}");
            assert_eq!(masker().mask_text(&masked), masked);
        }
    }
}
