//! `read_ref` and `cleanup_temp_files`: reads and removes saved results.
//!
//! Does not know when a response is saved: that is `reply`.

use crate::Service;
use api::saved_results::{CleanedUp, Cleanup, ReadRef, RefRead};
use api::{Control, Error, Handle};

impl Handle<ReadRef> for Service {
    fn handle(&self, request: &ReadRef) -> Result<RefRead, Error> {
        self.refs().read(request, self.limits(&Control::default())?)
    }
}

impl Handle<Cleanup> for Service {
    fn handle(&self, request: &Cleanup) -> Result<CleanedUp, Error> {
        self.refs().clean(request)
    }
}
