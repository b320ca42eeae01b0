//! `read_ref` and `cleanup_temp_files`: reads and removes saved results.
//!
//! Does not know when a response is saved: that is `reply`.

use crate::Service;
use api::saved_results::{CleanedUp, Cleanup, ReadRef, RefRead};
use api::{Control, Error, Handle};

impl Handle<ReadRef> for Service {
    fn handle(&self, request: &ReadRef) -> Result<RefRead, Error> {
        self.saved_results().read_lines(request, self.inline_threshold(&Control::default())?)
    }
}

impl Handle<Cleanup> for Service {
    fn handle(&self, request: &Cleanup) -> Result<CleanedUp, Error> {
        self.saved_results().remove_old(request)
    }
}
