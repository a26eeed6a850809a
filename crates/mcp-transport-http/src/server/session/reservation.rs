//! Reservations of capacity for new sessions, which are made before a session is opened.

use crate::permit::share::KnownOwner;
use crate::server::options::ServerOptions;
use crate::server::response::refusal::Refusal;
use crate::server::session::HttpSession;
use crate::server::session::table::SessionTable;
use crate::server::session::usage::{NoRoom, Usage};

/// Maximum number of times that old sessions are ended for one new session. Each time can end several sessions.
const MAX_EVICTIONS: usize = 8;

/// Reserved capacity for one session. It is released on drop, unless it was committed.
pub(crate) struct SessionReservation<'a> {
    table: &'a SessionTable,
    options: &'a ServerOptions,
    owner: Option<KnownOwner>,
    part: Usage,
}

impl<'a> SessionReservation<'a> {
    /// Reserves capacity for a session whose client identity is not known yet.
    ///
    /// # Errors
    /// A limit is reached. The error response names the limit.
    pub(crate) fn take(
        table: &'a SessionTable,
        options: &'a ServerOptions,
        owner: Option<KnownOwner>,
    ) -> Result<Self, Refusal> {
        let mut reservation = Self {
            table,
            options,
            owner,
            part: Usage::default(),
        };
        reservation.add(Usage::SESSION)?;
        Ok(reservation)
    }

    /// Adds the memory of the client identity to the reservation, after the session was initialized.
    ///
    /// # Errors
    /// The same as for [`take`](Self::take).
    pub(crate) fn grow(&mut self, session: &HttpSession) -> Result<(), Refusal> {
        let bytes = session.inbound.session().client_memory();
        self.add(Usage { sessions: 0, bytes })?;
        session.set_memory(self.part.bytes);
        Ok(())
    }

    fn add(&mut self, part: Usage) -> Result<(), Refusal> {
        let (table, options, owner) = (self.table, self.options, self.owner.as_ref());
        let reserve = || table.usage.reserve(owner, part, options);
        let mut reserved = reserve().or_else(|_| {
            // Sessions may have expired since the last sweep.
            table.sweep_if_due(options);
            reserve()
        });
        for _ in 0..MAX_EVICTIONS {
            let evicted = match reserved {
                Err(NoRoom::All) => table.evict(None, options),
                Err(NoRoom::Share) => table.evict(owner, options),
                _ => break,
            };
            if evicted == 0 {
                break;
            }
            reserved = reserve();
        }
        reserved.map_err(|no_room| refusal(no_room, options))?;
        self.part.add(part);
        Ok(())
    }

    /// Transfers the capacity to the session. The session releases it when it ends.
    pub(crate) fn commit(mut self) {
        self.part = Usage::default();
    }
}

fn refusal(no_room: NoRoom, options: &ServerOptions) -> Refusal {
    match no_room {
        NoRoom::All => Refusal::busy(format!(
            "no capacity for another session: the limits are {} sessions (SessionLimits::max_sessions) and {} bytes \
             (MemoryLimits::max_session_bytes); send again later",
            options.session_limits.max_sessions, options.memory.max_session_bytes
        )),
        NoRoom::Share => Refusal::share("sessions"),
        NoRoom::Principal => Refusal::busy(format!(
            "the principal has {} sessions, the limit of SessionLimits::max_sessions_per_principal; \
             end one of them",
            options.session_limits.max_sessions_per_principal
        )),
    }
}

impl Drop for SessionReservation<'_> {
    fn drop(&mut self) {
        if self.part != Usage::default() {
            self.table.usage.release(self.owner.as_ref(), self.part);
        }
    }
}
