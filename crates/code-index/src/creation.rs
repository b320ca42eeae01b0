//! Tells the mentions of a type that create a value of it, which are the uses of its constructors.
//!
//! Does not know types: a value whose type is left out (`new()` in C#) and a constructor that another one calls are not found.

use syntax::language_of;

/// Languages in which a call of the type's name creates a value.
const BY_CALL: &[&str] = &["Python", "Kotlin", "Swift", "C++"];

/// Whether the name of a type at a place creates a value: `new T(…)`, `T::new` in Java, and `T(…)` where that does.
pub(crate) fn is_creation(file: &str, text: &str, (at, end): (u32, u32)) -> bool {
    let Some(language) = language_of(file.as_ref()) else { return false };
    let (Some(before), Some(after)) = (text.get(..at as usize), text.get(end as usize..)) else {
        return false;
    };
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '\\');
    let head = before.trim_end_matches(is_path).trim_end();
    let is_new = head
        .strip_suffix("new")
        .is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    let after = after.trim_start();
    is_new && head.len() < before.len()
        || language.name == "Java" && after.starts_with("::new")
        || BY_CALL.contains(&language.name) && after.starts_with('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_created_by_new_or_by_a_call() {
        let creates = |file: &str, text: &str| {
            let at = text.find("Store").unwrap() as u32;
            is_creation(file, text, (at, at + 5))
        };
        assert!(creates("A.cs", "var a = new Store(1);") && creates("a.ts", "new shop.Store<number>()"));
        assert!(creates("A.java", "map(Store::new)") && creates("a.py", "a = shop.Store(1)"));
        assert!(
            !creates("A.cs", "Store a = renew;")
                && !creates("a.ts", "renew Store")
                && !creates("a.py", "a: Store")
        );
        assert!(!creates("A.java", "Store(int a) {}") && !creates("A.cs", "newStore()"));
    }
}
