pub fn all(names: &[String]) -> Vec<usize> {
    let text = "one \
        two";
    names.iter().map(|name| name.len() + text.len()).collect()
}
