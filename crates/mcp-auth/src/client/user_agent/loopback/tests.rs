//! Tests of sessions of the callback receiver, and of requests that other programs and pages send to its port.

use super::*;

async fn ask(uri: &str, target: &str) -> String {
    let port = uri.rsplit(':').next().unwrap().strip_suffix(PATH).unwrap();
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}"))
        .await
        .unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn connections_of_other_programs_do_not_end_the_session() {
    let session = Loopback::new(|_| {}).start_session().await.unwrap();
    let uri = session.redirect_uri().to_owned();
    assert!(uri.starts_with("http://127.0.0.1:"));
    let visiting = tokio::spawn(async move { session.open("https://as/?state=s1").await });
    // A silent connection does not block the others.
    let port = uri.rsplit(':').next().unwrap();
    let port = port.strip_suffix(PATH).unwrap();
    let silent = TcpStream::connect(format!("127.0.0.1:{port}")).await;
    for target in [
        "/favicon.ico",
        "/callback",
        "/callback?state=s2&code=x",
        "/?state=s1",
    ] {
        let answer = ask(&uri, target).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    }
    let answer = ask(&uri, "/callback?state=s1&code=%3Cscript%3E").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(!answer.contains("script"), "{answer}");
    let callback = visiting.await.unwrap().unwrap();
    assert_eq!(callback.parameter("code"), Some("<script>"));
    drop(silent.unwrap());
}

#[tokio::test]
async fn many_connections_of_other_programs_do_not_end_the_session() {
    let session = Loopback::new(|_| {}).start_session().await.unwrap();
    let uri = session.redirect_uri().to_owned();
    let visiting = tokio::spawn(async move { session.open("https://as/?state=s1").await });
    let mut silent = Vec::new();
    for _ in 0..2 * MAX_CONNECTIONS {
        let port = port(&uri).unwrap();
        silent.push(
            TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .await
                .unwrap(),
        );
        let answer = ask(&uri, "/callback?state=guess&code=x").await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    }
    // The oldest silent connections were closed, so that no more than the limit are open.
    let closed = timeout(CONNECTION_TIMEOUT / 2, silent[0].read_u8()).await;
    assert!(closed.is_ok_and(|read| read.is_err()));
    let answer = ask(&uri, "/callback?state=s1&code=c").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let callback = visiting.await.unwrap().unwrap();
    assert_eq!(callback.parameter("code"), Some("c"));
}

#[tokio::test]
async fn a_request_above_the_maximum_size_is_not_read() {
    for (bytes, is_read) in [(MAX_REQUEST_BYTES, true), (MAX_REQUEST_BYTES + 1, false)] {
        let session = Loopback::new(|_| {}).start_session().await.unwrap();
        let port = port(session.redirect_uri()).unwrap();
        let visiting = tokio::spawn(async move { session.open("https://as/?state=s1").await });
        let (start, end) = ("GET /callback?state=s1 HTTP/1.1\r\nx: ", "\r\n\r\n");
        let padding = "x".repeat(bytes - start.len() - end.len());
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        let request = format!("{start}{padding}{end}");
        // The connection is closed before the last byte if the request is too large.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert_eq!(answer.starts_with(b"HTTP/1.1 200"), is_read, "{bytes}");
        if is_read {
            assert!(visiting.await.unwrap().is_ok());
        } else {
            visiting.abort();
        }
    }
}

#[tokio::test]
async fn a_port_is_reused_if_it_is_free() {
    let agent = Loopback::new(|_| {});
    let first = agent.start_session().await.unwrap();
    let uri = first.redirect_uri().to_owned();
    let other = agent.start_session_at(&uri).await.unwrap();
    assert_ne!(other.redirect_uri(), uri);
    drop(first);
    let again = agent.start_session_at(&uri).await.unwrap();
    assert_eq!(again.redirect_uri(), uri);
    for foreign in ["http://localhost:80/callback", "https://app.example/cb", ""] {
        let visit = agent.start_session_at(foreign).await.unwrap();
        assert!(visit.redirect_uri().starts_with("http://127.0.0.1:"));
    }
}

#[test]
fn only_a_well_formed_http_get_request_line_has_a_target() {
    assert_eq!(target("GET /a?b HTTP/1.1\r\n").as_deref(), Some("/a?b"));
    for text in [
        "",
        "GET",
        "POST /a HTTP/1.1",
        "GET /a",
        "GET /a b HTTP/1.1",
        "GET /a SMTP",
    ] {
        assert_eq!(target(text), None, "{text:?}");
    }
}

#[tokio::test]
async fn an_error_without_a_state_is_reported_and_does_not_end_the_session() {
    let (report, mut reported) = mpsc::channel(8);
    let agent = Loopback::new(|_| {}).on_unbound_error(move |error| {
        report.try_send(error.to_owned()).unwrap();
    });
    let session = agent.start_session().await.unwrap();
    let uri = session.redirect_uri().to_owned();
    let visiting = tokio::spawn(async move { session.open("https://as/?state=s1").await });
    for target in [
        "/callback?error=access_denied&error_description=run%20this",
        // Neither a page's own text nor an error for another request is shown.
        "/callback?error=run%20this",
        "/callback?error=access_denied&state=s2",
        "/?error=access_denied",
        "/callback?error=invalid_scope",
        "/callback?error=server_error",
        "/callback?error=access_denied",
    ] {
        let answer = ask(&uri, target).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    }
    for expected in ["access_denied", "invalid_scope", "server_error"] {
        assert_eq!(reported.recv().await.as_deref(), Some(expected));
    }
    assert!(reported.try_recv().is_err());
    ask(&uri, "/callback?state=s1&code=c").await;
    assert!(visiting.await.unwrap().is_ok());
}
