//! Access to the server that serves a call, without its state type.

use std::any::Any;
use std::sync::Weak;

use crate::Change;

/// The server that serves a call.
pub(crate) trait CallServer: Any + Send + Sync {
    /// Returns a weak reference to the part of the server that reports changes. The reference does not keep the server alive.
    fn reporter(&self) -> Weak<dyn ReportChange>;

    /// Returns a copy of the handle.
    fn to_boxed(&self) -> Box<dyn CallServer>;
}

pub(crate) trait ReportChange: Send + Sync {
    /// Notifies all clients of a change, through the change bus if the server has one.
    fn changed(&self, change: Change);
}
