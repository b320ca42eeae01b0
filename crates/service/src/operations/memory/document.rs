//! Exports all memory as one document, and imports it. `exchange` defines the form of
//! sessions and facts.
//!
//! Does not export forgotten items: a document that names them would preserve them.

use crate::{Service, memory_store};
use api::memory::{ExportMemory, FORMAT, ImportMemory, MemoryDocument, MemoryImported, VERSION};
use api::{Code, Error, Handle, Request};
use exchange::document::{export_fact, export_session, import_fact, import_session};
use history::tombstones::Tombstones;

impl Handle<ExportMemory> for Service {
    fn handle(&self, request: &ExportMemory) -> Result<MemoryDocument, Error> {
        request.check_params()?;
        let (sessions, facts) = match memory_store::open_existing(self)? {
            Some(store) => store.load_all().map_err(|error| memory_store::store_error(&error))?,
            None => (Vec::new(), Vec::new()),
        };
        Ok(MemoryDocument {
            format: FORMAT.to_string(),
            version: VERSION,
            sessions: sessions.iter().map(export_session).collect(),
            facts: facts.iter().map(export_fact).collect(),
        })
    }
}

impl Handle<ImportMemory> for Service {
    fn handle(&self, request: &ImportMemory) -> Result<MemoryImported, Error> {
        request.check_params()?;
        let path = self.cwd.join(&request.file);
        let wrong = |why: String| {
            Error::new(Code::InvalidArgument, format!("{}: {why}", path.display()))
                .hint("loci memory export > memory.json")
        };
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::new(Code::ReadError, format!("{}: {error}", path.display())))?;
        let document: MemoryDocument =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if (document.format.as_str(), document.version) != (FORMAT, VERSION) {
            return Err(wrong(format!(
                "unsupported format {} {}, expected {FORMAT} {VERSION}",
                document.format, document.version
            )));
        }
        let gone = Tombstones::read(self.home().as_ref())?;
        let mut sessions = document
            .sessions
            .into_iter()
            .map(import_session)
            .collect::<Result<Vec<_>, _>>()
            .map_err(wrong)?;
        let mut facts =
            document.facts.into_iter().map(import_fact).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        // Forgotten sessions stay forgotten on import too.
        let before = sessions.len() + facts.len();
        sessions.retain(|one| !gone.contains(&one.source, &one.session_id));
        for fact in &mut facts {
            let rests = !fact.evidence.is_empty();
            fact.evidence.retain(|one| !gone.contains(&one.source, &one.session_id));
            fact.text = if rests && fact.evidence.is_empty() {
                String::new()
            } else {
                self.history().mask_line(&fact.text)
            };
            fact.symbols = fact.symbols.iter().map(|symbol| self.history().mask_line(symbol)).collect();
        }
        facts.retain(|fact| !fact.text.is_empty());
        let left_out = (before - sessions.len() - facts.len()) as u64;
        // A document may come from any machine, so its text is masked.
        for one in &mut sessions {
            one.name.text = self.history().mask_line(&one.name.text);
            one.summary.text = self.history().mask_line(&one.summary.text);
            one.tags = one
                .tags
                .iter()
                .map(|(tag, by)| (memory::normalise_tag(&self.history().mask_line(tag)), *by))
                .collect();
        }
        let imported = memory_store::open(self)?
            .import_memory(&sessions, &facts)
            .map_err(|error| memory_store::store_error(&error))?;
        Ok(MemoryImported {
            sessions: imported.sessions,
            facts: imported.facts,
            unchanged: imported.unchanged,
            forgotten: imported.forgotten + left_out,
        })
    }
}
