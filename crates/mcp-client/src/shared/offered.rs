//! Checks whether the server offers a method, before a request is sent.

use mcp_protocol::gate::{self, Unsupported};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use mcp_types::{method, v2026_07_28};

use crate::Error;
use crate::shared::Shared;

impl Shared {
    /// Returns whether the server may answer a tool call with a task (the extension of 2026-07-28).
    pub(crate) fn has_tasks(&self) -> bool {
        self.agreed
            .meta
            .as_ref()
            .is_some_and(|meta| meta.has_tasks())
    }

    /// Checks that the server declared the capability that `method` needs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] names the missing capability.
    pub(crate) fn offers(&self, method: &str) -> Result<(), Error> {
        let offered = match self.offers_tasks(method) {
            Some(offered) => offered,
            None => gate::server_offers(method, &self.agreed.capabilities, self.rules()),
        };
        offered.map_err(|missing| unsupported(method, missing))
    }

    /// Checks that `method` exists in the negotiated revision.
    pub(crate) fn has(&self, method: &str) -> Result<(), Error> {
        if !self.rules().stateless || !is_removed(method) || is_of_tasks_extension(method) {
            return Ok(());
        }
        let (what, revision) = (method.to_owned().into(), self.rules().name);
        Err(unsupported(
            method,
            Unsupported::Revision { what, revision },
        ))
    }

    /// Checks whether the server declared the capability for a method about tasks. Returns `None` for all other methods, and if
    /// the general capability check is sufficient.
    fn offers_tasks(&self, method: &str) -> Option<Result<(), Unsupported>> {
        let capabilities = &self.agreed.capabilities;
        let declared = |declared: bool, name| match declared {
            true => Ok(()),
            false => Err(Unsupported::Capability(name)),
        };
        if self.rules().stateless {
            let extensions = capabilities.extensions.as_ref();
            let has = extensions.is_some_and(|all| all.contains_key(TASKS_EXTENSION));
            return is_of_tasks_extension(method).then(|| declared(has, TASKS_EXTENSION));
        }
        let tasks = capabilities.tasks.as_ref()?;
        match method {
            method::TASKS_LIST => Some(declared(tasks.list.is_some(), "tasks.list")),
            method::TASKS_CANCEL => Some(declared(tasks.cancel.is_some(), "tasks.cancel")),
            _ => None,
        }
    }
}

fn unsupported(method: &str, missing: Unsupported) -> Error {
    let method = method.to_owned().into();
    Error::Unsupported { method, missing }
}

/// Returns whether only session-based revisions have the method. Returns `false` for methods of extensions.
fn is_removed(method: &str) -> bool {
    mcp_types::request_direction(method).is_some()
        && v2026_07_28::request_direction(method).is_none()
}

fn is_of_tasks_extension(method: &str) -> bool {
    matches!(
        method,
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL
    )
}
