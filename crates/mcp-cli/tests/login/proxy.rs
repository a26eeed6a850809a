//! Test proxies, which connect to this machine for every host name.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that records the requests that it receives.
pub(crate) struct TestProxy {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

/// The behaviour of a proxy.
#[derive(Clone, Copy)]
pub(crate) enum Behaviour {
    /// Opens tunnels, and forwards requests.
    Http,
    /// Responds with this text and closes the connection.
    Answers(&'static str),
    /// SOCKS 5 with user and password.
    Socks,
}

impl TestProxy {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let recorded = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let seen = Arc::clone(&recorded);
                tokio::spawn(async move {
                    match behaviour {
                        Behaviour::Socks => socks(stream, &seen).await,
                        Behaviour::Http => http(stream, &seen, None).await,
                        Behaviour::Answers(text) => http(stream, &seen, Some(text)).await,
                    }
                });
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Removes and returns the recorded texts: for HTTP, the head of the first request of each connection.
    pub(crate) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

async fn http(mut stream: TcpStream, seen: &Mutex<Vec<String>>, answer: Option<&str>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    let text = String::from_utf8(head).unwrap();
    seen.lock().unwrap().push(text.clone());
    if let Some(answer) = answer {
        let _ = stream.write_all(answer.as_bytes()).await;
        return;
    }
    let mut words = text.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let authority = target.trim_start_matches("http://").split('/').next();
    let port = authority
        .unwrap()
        .rsplit(':')
        .next()
        .unwrap()
        .parse::<u16>();
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port.unwrap())).await else {
        let _ = stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await;
        return;
    };
    match method {
        "CONNECT" => {
            let opened = b"HTTP/1.1 200 Connection established\r\n\r\n";
            stream.write_all(opened).await.unwrap();
        }
        // A server accepts the whole URL: RFC 9112, section 3.2.2.
        _ => server.write_all(text.as_bytes()).await.unwrap(),
    }
    let _ = copy_bidirectional(&mut stream, &mut server).await;
}

async fn socks(mut stream: TcpStream, seen: &Mutex<Vec<String>>) {
    async fn bytes(stream: &mut TcpStream, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        stream.read_exact(&mut bytes).await.unwrap();
        bytes
    }
    async fn text(stream: &mut TcpStream) -> String {
        let length = stream.read_u8().await.unwrap();
        String::from_utf8(bytes(stream, length.into()).await).unwrap()
    }
    let greeting = bytes(&mut stream, 2).await;
    let methods = bytes(&mut stream, greeting[1].into()).await;
    assert!(methods.contains(&2), "{methods:?}");
    stream.write_all(&[5, 2]).await.unwrap();
    assert_eq!(bytes(&mut stream, 1).await, [1]);
    let (user, password) = (text(&mut stream).await, text(&mut stream).await);
    stream.write_all(&[1, 0]).await.unwrap();
    // CONNECT to a name: the proxy looks it up.
    assert_eq!(bytes(&mut stream, 4).await, [5, 1, 0, 3]);
    let host = text(&mut stream).await;
    let port = stream.read_u16().await.unwrap();
    seen.lock()
        .unwrap()
        .push(format!("{user} {password} {host}:{port}"));
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let opened = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    stream.write_all(&opened).await.unwrap();
    let _ = copy_bidirectional(&mut stream, &mut server).await;
}
