//! Limits on the number of requests of one client.

use std::collections::HashMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Owner, Rate, RequestContext, TokenBucket, lock};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

/// Maximum number of clients whose requests are counted. If there are more clients, clients without recent requests are removed.
const MAX_CLIENTS: usize = 16_384;
/// Minimum interval between searches for clients without recent requests, if the table is full.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Limits on the requests of one client to the servers of a gateway. A client is a verified principal or, without authentication,
/// a network address. All clients over stdio count as one client. Requests to which the gateway responds itself are not counted.
/// Default: no limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ClientLimits {
    /// Maximum number of requests per minute. A client that has sent no request for a minute can send this number of requests at
    /// once. A `subscriptions/listen` request counts as one request, plus one request for each resource.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Maximum number of requests that run at the same time. A parked call is not counted until its client continues it. A
    /// `subscriptions/listen` request is not counted.
    pub requests_in_flight: Option<NonZeroUsize>,
}

impl ClientLimits {
    /// Creates limits without a maximum.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of requests per minute.
    #[must_use]
    pub fn with_requests_per_minute(mut self, requests: NonZeroU32) -> Self {
        self.requests_per_minute = Some(requests);
        self
    }

    /// Sets the maximum number of requests that run at the same time.
    #[must_use]
    pub fn with_requests_in_flight(mut self, requests: NonZeroUsize) -> Self {
        self.requests_in_flight = Some(requests);
        self
    }
}

/// A counter of the requests of each client.
#[derive(Default)]
pub(super) struct RequestCounter(Mutex<Clients>);

#[derive(Default)]
struct Clients {
    by_key: HashMap<Owner, Usage>,
    cleaned_up: Option<Instant>,
}

/// The requests of one client.
#[derive(Default)]
struct Usage {
    in_flight: usize,
    bucket: TokenBucket,
}

/// A guard for a running request: the request is counted until the guard is dropped.
pub(super) struct RequestGuard {
    counter: Arc<RequestCounter>,
    key: Owner,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if let Some(usage) = lock(&self.counter.0).by_key.get_mut(&self.key) {
            usage.in_flight -= 1;
        }
    }
}

impl RequestCounter {
    /// Counts a request of a client. `requests` is the number of requests that the gateway sends to servers to serve this
    /// request.
    ///
    /// # Errors
    /// The client has reached a limit.
    pub(super) fn admit(
        self: &Arc<Self>,
        limits: ClientLimits,
        context: &RequestContext,
        requests: usize,
    ) -> Result<Option<RequestGuard>, ErrorObject> {
        if limits == ClientLimits::default() {
            return Ok(None);
        }
        let key = context.owner();
        self.count(limits, &key, requests, Instant::now())?;
        let counter = Arc::clone(self);
        Ok(Some(RequestGuard { counter, key }))
    }

    fn count(
        &self,
        limits: ClientLimits,
        key: &Owner,
        requests: usize,
        now: Instant,
    ) -> Result<(), ErrorObject> {
        let mut clients = lock(&self.0);
        if !clients.by_key.contains_key(key) && clients.by_key.len() >= MAX_CLIENTS {
            clients.sweep(limits, now);
            if clients.by_key.len() >= MAX_CLIENTS {
                return Err(refused(
                    &format!("the gateway already counts the requests of {MAX_CLIENTS} clients"),
                    CLEANUP_INTERVAL,
                ));
            }
        }
        let usage = clients.by_key.entry(key.clone()).or_default();
        if let Some(max) = limits.requests_in_flight
            && usage.in_flight >= max.get()
        {
            return Err(refused(
                &format!(
                    "{max} requests of this client are running, the limit of \"requestsInFlight\""
                ),
                Duration::from_secs(1),
            ));
        }
        if let Some(max) = limits.requests_per_minute {
            // A request that counts more than the limit counts as the limit; otherwise it could never be sent.
            let requests = u32::try_from(requests).map_or(max.get(), |count| count.min(max.get()));
            let rate = Rate::per(MINUTE, max.get());
            let taken = usage.bucket.take(f64::from(requests), rate, now.into_std());
            taken.map_err(|few| {
                refused(
                    &format!(
                        "this client has made {max} requests in a minute, the limit of \"requestsPerMinute\""
                    ),
                    few.wait,
                )
            })?;
        }
        usage.in_flight += 1;
        Ok(())
    }
}

