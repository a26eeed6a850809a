//! Identifiers nobody else makes, and seals nobody else can.
//!
//! Both rest on SipHash with keys the standard library draws from the operating system.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// An identifier that is unique in this process and unguessable from outside.
pub(crate) fn id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:032x}", tag(&("id", number)))
}

/// A 128-bit tag of `value` under this process's secret keys.
pub(crate) fn tag(value: &impl std::hash::Hash) -> u128 {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let [high, low] = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    u128::from(high.hash_one(value)) << 64 | u128::from(low.hash_one(value))
}

#[cfg(feature = "tasks")]
/// An id that nobody guesses.
pub(crate) fn task_id() -> Result<String, mcp_jsonrpc::ErrorObject> {
    use std::fmt::Write as _;
    let random = ring::rand::SystemRandom::new();
    let bytes: [u8; 32] = ring::rand::generate(&random)
        .map_err(|_| mcp_jsonrpc::ErrorObject::internal("no random id can be made for the task"))?
        .expose();
    Ok(bytes.iter().fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    }))
}
