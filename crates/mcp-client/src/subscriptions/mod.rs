//! Change notifications: of resources by subscription, and of the lists of the server.

mod keep;
pub(crate) mod listener;
mod subscription;
pub(crate) mod table;

pub use subscription::Subscription;
