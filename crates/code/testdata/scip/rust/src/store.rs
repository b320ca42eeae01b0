use crate::MARK;

pub trait Store {
    fn get(&self, key: &str) -> Option<u32>;
}

#[derive(Default)]
pub struct MemoryStore {
    values: Vec<(String, u32)>,
}

pub enum Mode {
    Read,
    Write { size: u32 },
}

impl MemoryStore {
    pub fn put(&mut self, key: &str, value: u32) {
        let key = format!("{MARK}{key}");
        self.values.push((key, value));
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &str) -> Option<u32> {
        self.values.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
    }
}
