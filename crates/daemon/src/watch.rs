//! Watches folders through the kernel. Folders beyond the kernel's limits are polled; when the kernel reports lost
//! events, everything is checked again.
//!
//! Does not read files or know their content.

use crate::events::{Events, Kind};
use crate::serve::Figures;
use notify::event::ModifyKind;
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct Watching {
    /// `None` if the kernel provides no watcher at all.
    watcher: Option<RecommendedWatcher>,
    known: Arc<Mutex<BTreeMap<PathBuf, Kind>>>,
    /// Folders beyond the kernel's watch limit.
    polled: BTreeMap<PathBuf, Kind>,
    events: Arc<Events>,
    figures: Arc<Figures>,
}

impl Watching {
    pub(crate) fn new(events: &Arc<Events>, figures: &Arc<Figures>) -> Watching {
        let known: Arc<Mutex<BTreeMap<PathBuf, Kind>>> = Arc::default();
        let (map, pending, counters) = (Arc::clone(&known), Arc::clone(events), Arc::clone(figures));
        let handler = move |event: notify::Result<Event>| heard(&map, &pending, &counters, event);
        let watcher = notify::recommended_watcher(handler).ok();
        let (events, figures) = (Arc::clone(events), Arc::clone(figures));
        Watching { watcher, known, polled: BTreeMap::new(), events, figures }
    }

    /// Replaces the set of watched folders.
    pub(crate) fn set(&mut self, wanted: Vec<(PathBuf, Kind)>) {
        let wanted: BTreeMap<PathBuf, Kind> = wanted.into_iter().collect();
        let old: Vec<PathBuf> = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.keys().filter(|path| !wanted.contains_key(*path)).cloned().collect()
        };
        for path in old {
            self.forget(&path);
        }
        self.polled.clear();
        let mut full = self.watcher.is_none();
        for (path, kind) in wanted {
            if self.is_known(&path) {
                continue;
            }
            if full || !self.add(&path, &kind, &mut full) {
                self.polled.insert(path, kind);
            }
        }
        let watched = self.known.lock().unwrap_or_else(PoisonError::into_inner).len();
        self.figures.watched.store(watched as u64, Relaxed);
        self.figures.polled.store(self.polled.len() as u64, Relaxed);
    }

    fn is_known(&self, path: &Path) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains_key(path)
    }

    /// Returns false if the folder must be polled. It is registered before it is watched, because the first event may
    /// arrive at once.
    fn add(&mut self, path: &Path, kind: &Kind, full: &mut bool) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), kind.clone());
        let Err(error) = watcher.watch(path, RecursiveMode::NonRecursive) else { return true };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        // A folder that has disappeared meanwhile is neither watched nor polled.
        let limit = matches!(error.kind, ErrorKind::MaxFilesWatch) || path.is_dir();
        *full |= matches!(error.kind, ErrorKind::MaxFilesWatch);
        !limit
    }

    fn forget(&mut self, path: &Path) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        if let Some(watcher) = &mut self.watcher {
            let _ = watcher.unwatch(path);
        }
    }

    /// Requests a check of everything that has unwatched folders: it may have changed.
    pub(crate) fn poll(&self) {
        let mut kinds: Vec<&Kind> = Vec::new();
        for kind in self.polled.values() {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        for kind in kinds {
            self.events.moved_unseen(kind);
        }
    }
}

fn heard(
    known: &Mutex<BTreeMap<PathBuf, Kind>>,
    events: &Events,
    figures: &Figures,
    event: notify::Result<Event>,
) {
    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let lost = event.as_ref().map_or(true, Event::need_rescan);
    if lost {
        figures.overflows.fetch_add(1, Relaxed);
        let mut kinds: Vec<&Kind> = known.values().collect();
        kinds.dedup();
        for kind in kinds {
            events.moved(kind);
        }
        events.rearranged();
        return;
    }
    let Ok(event) = event else { return };
    // Our own reads cause access events, too.
    if matches!(event.kind, EventKind::Access(_)) {
        return;
    }
    for path in &event.paths {
        let within = path.parent().and_then(|folder| known.get(folder)).or_else(|| known.get(path));
        let Some(kind) = within else { continue };
        events.moved(kind);
        let moves = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)));
        if moves && path.is_dir() {
            events.came(path, kind);
        } else if known.contains_key(path) && !path.exists() {
            events.rearranged();
        }
    }
}
