//! The counts are those of the reference implementation, on text, code, and runs that no token covers.
#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_tokens::count_tokens;

fn assert_exact(text: &str) {
    let expected = bpe_openai::o200k_base().count(text);
    assert_eq!(count_tokens(text), expected, "{:?}", text.chars().take(200).collect::<String>());
}

#[test]
fn corner_cases_are_counted_as_by_the_reference() {
    for text in [
        "",
        " ",
        "   ",
        "\n",
        " \n ",
        "a  b",
        "a \u{a0} b",
        "a\t\t\tb\r\n\r\n  c",
        "x   ",
        "it's WE'LL they'D",
        "12345678 3.14159",
        "https://example.org/a/b//c\n",
        "HTTPServerError snake_case camelCase",
        "，。你好世界，这是一个没有空格的句子",
        "日本語のテキスト 한국어 텍스트",
        "e\u{301}\u{302} \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        "a\u{0}b\u{7f}",
        "////****----====",
    ] {
        assert_exact(text);
    }
}

#[test]
fn own_source_and_documents_are_counted_as_by_the_reference() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = 0;
    for folder in [
        "docs/concepts",
        "docs/guides",
        "crates/code/src",
        "crates/search/src",
        "crates/memory/testdata/talk-g/sessions",
    ] {
        for entry in
            std::fs::read_dir(root.join(folder)).unwrap().flatten().filter(|entry| entry.path().is_file())
        {
            assert_exact(&std::fs::read_to_string(entry.path()).unwrap());
            files += 1;
        }
    }
    assert!(files > 60, "{files}");
}

#[test]
fn random_mixtures_are_counted_as_by_the_reference() {
    let alphabet: Vec<char> =
        "aAbBéßñ0189 \t\n\r.,;:'\"(){}[]/\\-_+=<>#$%你好的是カナ한글🙂\u{301}\u{a0}".chars().collect();
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for _ in 0..3000 {
        let length = next() % 60;
        let text: String = (0..length).map(|_| alphabet[next() % alphabet.len()]).collect();
        assert_exact(&text);
    }
}

#[test]
fn a_long_run_costs_no_more_than_its_share() {
    for text in ["a".repeat(200_000), "字".repeat(50_000), "=-".repeat(100_000)] {
        assert_exact(&text);
    }
}
