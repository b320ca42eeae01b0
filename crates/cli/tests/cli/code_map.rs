//! `loci code map` with packages: their sizes and dependencies as records, as text and as a page.

use serde_json::{Value, json};
use testutil::{Home, needs, run_line, write_file};

/// Three packages in a row, two that use each other, and one for tests.
fn home_with_packages() -> Home {
    let home = Home::new();
    for (path, text) in [
        ("store/disk.py", "class Disk:\n    def write(self, text):\n        pass\n"),
        ("model/cart.py", "from store.disk import Disk\n\nclass Cart:\n    disk: Disk\n"),
        (
            "web/page.py",
            "from model.cart import Cart\nfrom store.disk import Disk\n\nclass Page:\n    cart: Cart\n    disk: Disk\n",
        ),
        ("a/one.py", "from b.two import Two\n\nclass One:\n    two: Two\n"),
        ("b/two.py", "from a.one import One\n\nclass Two:\n    one: One\n"),
        ("tests/test_cart.py", "from model.cart import Cart\n\nclass CartTest:\n    cart: Cart\n"),
    ] {
        write_file(&home.path().join("shop").join(path), text.as_bytes());
    }
    home
}

fn map(home: &Home, flags: &str) -> Value {
    run_line(home, &format!("code map --root shop {flags}")).expect(0).records().remove(0)
}

fn package<'m>(map: &'m Value, path: &str) -> &'m Value {
    let packages = map["packages"].as_array().unwrap();
    packages.iter().find(|one| one["path"] == path).unwrap_or_else(|| panic!("no {path}: {map}"))
}

#[test]
fn packages_have_sizes_dependencies_layers_and_cycles() {
    let home = home_with_packages();
    assert!(map(&home, "").get("packages").is_none());
    let map = map(&home, "--packages");
    assert_eq!(map["packages"].as_array().unwrap().len(), 6);
    let web = package(&map, "web");
    assert_eq!((&web["files"], &web["lines"], &web["layer"]), (&json!(1), &json!(6), &json!(2)), "{web}");
    let uses: Vec<&Value> = web["uses"].as_array().unwrap().iter().map(|used| &used["path"]).collect();
    assert_eq!(uses, ["model", "store"], "{web}");
    assert!(
        web["uses"].as_array().unwrap().iter().all(|used| used["references"].as_u64() > Some(0)),
        "{web}"
    );
    assert!(web["leading"].to_string().contains("Page"), "{web}");
    assert_eq!((&package(&map, "store")["layer"], &package(&map, "model")["layer"]), (&json!(0), &json!(1)));
    let (one, two) = (package(&map, "a"), package(&map, "b"));
    assert!(one["cycle"].is_u64() && one["cycle"] == two["cycle"] && web["cycle"].is_null(), "{map}");
    assert_eq!((&package(&map, "tests")["test"], &web["test"]), (&json!(true), &Value::Null));
}

#[test]
fn a_folder_limits_the_packages() {
    let home = home_with_packages();
    let map = map(&home, "model --packages");
    assert_eq!(map["packages"].as_array().unwrap().len(), 1, "{map}");
    assert_eq!(package(&map, "model")["uses"], Value::Null, "what is used is elsewhere");
}

#[test]
fn the_text_lists_what_a_package_uses() {
    let home = home_with_packages();
    let printed = run_line(&home, "code map --root shop --packages -o text").expect(0);
    let text = printed.text();
    assert!(text.contains("\nweb  6 lines, ") && text.contains("  uses store  "), "{text}");
    assert!(text.contains(", in cycle 1"), "{text}");
}

fn page_of(home: &Home) -> String {
    let file = home.path().join("map.html");
    let done = run_line(home, &format!("code map --root shop --html --file {}", file.display())).expect(0);
    assert!(done.stdout.is_empty() && done.stderr.contains("wrote "), "{}", done.stderr);
    std::fs::read_to_string(&file).unwrap()
}

#[test]
fn the_page_has_the_numbers_of_the_map() {
    let home = home_with_packages();
    let (page, map) = (page_of(&home), map(&home, "--packages"));
    assert!(page.contains("<h1>Packages of shop</h1>"), "{page}");
    for package in map["packages"].as_array().unwrap() {
        let (path, lines) = (package["path"].as_str().unwrap(), &package["lines"]);
        assert!(page.contains(&format!("<title>{path}: {lines} lines in ")), "{path}");
        assert!(
            page.contains(&format!("<th scope=\"row\">{path}</th><td class=\"n\">{lines}</td>")),
            "{path}"
        );
    }
    let drawn = page.matches("<path class=\"edge").count();
    let uses = |package: &Value| package["uses"].as_array().map_or(0, Vec::len);
    assert_eq!(drawn, map["packages"].as_array().unwrap().iter().map(uses).sum::<usize>());
    let piped = run_line(&home, "code map --root shop --html").expect(0);
    assert_eq!(piped.text(), page);
}

#[test]
fn a_file_given_as_the_format_is_written() {
    let home = home_with_packages();
    for (name, start) in [("map.html", "<!doctype html>"), ("map.json", "{"), ("map.page", "<!doctype html>")]
    {
        run_line(&home, &format!("code map --root shop -o {name}")).expect(0);
        assert!(std::fs::read_to_string(home.path().join(name)).unwrap().starts_with(start), "{name}");
    }
    let refused = run_line(&home, "code map --root shop -o htlm").expect(1);
    assert!(refused.stderr.contains("hint: loci code map --root shop -o html"), "{}", refused.stderr);
}

/// Searches and selects as a person does, and writes down what is shown.
const USING: &str = "<script>\n\
    const type = (text) => { wanted.value = text; wanted.dispatchEvent(new Event('input')); return shown.textContent; };\n\
    const found = [type('web'), type('cart'), type('nosuchword'), type('')];\n\
    wanted.value = 'store';\n\
    wanted.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));\n\
    const selected = [...document.querySelectorAll('.package.selected')].length;\n\
    const users = [...document.querySelectorAll('.edge.user')].length;\n\
    const before = whole.width;\n\
    tools.querySelector('button').click();\n\
    const zoomed = whole.width < before;\n\
    const left = whole.x;\n\
    picture.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));\n\
    const panned = whole.x > left;\n\
    const requests = performance.getEntriesByType('resource').length;\n\
    const text = told.textContent;\n\
    document.body.innerHTML = '';\n\
    document.title = JSON.stringify({found, selected, users, zoomed, panned, requests, text});\n\
    </script>\n</html>";

#[test]
#[ignore = "needs chromium: see CONTRIBUTING.md"]
fn a_map_is_searched_and_panned_in_chromium_without_network() {
    needs::network_namespace();
    let home = home_with_packages();
    let file = home.path().join("map.html");
    let page = page_of(&home);
    std::fs::write(&file, page.replace("</html>", USING)).unwrap();
    let title = testutil::title_in_chromium(home.path(), &file);
    let mut shown: Value = serde_json::from_str(&title).unwrap_or_else(|_| panic!("{title}"));
    let text = shown["text"].take();
    assert!(text.as_str().unwrap().starts_with("store: 3 lines in 1 file"), "{text}");
    let expected = json!({"found": ["1 of 6", "2 of 6", "0 of 6", ""], "selected": 1, "users": 2,
        "zoomed": true, "panned": true, "requests": 0, "text": null});
    assert_eq!(shown, expected);
}

#[test]
#[ignore = "needs axe-core: see CONTRIBUTING.md"]
fn the_page_of_a_map_is_accessible() {
    let home = home_with_packages();
    testutil::check_accessibility(home.path(), &page_of(&home));
}
