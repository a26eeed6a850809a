//! Tests of the result cache: which results are stored, how many, and for how long.

use serde_json::json;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn object(value: Value) -> JsonObject {
    let Value::Object(members) = value else {
        panic!("{value}")
    };
    members
}

#[expect(clippy::needless_pass_by_value, reason = "literals are handed over")]
fn result(members: Value) -> RawJson {
    RawJson::copy(&members.to_string())
}

/// Looks up a result and panics if it is cached.
fn missing(cache: &Cache, method: &str, params: Value, fresh: bool, now: Instant) -> EmptySlot {
    match cache.find(method, &object(params), fresh, now) {
        Lookup::Miss(slot) => slot,
        _ => panic!("a result of {method} is cached"),
    }
}

/// Stores a result with `text` and a time to live of one minute.
fn put(cache: &Cache, method: &str, params: Value, text: &str, now: Instant) {
    let slot = missing(cache, method, params, false, now);
    cache.keep(slot, &result(json!({ "ttlMs": 60_000, "text": text })), now);
}

fn get(cache: &Cache, method: &str, params: Value, now: Instant) -> Option<String> {
    match cache.find(method, &object(params), false, now) {
        Lookup::Hit(result) => {
            let result: Value = result.decode().unwrap();
            Some(result["text"].as_str().unwrap().to_owned())
        }
        _ => None,
    }
}

fn cache() -> Cache {
    Cache::new(CacheLimits::default())
}

// proves: M-CACHE-003, M-CACHE-006, M-CACHE-010
#[test]
fn a_cached_result_is_used_for_the_same_params_until_its_time_to_live_ends() {
    let (cache, now) = (cache(), Instant::now());
    let a = json!({ "uri": "x:a", "_meta": { "progressToken": 1 } });
    put(&cache, method::RESOURCES_READ, a, "a", now);
    let read = |uri: &str, now| get(&cache, method::RESOURCES_READ, json!({ "uri": uri }), now);
    assert_eq!(read("x:a", now).as_deref(), Some("a"));
    assert_eq!(read("x:b", now), None);
    assert_eq!(
        get(&cache, method::RESOURCES_LIST, json!({ "uri": "x:a" }), now),
        None
    );
    let last = now + 60 * SECOND - Duration::from_millis(1);
    assert_eq!(read("x:a", last).as_deref(), Some("a"));
    assert_eq!(read("x:a", now + 60 * SECOND), None);
    let stale = json!({ "uri": "x:a" });
    let slot = missing(
        &cache,
        method::RESOURCES_READ,
        stale,
        false,
        now + 60 * SECOND,
    );
    cache.keep(slot, &result(json!({ "ttlMs": 0 })), now);
    assert_eq!(cache.size(), (0, 0), "the next result may not be cached");
}

// proves: M-CACHE-004, M-CACHE-005, M-CACHE-007, M-CACHE-008
#[test]
fn uncacheable_results_are_not_cached() {
    let (cache, now) = (cache(), Instant::now());
    for ttl in [json!(0), json!(-5), json!(null), json!("60000")] {
        let slot = missing(&cache, method::TOOLS_LIST, json!({}), false, now);
        cache.keep(slot, &result(json!({ "ttlMs": ttl })), now);
    }
    assert_eq!(cache.size(), (0, 0));
    for (method, params) in [
        (method::TOOLS_CALL, json!({ "name": "a" })),
        (
            method::RESOURCES_READ,
            json!({ "uri": "x:a", "requestState": "" }),
        ),
        (
            method::RESOURCES_READ,
            json!({ "uri": "x:a", "inputResponses": {} }),
        ),
    ] {
        let found = cache.find(method, &object(params), false, now);
        assert!(matches!(found, Lookup::Uncacheable), "{method}");
    }
    let off = Cache::new(CacheLimits::NONE);
    let found = off.find(method::TOOLS_LIST, &JsonObject::new(), false, now);
    assert!(matches!(found, Lookup::Uncacheable));
}

