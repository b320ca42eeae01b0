//! Synchronisation with the other devices of a person, and with teams.
//!
//! Does not know what travels: that is in `exchange`.

use crate::Service;
use api::sync::{
    SyncAdmit, SyncCheck, SyncDevicesRequest, SyncExclude, SyncInit, SyncJoin, SyncLeave, SyncNow,
    SyncPreview, SyncRekey, SyncRemove, SyncShare, SyncStatusRequest, SyncTake, SyncUnshare,
};
use api::{Error, Handle, Request};
use config::env::{cloud_variables, host_name};
use exchange::{Caller, operations, teams};

impl Service {
    pub(super) fn sync_caller(&self) -> Caller<'_> {
        Caller { history: self.history(), variables: cloud_variables(), host: host_name() }
    }

    /// Runs a round, if this device belongs to a space and a person has run the first one. Returns the requests of one without news.
    pub fn sync_if_started(&self) -> Result<u64, Error> {
        operations::sync_if_started(&self.sync_caller())
    }
}

macro_rules! handle {
    ($($request:ident => $module:ident::$function:ident,)*) => {$(
        impl Handle<$request> for Service {
            fn handle(&self, request: &$request) -> Result<<$request as Request>::Response, Error> {
                request.check_params()?;
                $module::$function(&self.sync_caller(), request)
            }
        }
    )*};
}
handle! {
    SyncInit => operations::init,
    SyncJoin => operations::join,
    SyncAdmit => teams::admit,
    SyncShare => teams::share,
    SyncUnshare => teams::unshare,
    SyncTake => teams::take,
    SyncNow => operations::sync_now,
    SyncPreview => operations::show_preview,
    SyncStatusRequest => operations::show_status,
    SyncDevicesRequest => operations::list_devices,
    SyncExclude => operations::exclude,
    SyncRemove => operations::remove,
    SyncRekey => operations::replace_phrase,
    SyncCheck => operations::check,
    SyncLeave => operations::leave,
}
