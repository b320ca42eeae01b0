//! Watches folders through the kernel. Folders beyond the kernel's limits are polled; when the kernel reports lost
//! events, everything is checked again.
//!
//! Does not read files or know their content.

use crate::events::{Events, FolderKind};
use crate::probe::Probe;
use crate::server::Counters;
use notify::event::ModifyKind;
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct FolderWatcher {
    /// `None` if the kernel provides no watcher at all.
    watcher: Option<RecommendedWatcher>,
    watched: Arc<Mutex<BTreeMap<PathBuf, FolderKind>>>,
    /// Folders beyond the kernel's watch limit.
    polled: BTreeMap<PathBuf, FolderKind>,
    events: Arc<Events>,
    counters: Arc<Counters>,
}

impl FolderWatcher {
    pub(crate) fn new(events: &Arc<Events>, figures: &Arc<Counters>, probe: &Arc<Probe>) -> FolderWatcher {
        let known: Arc<Mutex<BTreeMap<PathBuf, FolderKind>>> = Arc::default();
        let (map, pending, counters) = (Arc::clone(&known), Arc::clone(events), Arc::clone(figures));
        let probed = Arc::clone(probe);
        let handler =
            move |event: notify::Result<Event>| handle_event(&map, &pending, &counters, &probed, event);
        let mut watcher = notify::recommended_watcher(handler).ok();
        if let Some(watcher) = &mut watcher {
            // Without it, every request looks at the files itself.
            let _ = watcher.watch(probe.folder(), RecursiveMode::NonRecursive);
        }
        let (events, figures) = (Arc::clone(events), Arc::clone(figures));
        FolderWatcher { watcher, watched: known, polled: BTreeMap::new(), events, counters: figures }
    }

    /// Replaces the set of watched folders. Returns whether all of the history were watched before, and are now.
    pub(crate) fn set_folders(&mut self, wanted: Vec<(PathBuf, FolderKind)>) -> bool {
        let wanted: BTreeMap<PathBuf, FolderKind> = wanted.into_iter().collect();
        let old: Vec<PathBuf> = {
            let known = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            known.keys().filter(|path| !wanted.contains_key(*path)).cloned().collect()
        };
        for path in old {
            self.unwatch_folder(&path);
        }
        self.polled.clear();
        let mut full = self.watcher.is_none();
        let mut were_watched = true;
        for (path, kind) in wanted {
            if self.is_watched(&path) {
                continue;
            }
            were_watched &= kind != FolderKind::History;
            if full || !self.watch_folder(&path, &kind, &mut full) {
                self.polled.insert(path, kind);
            }
        }
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner).len();
        self.counters.watched.store(watched as u64, Relaxed);
        self.counters.polled.store(self.polled.len() as u64, Relaxed);
        were_watched && self.are_all_watched()
    }

    /// Whether no folder is polled.
    pub(crate) fn are_all_watched(&self) -> bool {
        self.polled.is_empty()
    }

    fn is_watched(&self, path: &Path) -> bool {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).contains_key(path)
    }

    /// Returns false if the folder must be polled. It is registered before it is watched, because the first event may
    /// arrive at once.
    fn watch_folder(&mut self, path: &Path, kind: &FolderKind, full: &mut bool) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), kind.clone());
        let Err(error) = watcher.watch(path, RecursiveMode::NonRecursive) else { return true };
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        // A folder that has disappeared meanwhile is neither watched nor polled.
        let limit = matches!(error.kind, ErrorKind::MaxFilesWatch) || path.is_dir();
        *full |= matches!(error.kind, ErrorKind::MaxFilesWatch);
        !limit
    }

    fn unwatch_folder(&mut self, path: &Path) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        if let Some(watcher) = &mut self.watcher {
            let _ = watcher.unwatch(path);
        }
    }

    /// Requests a check of everything that has unwatched folders: it may have changed.
    pub(crate) fn poll_unwatched(&self) {
        let mut kinds: Vec<&FolderKind> = Vec::new();
        for kind in self.polled.values() {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        for kind in kinds {
            self.events.record_polled_change(kind);
        }
    }
}

fn handle_event(
    known: &Mutex<BTreeMap<PathBuf, FolderKind>>,
    events: &Events,
    figures: &Counters,
    probe: &Probe,
    event: notify::Result<Event>,
) {
    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let lost = event.as_ref().map_or(true, Event::need_rescan);
    if lost {
        figures.overflows.fetch_add(1, Relaxed);
        let mut kinds: Vec<&FolderKind> = known.values().collect();
        kinds.dedup();
        for kind in kinds {
            events.record_change(kind);
        }
        events.request_folder_scan();
        return;
    }
    let Ok(event) = event else { return };
    // Our own reads cause access events, too.
    if matches!(event.kind, EventKind::Access(_)) {
        return;
    }
    for path in event.paths.iter().filter(|path| !probe.take_event(path)) {
        let within = path.parent().and_then(|folder| known.get(folder)).or_else(|| known.get(path));
        let Some(kind) = within else { continue };
        events.record_change(kind);
        let moves = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)));
        if moves && path.is_dir() {
            events.record_new_folder(path, kind);
        } else if known.contains_key(path) && !path.exists() {
            events.request_folder_scan();
        }
    }
}