impl Clients {
    /// Removes each client that has no running request and may again send the full number of requests.
    fn sweep(&mut self, limits: ClientLimits, now: Instant) {
        if self
            .cleaned_up
            .is_some_and(|cleaned_up| now < cleaned_up + CLEANUP_INTERVAL)
        {
            return;
        }
        self.cleaned_up = Some(now);
        let rate = limits.requests_per_minute;
        let rate = rate.map(|max| Rate::per(MINUTE, max.get()));
        self.by_key.retain(|_, usage| {
            let is_full = |rate| usage.bucket.is_full(rate, now.into_std());
            usage.in_flight > 0 || !rate.is_none_or(is_full)
        });
    }
}

fn refused(reason: &str, wait: Duration) -> ErrorObject {
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    let text = format!("{reason}; try again in {:.1} s", wait.as_secs_f64());
    ErrorObject::internal(text).with_data(json!({ "retryAfterMs": millis }))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn address(number: u32) -> Owner {
        Owner::new(None, Some(IpAddr::V4(number.into())))
    }

    fn limits(per_minute: u32) -> ClientLimits {
        ClientLimits::new().with_requests_per_minute(NonZeroU32::new(per_minute).unwrap())
    }

    #[test]
    fn a_client_can_send_the_requests_of_a_minute_at_once() {
        let counter = RequestCounter::default();
        let start = Instant::now();
        let count = |millis| {
            let now = start + Duration::from_millis(millis);
            counter.count(limits(60), &address(1), 1, now)
        };
        for _ in 0..60 {
            count(0).unwrap();
        }
        let error = count(500).unwrap_err();
        assert!(error.message.contains("requestsPerMinute"), "{error}");
        assert_eq!(error.data.unwrap()["retryAfterMs"], 500);
        count(1_000).unwrap();
        count(1_001).unwrap_err();
        counter
            .count(limits(60), &address(2), 1, start)
            .expect("another client has its own limit");
    }

    #[test]
    fn each_setter_changes_only_its_limit() {
        let (minute, running) = (NonZeroU32::new(2).unwrap(), NonZeroUsize::new(3).unwrap());
        let limits = ClientLimits::new()
            .with_requests_per_minute(minute)
            .with_requests_in_flight(running);
        assert_eq!(limits.requests_per_minute, Some(minute));
        assert_eq!(limits.requests_in_flight, Some(running));
    }

    #[test]
    fn a_client_stays_counted_while_its_request_runs() {
        let counter = RequestCounter::default();
        let limits = limits(60).with_requests_in_flight(NonZeroUsize::MIN);
        let (start, client) = (Instant::now(), address(1));
        counter.count(limits, &client, 1, start).unwrap();
        // The client can make all requests of a minute again.
        let later = start + Duration::from_secs(2);
        lock(&counter.0).sweep(limits, later);
        let error = counter.count(limits, &client, 1, later).unwrap_err();
        assert!(error.message.contains("requestsInFlight"), "{error}");

        lock(&counter.0).by_key.get_mut(&client).unwrap().in_flight = 0;
        lock(&counter.0).sweep(limits, later + CLEANUP_INTERVAL);
        assert!(lock(&counter.0).by_key.is_empty());
    }

    #[test]
    fn the_number_of_counted_clients_is_limited() {
        let counter = RequestCounter::default();
        let start = Instant::now();
        let count = |number: usize, now| {
            let key = address(u32::try_from(number).unwrap());
            let counted = counter.count(limits(60), &key, 1, now);
            if let Some(usage) = lock(&counter.0).by_key.get_mut(&key) {
                usage.in_flight = 0;
            }
            counted
        };
        for number in 0..MAX_CLIENTS {
            count(number, start).unwrap();
        }
        count(MAX_CLIENTS, start).unwrap_err();
        // After a second, each client may again send the full number of requests, so all entries are removed.
        count(MAX_CLIENTS, start + Duration::from_secs(2)).unwrap();
        assert_eq!(lock(&counter.0).by_key.len(), 1);
    }
}
