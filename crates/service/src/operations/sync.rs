//! Synchronisation with the other devices of a person.
//!
//! Does not know what travels: that is in `exchange`.

use crate::Service;
use api::sync::{
    SyncDevicesRequest, SyncExclude, SyncInit, SyncJoin, SyncLeave, SyncNow, SyncPreview, SyncRemove,
    SyncStatusRequest,
};
use api::{Error, Handle, Request};
use config::env::{cloud_variables, host_name};
use exchange::operations::{self, Caller};

impl Service {
    fn sync_caller(&self) -> Caller<'_> {
        Caller { history: self.history(), variables: cloud_variables(), host: host_name() }
    }

    /// Runs a round, if this device belongs to a space and a person has run the first one.
    pub fn sync_if_started(&self) -> Result<(), Error> {
        operations::sync_if_started(&self.sync_caller())
    }
}

macro_rules! handle {
    ($($request:ident => $function:ident,)*) => {$(
        impl Handle<$request> for Service {
            fn handle(&self, request: &$request) -> Result<<$request as Request>::Response, Error> {
                request.check_params()?;
                operations::$function(&self.sync_caller(), request)
            }
        }
    )*};
}
handle! {
    SyncInit => init,
    SyncJoin => join,
    SyncNow => sync_now,
    SyncPreview => show_preview,
    SyncStatusRequest => show_status,
    SyncDevicesRequest => list_devices,
    SyncExclude => exclude,
    SyncRemove => remove,
    SyncLeave => leave,
}
