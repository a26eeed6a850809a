//! Tests of the rules for an [`EventStore`].

use bytes::Bytes;

use crate::{Durability, EventStore, Replay, SessionId, StreamKey};

/// Tests the rules for an [`EventStore`]. The store must be able to hold 40 events of 300 bytes and 400 events of 100 bytes. The
/// tests may leave events in the store.
///
/// # Errors
/// The store violates a rule. The text describes the rule.
pub async fn event_store_contract(store: &impl EventStore) -> Result<(), String> {
    let test = Test { store };
    test.streams_are_replayed_alone_and_in_order().await?;
    test.a_replay_sees_events_that_are_being_stored().await?;
    test.a_replay_ends_at_a_number_of_bytes().await?;
    test.a_replay_is_never_incomplete().await?;
    test.an_event_is_stored_once().await?;
    test.a_removed_stream_is_gone().await
}

struct Test<'a, S> {
    store: &'a S,
}

fn key(test: u8, session: u8, stream: u32) -> StreamKey {
    let mut id = [b'}'; 32];
    (id[0], id[31]) = (test, session);
    StreamKey::new(SessionId::from_bytes(id), stream)
}

/// Returns an event whose data contains the stream, the sequence number, and every byte value.
fn event(key: StreamKey, sequence: u64) -> Bytes {
    let bytes = key.session.as_bytes();
    let start = format!("id: {:?} {} {sequence}\r\n\0", bytes, key.stream);
    let all = (0..=u8::MAX).chain(start.into_bytes());
    all.collect()
}

fn events(key: StreamKey, sequences: impl IntoIterator<Item = u64>) -> Replay {
    Replay::Events(
        sequences
            .into_iter()
            .map(|sequence| event(key, sequence))
            .collect(),
    )
}

impl<S: EventStore> Test<'_, S> {
    /// Appends an event and waits until it is durable.
    async fn append(&self, key: StreamKey, sequence: u64) -> Result<(), String> {
        match self.store.append(key, sequence, event(key, sequence)) {
            Durability::Immediate => Ok(()),
            Durability::Pending(stored) => stored.await.map_err(|error| error.to_string()),
        }
    }

    async fn expect(&self, key: StreamKey, after: u64, expected: Replay) -> Result<(), String> {
        let found = self.store.replay(key, after, usize::MAX).await;
        let found = found.map_err(|error| error.to_string())?;
        if found == expected {
            return Ok(());
        }
        let stream = key.stream;
        Err(format!(
            "stream {stream} after {after}: expected {expected:?}, found {found:?}; if these are equal, the contents of the events differ"
        ))
    }

    async fn streams_are_replayed_alone_and_in_order(&self) -> Result<(), String> {
        let streams = [
            key(1, 1, 0),
            key(1, 1, 1),
            key(1, 1, u32::MAX),
            key(1, 2, 1),
        ];
        for sequence in 1..=20 {
            for stream in streams {
                self.append(stream, sequence).await?;
            }
        }
        for stream in streams {
            for after in [0, 1, 19, 20] {
                let expected = events(stream, after + 1..=20);
                self.expect(stream, after, expected).await?;
            }
        }
        Ok(())
    }

    async fn a_replay_sees_events_that_are_being_stored(&self) -> Result<(), String> {
        let stream = key(2, 1, 1);
        let pending: Vec<Durability> = (1..=300)
            .map(|sequence| self.store.append(stream, sequence, event(stream, sequence)))
            .collect();
        self.expect(stream, 0, events(stream, 1..=300)).await?;
        drop(pending);
        self.expect(stream, 299, events(stream, [300])).await
    }

    async fn a_replay_ends_at_a_number_of_bytes(&self) -> Result<(), String> {
        let stream = key(6, 1, 1);
        for sequence in 1..=40 {
            self.append(stream, sequence).await?;
        }
        let one = event(stream, 1).len();
        for (bytes, count) in [(1, 1), (one, 1), (one + 1, 2), (30 * one, 30)] {
            let found = self.store.replay(stream, 5, bytes).await;
            let found = found.map_err(|error| error.to_string())?;
            let expected = events(stream, 6..6 + count);
            if found != expected {
                return Err(format!(
                    "{bytes} bytes: expected {expected:?}, found {found:?}"
                ));
            }
        }
        Ok(())
    }

    async fn a_replay_is_never_incomplete(&self) -> Result<(), String> {
        let unknown = key(3, 1, 1);
        self.expect(unknown, 0, events(unknown, [])).await?;
        self.expect(unknown, 1, Replay::Gone).await?;
        let stream = key(3, 1, 2);
        for sequence in [1, 2, 4, 5] {
            self.append(stream, sequence).await?;
        }
        self.expect(stream, 0, Replay::Gone).await?;
        self.expect(stream, 2, Replay::Gone).await?;
        self.expect(stream, 4, events(stream, [5])).await
    }

    async fn an_event_is_stored_once(&self) -> Result<(), String> {
        let stream = key(4, 1, 1);
        for sequence in [1, 2, 2, 1, 3] {
            self.append(stream, sequence).await?;
        }
        self.expect(stream, 0, events(stream, 1..=3)).await
    }

    async fn a_removed_stream_is_gone(&self) -> Result<(), String> {
        let (removed, kept) = (key(5, 1, 1), key(5, 1, 2));
        let (ended, other) = (key(5, 2, 0), key(5, 3, 0));
        for stream in [removed, kept, ended, other] {
            self.append(stream, 1).await?;
        }
        self.store.forget_stream(removed);
        self.store.forget_session(ended.session);
        for stream in [removed, ended] {
            self.expect(stream, 0, events(stream, [])).await?;
            self.expect(stream, 1, Replay::Gone).await?;
        }
        for stream in [kept, other] {
            self.expect(stream, 0, events(stream, [1])).await?;
        }
        Ok(())
    }
}
