/// How often each word occurs.
pub fn tally(text: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for word in text.split_whitespace() {
        match found.iter_mut().find(|(known, _)| known == word) {
            Some((_, times)) => *times += 1,
            None => found.push((word.to_string(), 1)),
        }
    }
    found
}
