//! A server without TLS, and a terminator of TLS in front of it.

use std::path::Path;
use std::sync::Arc;

use mcp_server::{Server, Tool};
use mcp_transport_http::{Endpoint, ServerOptions, serve_with};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, version};

/// Starts a server without TLS. Returns its port.
pub(crate) async fn plain(options: ServerOptions) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Server::builder("plain", "1").tool(Tool::new("ready", async || "x"));
    let endpoint = Endpoint::with_options(server.build().unwrap(), options).unwrap();
    tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    port
}

/// Starts a listener that terminates TLS, and forwards each connection to the port `plain`. Returns the port of the listener. The
/// files are those of the server. With `client_ca`, clients need a certificate of this CA.
pub(crate) async fn end_tls(
    (chain, key): (&Path, &Path),
    client_ca: Option<&Path>,
    plain: u16,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(&[&version::TLS13]).unwrap();
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            let ca = CertificateDer::from_pem_file(ca).unwrap();
            roots.add(ca).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let chain = vec![CertificateDer::from_pem_file(chain).unwrap()];
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate ends the handshake.
                let Ok(mut secure) = acceptor.accept(stream).await else {
                    return;
                };
                let mut inner = TcpStream::connect(("127.0.0.1", plain)).await.unwrap();
                let _ = copy_bidirectional(&mut secure, &mut inner).await;
            });
        }
    });
    port
}
