//! ChatWise.

use crate::walk::Found;
use crate::{Error, Places, Source, Survey, Transcript};
use record::{Call, Message, Row};
use std::path::{Path, PathBuf};

pub struct ChatWise;

impl Source for ChatWise {
    fn name(&self) -> &'static str {
        "chatwise"
    }
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    fn roots(&self, _places: &Places) -> Vec<PathBuf> {
        Vec::new()
    }
    fn list(&self, _root: &Path, _found: &mut Found) {}
    fn survey(&self, _transcript: &Transcript, _survey: &mut Survey<'_>) -> Result<(), Error> {
        Ok(())
    }
    fn call(&self, _transcript: &Transcript, _result: &Transcript, _row: &Row) -> Result<Call, Error> {
        Ok(Call::default())
    }
    fn message(&self, _transcript: &Transcript, _row: &Row) -> Result<Message, Error> {
        Ok(Message::default())
    }
}