// proves: M-CACHE-019
#[test]
fn a_change_removes_the_results_it_affects() {
    let (cache, now) = (cache(), Instant::now());
    let read = |uri: &str| get(&cache, method::RESOURCES_READ, json!({ "uri": uri }), now);
    for uri in ["x:/dir", "x:/dir/a", "x:/dir/b"] {
        put(
            &cache,
            method::RESOURCES_READ,
            json!({ "uri": uri }),
            uri,
            now,
        );
    }
    put(&cache, method::TOOLS_LIST, json!({}), "tools", now);
    cache.forget_resource("x:/dir/a");
    assert_eq!(read("x:/dir"), None);
    assert_eq!(read("x:/dir/a"), None);
    assert!(read("x:/dir/b").is_some());
    cache.forget(&[method::PROMPTS_LIST]);
    assert!(get(&cache, method::TOOLS_LIST, json!({}), now).is_some());
    cache.forget(&[method::TOOLS_LIST]);
    assert_eq!(get(&cache, method::TOOLS_LIST, json!({}), now), None);
    cache.clear();
    assert_eq!(cache.size(), (0, 0));
}

#[test]
fn a_fresh_request_bypasses_the_cache_and_updates_it() {
    let (cache, now) = (cache(), Instant::now());
    put(&cache, method::TOOLS_LIST, json!({}), "old", now);
    let slot = missing(&cache, method::TOOLS_LIST, json!({}), true, now);
    let list = |now| get(&cache, method::TOOLS_LIST, json!({}), now);
    assert_eq!(list(now).as_deref(), Some("old"));
    cache.keep(slot, &result(json!({ "ttlMs": 1_000, "text": "new" })), now);
    assert_eq!(list(now).as_deref(), Some("new"));
}

#[test]
fn a_result_is_not_cached_if_a_change_arrives_during_its_request() {
    let (cache, now) = (cache(), Instant::now());
    let slot = missing(&cache, method::TOOLS_LIST, json!({}), false, now);
    cache.forget(&[method::TOOLS_LIST]);
    cache.keep(slot, &result(json!({ "ttlMs": 60_000 })), now);
    assert_eq!(cache.size(), (0, 0));
}

#[test]
fn a_full_cache_drops_the_least_recently_used_result() {
    let now = Instant::now();
    let page = |n: usize| json!({ "cursor": n.to_string() });
    let few = Cache::new(CacheLimits::default().with_entries(3));
    for n in 0..3 {
        put(&few, method::TOOLS_LIST, page(n), "page", now);
    }
    assert!(get(&few, method::TOOLS_LIST, page(0), now).is_some());
    put(&few, method::TOOLS_LIST, page(3), "page", now);
    let kept = |n| get(&few, method::TOOLS_LIST, page(n), now).is_some();
    assert_eq!([0, 1, 2, 3].map(kept), [true, false, true, true]);

    let small = Cache::new(CacheLimits::default().with_bytes(1_000));
    let long = "x".repeat(400);
    for n in 0..5 {
        put(&small, method::TOOLS_LIST, page(n), &long, now);
        assert!(small.size().1 <= 1_000);
    }
    assert_eq!(small.size().0, 2);
    put(
        &small,
        method::PROMPTS_LIST,
        page(0),
        &"x".repeat(2_000),
        now,
    );
    assert_eq!(
        small.size().0,
        2,
        "a result that exceeds the limit evicts no other"
    );
}

#[test]
fn the_time_to_live_of_a_cached_result_has_a_maximum() {
    let (cache, now) = (cache(), Instant::now());
    let slot = missing(&cache, method::TOOLS_LIST, json!({}), false, now);
    cache.keep(
        slot,
        &result(json!({ "ttlMs": u64::MAX, "text": "t" })),
        now,
    );
    assert!(get(&cache, method::TOOLS_LIST, json!({}), now + MAX_TTL / 2).is_some());
    assert_eq!(
        get(&cache, method::TOOLS_LIST, json!({}), now + MAX_TTL),
        None
    );
}
