//! Signing in, as a user does it: an authorization server and an MCP server in this process.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod hints;
mod network;
mod proxy;
mod support;
mod terminator;
mod tls;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use mcp_server::{Server, Tool};
use mcp_transport_http::{Endpoint, ServerOptions, serve_with};

use support::{Issuer, Program, callback, notes, open, parameter, read, visit};

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_scope_names_the_command_that_requests_it() {
    let (program, issuer) = (Program::new("scope"), Issuer::start());
    let url = notes(&issuer).await;
    let (code, said) = program.run(&["call", &url, "search"]).await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("there is no stored sign-in"), "{said}");

    // The browser is on another machine: the user pastes the address of the last page.
    let said = program.login(&[&url], |page, child| {
        assert_eq!(parameter(page, "scope").as_deref(), Some("mcp"));
        let address = callback(page, "read");
        let old = "http://127.0.0.1:1/callback?code=old&state=old";
        let stdin = child.stdin.as_mut().unwrap();
        stdin.write_all(b"\xff\xfe\n").unwrap();
        // The address of the first page has the state, too.
        writeln!(stdin, "hello\n{old}\n{page}\n{address}").unwrap();
    });
    assert!(said.await.contains("signed in"));
    let (code, said) = program.run(&["call", &url, "search"]).await;
    assert_eq!(code, Some(0), "{said}");

    let (code, said) = program.run(&["call", &url, "create"]).await;
    assert_eq!(code, Some(5), "{said}");
    let command = format!("mcp login {url} --scope \"mcp notes:write\"");
    assert!(said.contains(&command), "{said}");
    assert!(said.contains("tool \"create\""), "{said}");
    assert!(!said.contains("no stored sign-in"), "{said}");
    // A token from the command line cannot be replaced by `mcp`, so the user needs the same command.
    let header = [
        "call",
        &url,
        "create",
        "--header",
        "Authorization: Bearer read",
    ];
    let (code, said) = program.run(&header).await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains(&command), "{said}");

    let words = [&url, "--scope", "mcp notes:write"];
    let said = program.login(&words, |page, _| {
        let scopes = parameter(page, "scope");
        assert_eq!(scopes.as_deref(), Some("mcp notes:write"));
        open(&callback(page, "write"));
    });
    assert!(said.await.contains("signed in"));
    let (code, said) = program.run(&["call", &url, "create"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(issuer.count("POST /register"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_with_a_refused_scope_says_how_to_request_fewer_scopes() {
    let (program, issuer) = (Program::new("fewer"), Issuer::start());
    let url = notes(&issuer).await;
    let said = program.try_login(&[&url], |page, _| {
        let (target, state) = (parameter(page, "redirect_uri"), parameter(page, "state"));
        let (target, state) = (target.unwrap(), state.unwrap());
        let shown = visit(&format!("{target}?error=invalid_scope&state={state}"), 200);
        assert!(shown.contains("The program shows whether"), "{shown}");
    });
    let (code, said) = said.await;
    assert_eq!(code, Some(5), "{said}");
    let command = format!("mcp login {url} --scope \"SCOPE SCOPE\"");
    for text in ["invalid_scope", &command] {
        assert!(said.contains(text), "{text}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_names_requested_scopes_that_were_not_granted() {
    let (program, issuer) = (Program::new("granted"), Issuer::start());
    let url = notes(&issuer).await;
    let words = [&url, "--scope", "mcp notes:write"];
    for (token, is_granted) in [("read", false), ("write", true)] {
        let said = program.login(&words, move |page, _| open(&callback(page, token)));
        let said = said.await;
        assert!(said.contains("signed in"), "{said}");
        let note = "did not grant \"notes:write\"";
        assert_eq!(!said.contains(note), is_granted, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_names_remembered_scopes_that_were_not_granted() {
    let (program, issuer) = (Program::new("denied"), Issuer::start());
    let url = notes(&issuer).await;
    let login = async || {
        let said = program.login(&[&url], |page, _| open(&callback(page, "read")));
        said.await
    };
    let said = login().await;
    assert!(said.contains("signed in"), "{said}");
    assert!(!said.contains("did not grant"), "{said}");
    let (code, said) = program.run(&["call", &url, "create"]).await;
    assert_eq!(code, Some(5), "{said}");
    let said = login().await;
    assert!(said.contains("did not grant \"notes:write\""), "{said}");
}

/// The server refuses the token, for example because it is for another audience.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sign_in_is_not_reported_as_missing() {
    let (program, issuer) = (Program::new("unknown"), Issuer::start());
    let url = notes(&issuer).await;
    let said = program.login(&[&url], |page, _| open(&callback(page, "unknown")));
    assert!(said.await.contains("signed in"));
    for words in [&["list", &url][..], &["call", &url, "search"]] {
        let (code, said) = program.run(words).await;
        assert_eq!(code, Some(5), "{said}");
        assert!(
            said.contains("the server refused the stored sign-in"),
            "{said}"
        );
        assert!(!said.contains("no stored sign-in"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_after_a_refused_call_requests_its_scopes() {
    let (program, issuer) = (Program::new("needed"), Issuer::start());
    let url = notes(&issuer).await;
    let said = program.login(&[&url], |page, _| open(&callback(page, "read")));
    assert!(said.await.contains("signed in"));
    let (code, said) = program.run(&["call", &url, "create"]).await;
    assert_eq!(code, Some(5), "{said}");
    let said = program.login(&[&url], |page, _| {
        let scopes = parameter(page, "scope");
        assert_eq!(scopes.as_deref(), Some("mcp notes:write"));
        open(&callback(page, "write"));
    });
    assert!(said.await.contains("signed in"));
    let (code, said) = program.run(&["call", &url, "create"]).await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_revokes_the_tokens_or_reports_why_it_cannot() {
    let (program, issuer) = (Program::new("revoke"), Issuer::start());
    let url = notes(&issuer).await;
    program
        .login(&[&url], |page, _| open(&callback(page, "read")))
        .await;
    let (code, said) = program.run(&["logout", &url]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the tokens are revoked"), "{said}");
    assert_eq!(issuer.count("POST /revoke"), 2);
    let (code, said) = program.run(&["logout", &url]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.trim(), "there was no stored sign-in");

    program
        .login(&[&url], |page, _| open(&callback(page, "unrevokable")))
        .await;
    let (code, said) = program.run(&["logout", &url]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("warning: the tokens were not revoked"),
        "{said}"
    );
    assert!(said.contains("signed out"), "{said}");
    let stored = std::fs::read_to_string(&program.tokens).unwrap();
    assert!(!stored.contains("unrevokable"), "{stored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_without_a_state_is_shown_and_the_login_continues() {
    let (program, issuer) = (Program::new("unbound"), Issuer::start());
    let url = notes(&issuer).await;
    let said = program.login(&[&url], |page, _| {
        let target = parameter(page, "redirect_uri").unwrap();
        visit(
            &format!("{target}?error=access_denied&error_description=evil"),
            404,
        );
        open(&callback(page, "read"));
    });
    let said = said.await;
    assert!(
        said.contains("reported \"access_denied\" without"),
        "{said}"
    );
    assert!(
        said.contains("signed in") && !said.contains("evil"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configured_client_and_port_are_used_and_the_client_id_can_be_removed() {
    let (program, issuer) = (Program::new("client"), Issuer::start());
    let url = notes(&issuer).await;
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let words = [&*url, "--client-id", "given", "--callback-port", &port];
    let address = format!("http://127.0.0.1:{port}/callback");
    let login = program.login(&words, move |page, _| {
        assert_eq!(parameter(page, "client_id").as_deref(), Some("given"));
        assert_eq!(parameter(page, "redirect_uri"), Some(address));
        open(&callback(page, "read"));
    });
    login.await;
    assert_eq!(issuer.count("POST /register"), 0);

    let login = || program.login(&[&*url], |page, _| open(&callback(page, "read")));
    login().await;
    login().await;
    assert_eq!(issuer.count("POST /register"), 1);
    let (code, said) = program.run(&["logout", &url, "--forget-client"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the client id is forgotten"), "{said}");
    let stored = std::fs::read_to_string(&program.tokens).unwrap();
    assert!(!stored.contains("registered"), "{stored}");
    login().await;
    assert_eq!(issuer.count("POST /register"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_without_a_callback_does_not_keep_the_registration() {
    let (program, issuer) = (Program::new("lost"), Issuer::start());
    let url = notes(&issuer).await;
    let login = || program.login(&[&*url], |page, _| open(&callback(page, "read")));
    login().await;
    // The page does not know the client, and the user ends the command.
    let mut command = program.command(&["login", "--no-browser", &url]);
    let ended = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("Go to ")));
        child.kill().unwrap();
        child.wait().unwrap();
    });
    ended.await.unwrap();
    login().await;
    assert_eq!(issuer.count("POST /register"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_renewal_is_not_reported_as_a_missing_sign_in() {
    let (program, issuer) = (Program::new("renewal"), Issuer::start());
    let url = notes(&issuer).await;
    let login = program.login(&[&*url], |page, _| open(&callback(page, "short")));
    login.await;
    let (code, said) = program.run(&["call", &url, "search"]).await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("could not be renewed"), "{said}");
    assert!(said.contains("the account is locked"), "{said}");
    assert!(!said.contains("no stored sign-in"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_token_is_reported_without_names_of_library_items() {
    let (program, issuer) = (Program::new("token"), Issuer::start());
    let url = notes(&issuer).await;
    let header = "authorization: Bearer old";
    let (code, said) = program.run(&["list", &url, "--header", header]).await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("the server refused the token"), "{said}");
    assert!(!said.contains("::") && !said.contains('{'), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_sent_without_encryption_to_another_machine() {
    let program = Program::new("clear");
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    // The program takes this address for one of another machine.
    let url = format!(
        "http://0.0.0.0:{}/mcp",
        listener.local_addr().unwrap().port()
    );
    let server = Server::builder("plain", "1").tool(Tool::new("t", async || "x"));
    let options = ServerOptions::new().allow_any_host();
    let endpoint = Endpoint::with_options(server.build().unwrap(), options).unwrap();
    tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    let header = ["--header", "authorization: Bearer x"];
    for (more, expected) in [
        (&[][..], 0),
        (&header, 1),
        (&[&header[..], &["--allow-http"]].concat(), 0),
    ] {
        let (code, said) = program.run(&[&["list", &url], more].concat()).await;
        assert_eq!(code, Some(expected), "{said}");
        assert_eq!(said.contains("--allow-http"), expected == 1, "{said}");
    }
    let (code, said) = program.run(&["doctor", &url]).await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_reports_metadata_that_a_proxy_does_not_forward() {
    let program = Program::new("doctor");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let status = match read(&mut stream).contains(" /mcp ") {
                true => "401 Unauthorized\r\nwww-authenticate: Bearer",
                false => "404 Not Found",
            };
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
        }
    });
    let mut command = program.command(&["doctor", &url]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let shown = String::from_utf8(output.await.unwrap().stdout).unwrap();
    assert!(shown.contains("FAIL  sign-in"), "{shown}");
    let expected = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    assert!(
        shown.contains(&format!("must answer GET {expected}")),
        "{shown}"
    );
    assert!(
        !shown.contains("PKCE") && !shown.contains("registration"),
        "{shown}"
    );
}
