//! The gateway: clients and servers of any revision on its two sides.

mod accounts;
mod attacks;
mod combinations;
mod failures;
mod hostile;
mod idle;
mod lists;
mod notifications;
mod operations;
mod policy;
mod processes;
mod programs;
mod readers;
mod readiness;
mod several;
mod slow_end;
mod starts;
mod transforms;
mod uris;
mod waiting;
mod watched;

use mcp_gateway::{Gateway, GatewayBuilder, Proxy, Sharing, Upstream};
use mcp_host::StderrLog;
use mcp_protocol::IntoService;
use mcp_server::ServerBuilder;
use tokio::sync::mpsc;

use crate::prelude::*;

/// Settings for a server of this process. A server without sessions is spoken to in the stateless revision.
pub(crate) fn upstream(server: ServerBuilder, is_stateless: bool) -> Upstream {
    let server = server.build().unwrap();
    let connector = move |_: &StderrLog| Ok(mcp_transport_stdio::in_memory(server.clone()));
    let upstream = Upstream::new("in-memory", connector).sharing(Sharing::All);
    match is_stateless {
        true => upstream.negotiation(Revision::LATEST, Negotiation::Stateless),
        false => upstream.negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased),
    }
}

pub(crate) async fn proxy(server: ServerBuilder, is_stateless: bool) -> Proxy {
    Proxy::connect(upstream(server, is_stateless))
        .await
        .unwrap()
}

/// Connects a client to the gateway, in a session or without one.
pub(crate) async fn connect_to(
    proxy: impl IntoService,
    builder: ClientBuilder,
    is_stateless: bool,
) -> Client {
    let builder = match is_stateless {
        true => builder.negotiation(Negotiation::Stateless),
        false => builder.negotiation(Negotiation::SessionBased),
    };
    connect(builder, proxy).await.unwrap()
}

/// Scripted servers: each connection of the gateway arrives here.
pub(crate) struct Scripted(mpsc::Receiver<PipeEnd>);

impl Scripted {
    /// Creates the settings of the gateway, and the servers behind it.
    pub(crate) fn upstream() -> (Upstream, Self) {
        let (upstream, servers, _) = Self::switched();
        (upstream, servers)
    }

    /// Creates the settings of the gateway, the servers behind it, and whether they can be reached: at first they can.
    pub(crate) fn switched() -> (Upstream, Self, Arc<AtomicBool>) {
        let (sender, receiver) = mpsc::channel(64);
        let is_up = Arc::new(AtomicBool::new(true));
        let state = Arc::clone(&is_up);
        let connector = move |_: &StderrLog| {
            if !state.load(Ordering::Acquire) {
                return Err(mcp_client::TransportError::new("down"));
            }
            let (server, transport) = PipeEnd::server();
            sender.try_send(server).unwrap();
            Ok(transport)
        };
        let upstream = Upstream::new("scripted", connector)
            .sharing(Sharing::All)
            .negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased);
        (upstream, Self(receiver), is_up)
    }

    /// Builds a gateway with the scripted servers `a` and `b`. Returns it, its servers, and the connection to each that clients share.
    pub(crate) async fn two() -> (Gateway, [Self; 2], [PipeEnd; 2]) {
        let ((first, mut a), (second, mut b)) = (Self::upstream(), Self::upstream());
        let builder = Gateway::builder().mount("a", first).mount("b", second);
        let building = tokio::spawn(builder.build());
        let shared = [a.connected().await, b.connected().await];
        (building.await.unwrap().unwrap(), [a, b], shared)
    }

    /// Accepts the next connection of the gateway; returns it and the params of `initialize`.
    pub(crate) async fn accept(&mut self) -> (PipeEnd, Value) {
        self.accept_with(json!({ "tools": {}, "logging": {} }))
            .await
    }

    /// Accepts the next connection of the gateway, before the handshake.
    pub(crate) async fn accept_raw(&mut self) -> PipeEnd {
        let accepted = self.0.recv();
        // A paused clock advances only when nothing else happens.
        let accepted = tokio::time::timeout(Duration::from_secs(120), accepted).await;
        accepted.expect("a connection in time").unwrap()
    }

    /// Accepts the next connection of the gateway, to a server with these capabilities.
    pub(crate) async fn accept_with(&mut self, capabilities: Value) -> (PipeEnd, Value) {
        let mut server = self.accept_raw().await;
        let params = server.welcome("2025-11-25", capabilities).await;
        server.expect("notifications/initialized").await;
        (server, params)
    }

    /// Accepts the next connection of the gateway, to a server with an empty list of tools.
    pub(crate) async fn connected(&mut self) -> PipeEnd {
        let (mut server, _) = self.accept().await;
        server.respond("tools/list", json!({ "tools": [] })).await;
        server
    }

    /// Connects the gateway to a scripted server with an empty list of tools.
    pub(crate) async fn proxy(&mut self, upstream: Upstream) -> (Proxy, PipeEnd) {
        let connecting = tokio::spawn(Proxy::connect(upstream));
        let server = self.connected().await;
        (connecting.await.unwrap().unwrap(), server)
    }

    /// Builds a gateway of several servers, of which this one has an empty list of tools.
    pub(crate) async fn gateway(&mut self, builder: GatewayBuilder) -> (Gateway, PipeEnd) {
        let building = tokio::spawn(builder.build());
        let server = self.connected().await;
        (building.await.unwrap().unwrap(), server)
    }
}
