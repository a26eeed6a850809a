//! The tasks that run in this process, and what all of them share.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::modern::PendingInput;
use mcp_protocol::task::{MemoryStore, TaskStore};
use mcp_protocol::{Exchange, Principal, RequestContext};
use tokio::sync::watch;

use super::TaskOptions;
use crate::server::subscriptions::Listens;
use crate::sync::lock;

/// Requests about tasks that one principal may make in [`WINDOW`], where there are no sessions.
const IN_WINDOW: u32 = 400;
const WINDOW: Duration = Duration::from_secs(4);
/// Principals whose requests are counted at a time.
const MOST_COUNTED: usize = 4_096;

/// The tasks of a server.
pub(crate) struct Tasks {
    setup: Mutex<Arc<Setup>>,
    running: Mutex<Table>,
    counted: Mutex<HashMap<Principal, (Instant, u32)>>,
    pub(super) listens: Arc<Listens>,
    /// Whether what was unfinished has been taken up.
    pub(super) awake: AtomicBool,
    /// Whether something is being taken up; it tells of each task that was.
    pub(super) recovering: watch::Sender<bool>,
    /// Whether somebody removes what is expired.
    pub(super) sweeping: AtomicBool,
}

/// Where and how tasks are kept.
pub(super) struct Setup {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) options: TaskOptions,
    /// Whether the store may hold what another process left.
    pub(super) lasts: bool,
}

#[derive(Default)]
struct Table {
    tasks: HashMap<Box<str>, Arc<Live>>,
    owners: HashMap<Option<Principal>, usize>,
}

/// A task that runs in this process.
pub(super) struct Live {
    pub(super) id: Box<str>,
    pub(super) owner: Option<Principal>,
    pub(super) pending: Arc<PendingInput>,
    pub(super) exchange: Exchange,
    /// Whether it has ended, and its end is kept.
    pub(super) ended: watch::Sender<bool>,
}

/// The place of a running task in the table; given back on drop.
pub(super) struct Place {
    pub(super) live: Arc<Live>,
    tasks: Arc<Tasks>,
}

impl Tasks {
    pub(crate) fn new(listens: Arc<Listens>) -> Arc<Self> {
        let setup = Setup {
            store: Arc::new(MemoryStore::new()),
            options: TaskOptions::new(),
            lasts: false,
        };
        Arc::new(Self {
            setup: Mutex::new(Arc::new(setup)),
            running: Mutex::default(),
            counted: Mutex::default(),
            listens,
            awake: AtomicBool::new(false),
            recovering: watch::Sender::new(false),
            sweeping: AtomicBool::new(false),
        })
    }

    pub(super) fn setup(&self) -> Arc<Setup> {
        Arc::clone(&lock(&self.setup))
    }

    pub(super) fn set_store(&self, store: impl TaskStore) {
        let mut setup = lock(&self.setup);
        *setup = Arc::new(Setup {
            store: Arc::new(store),
            options: setup.options.clone(),
            lasts: true,
        });
    }

    pub(super) fn set_options(&self, options: TaskOptions) {
        let mut setup = lock(&self.setup);
        *setup = Arc::new(Setup {
            store: Arc::clone(&setup.store),
            options,
            lasts: setup.lasts,
        });
    }

    /// The task of this id, if it runs here.
    pub(super) fn running(&self, id: &str) -> Option<Arc<Live>> {
        lock(&self.running).tasks.get(id).cloned()
    }

    /// The same; if tasks of an earlier process are being taken up, once it is known whether this
    /// is one of them.
    pub(super) async fn taken_up(&self, id: &str) -> Option<Arc<Live>> {
        let mut recovering = self.recovering.subscribe();
        loop {
            let goes_on = *recovering.borrow_and_update();
            if let Some(live) = self.running(id) {
                return Some(live);
            }
            if !goes_on || recovering.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Puts a task on the table before it is kept, so that nobody takes it for one that was left
    /// behind.
    pub(super) fn place(self: &Arc<Self>, live: Live, most: usize) -> Result<Place, ErrorObject> {
        let live = Arc::new(live);
        let mut table = lock(&self.running);
        let of_owner = table.owners.entry(live.owner.clone()).or_default();
        if *of_owner >= most {
            return Err(ErrorObject::internal(format!(
                "{most} tasks are running, the limit; try again when one has ended"
            )));
        }
        *of_owner += 1;
        table.tasks.insert(live.id.clone(), Arc::clone(&live));
        Ok(Place {
            live,
            tasks: Arc::clone(self),
        })
    }

    /// Whether another request about tasks is served.
    pub(super) fn admit(&self, context: &RequestContext, now: Instant) -> Result<(), ErrorObject> {
        let admitted = match context.principal() {
            _ if !context.rules().stateless => context.session().admits_task_request(now),
            Some(principal) => self.count(principal, now),
            // Nobody in particular: there is nobody to tell from others, and ids are not guessed.
            None => true,
        };
        if admitted {
            return Ok(());
        }
        tracing::warn!(owner = ?context.principal(), "too many requests about tasks");
        Err(ErrorObject::internal(
            "too many requests about tasks; keep to the poll interval of the task",
        ))
    }

    fn count(&self, principal: &Principal, now: Instant) -> bool {
        let mut counted = lock(&self.counted);
        if counted.len() >= MOST_COUNTED && !counted.contains_key(principal) {
            counted.retain(|_, (since, _)| now.saturating_duration_since(*since) < WINDOW);
            if counted.len() >= MOST_COUNTED {
                return true;
            }
        }
        let (since, requests) = counted.entry(principal.clone()).or_insert((now, 0));
        if now.saturating_duration_since(*since) >= WINDOW {
            (*since, *requests) = (now, 0);
        }
        *requests += 1;
        *requests <= IN_WINDOW
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Whoever waits looks into the store.
        self.live.ended.send_replace(true);
        let mut table = lock(&self.tasks.running);
        table.tasks.remove(&self.live.id);
        if let Some(running) = table.owners.get_mut(&self.live.owner) {
            *running -= 1;
            if *running == 0 {
                table.owners.remove(&self.live.owner);
            }
        }
    }
}
