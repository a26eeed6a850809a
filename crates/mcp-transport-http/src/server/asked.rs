//! What the transport knows of a request beside its body.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use http::request::Parts;

use super::serve::PeerAddr;

/// The head of a request, and where it came from.
pub(crate) struct Asked {
    parts: Parts,
    peer: Option<PeerAddr>,
    told: OnceLock<Box<Parts>>,
}

impl Asked {
    pub(crate) fn new(parts: Parts, peer: Option<PeerAddr>) -> Self {
        Self {
            parts,
            peer,
            told: OnceLock::new(),
        }
    }

    /// The head with the address among its extensions. It is put there for who asks: few do, and
    /// the first extension of a request costs more than to find its session.
    pub(crate) fn told(&self) -> &Parts {
        let Some(peer) = self.peer else {
            return &self.parts;
        };
        self.told.get_or_init(|| {
            let mut parts = self.parts.clone();
            parts.extensions.insert(peer);
            Box::new(parts)
        })
    }
}

impl Deref for Asked {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl DerefMut for Asked {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }
}
