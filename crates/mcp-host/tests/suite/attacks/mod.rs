//! Attacks on consent: a file or a server tries to make the host do something that the user has not seen.

mod conversation;
#[cfg(unix)]
mod headers;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_host::{
    ApprovalFile, Config, ConfigFormat, ConsentAction, ConsentRequest, Decision, Host, Policy,
    ServerState,
};
use serde_json::{Value, json};

use crate::support::{Folder, client};

/// Answers all requests in the same way, and keeps them.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<ConsentRequest>>>);

impl Person {
    fn answers(&self, decision: Decision) -> impl mcp_host::Consent + use<> {
        let person = self.clone();
        move |request| {
            person.0.lock().unwrap().push(request);
            async move { decision }
        }
    }

    fn requests(&self) -> Vec<ConsentRequest> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Returns the text of the only request.
    fn text(&self) -> String {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests[0].to_string()
    }
}

fn config(server: &Value) -> Config {
    let text = json!({ "mcpServers": { "git": server } }).to_string();
    Config::parse(&text, ConfigFormat::Standard).unwrap()
}

fn write(path: &Path, servers: &Value) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, json!({ "mcpServers": servers }).to_string()).unwrap();
}

/// Creates a program that writes the file `ran` beside itself and ends.
#[cfg(unix)]
fn program(folder: &Path, name: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, "#!/bin/sh\necho ran > \"${0%/*}/ran\"\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Starts a host with one server, and returns the host when the server has ended or was denied.
async fn settled(builder: mcp_host::HostBuilder) -> Host {
    let host = builder.start();
    host.settled().await;
    host
}

#[cfg(unix)]
#[tokio::test]
async fn the_host_starts_exactly_the_program_that_consent_shows() {
    let folder = Folder::new("shown");
    // This process would find another `sh`.
    let evil = program(&folder.0.join("evil"), "sh");
    let absolute = folder.0.join("evil").display().to_string();
    let inside = folder.0.display().to_string();
    for server in [
        json!({ "command": "sh", "env": { "PATH": format!("{absolute}:/usr/bin:/bin") } }),
        json!({ "command": "sh", "env": { "PATH": "missing:evil" }, "cwd": inside }),
        json!({ "command": "evil/sh", "cwd": inside }),
        json!({ "command": "./evil/../evil/sh", "cwd": inside }),
    ] {
        let person = Person::default();
        let builder = Host::builder(client())
            .servers(config(&server))
            .consent(person.answers(Decision::AllowOnce));
        let host = settled(builder).await;
        let requests = person.requests();
        let ConsentAction::Connect {
            config, executable, ..
        } = &requests[0].action
        else {
            panic!("{requests:?}");
        };
        let shown = executable.clone().unwrap();
        assert!(shown.is_absolute());
        assert_eq!(shown.canonicalize().unwrap(), evil.canonicalize().unwrap());
        let mcp_host::Launch::Stdio { command, .. } = &config.launch else {
            panic!("{config:?}");
        };
        assert_eq!(Path::new(command), shown, "it is started by this path");
        let text = requests[0].to_string();
        assert!(
            text.contains(&format!("\nprogram: {}", shown.display())),
            "{text}"
        );
        let ran = folder.0.join("evil/ran");
        assert!(ran.exists(), "{server} ran something else");
        std::fs::remove_file(ran).unwrap();
        host.close().await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_user_is_not_asked_about_a_missing_program_and_it_never_starts() {
    let folder = Folder::new("missing");
    let (bin, other) = (folder.0.join("bin"), folder.0.join("other"));
    let person = Person::default();
    let env = json!({ "PATH": format!("{}:{}", bin.display(), other.display()) });
    let builder = Host::builder(client())
        .servers(config(&json!({ "command": "tool", "env": env })))
        .consent(person.answers(Decision::AllowOnce));
    let host = settled(builder).await;
    let git = host.server("git").unwrap();
    let state = git.state();
    assert!(matches!(state, ServerState::Failed { .. }), "{state}");
    assert!(
        state.to_string().contains(&*bin.to_string_lossy()),
        "{state}"
    );
    assert!(person.requests().is_empty());
    // After the program was installed or moved, a restart asks about the new path.
    for folder in [&other, &bin] {
        let tool = program(folder, "tool");
        git.restart();
        git.wait_for(|state| matches!(state, ServerState::Backoff { .. }))
            .await;
        let text = person.text();
        assert!(
            text.contains(&format!("program: {}", tool.display())),
            "{text}"
        );
    }
    host.close().await;
}

/// Some URL parsers connect to another host than a person reads.
#[tokio::test]
async fn a_url_with_an_ambiguous_host_is_refused_without_asking_the_user() {
    for url in [
        "https://g\u{43e}\u{43e}gle.invalid/mcp",
        "https://good.example\u{2215}x.evil.invalid/mcp",
        "https://good.example\u{3002}evil.invalid/mcp",
        "https://evil.invalid\\@good.example/mcp",
        "https://good.example@evil.invalid/mcp",
        "https://good.example\t.evil.invalid/mcp",
    ] {
        let person = Person::default();
        let builder = Host::builder(client())
            .servers(config(&json!({ "url": url })))
            .consent(person.answers(Decision::AllowOnce));
        let host = settled(builder).await;
        let state = host.server("git").unwrap().state();
        assert!(
            matches!(state, ServerState::Failed { .. }),
            "{url}: {state}"
        );
        assert!(person.requests().is_empty(), "{url}");
        host.close().await;
    }
}

#[tokio::test]
async fn only_references_and_values_that_decide_which_code_runs_are_shown() {
    let person = Person::default();
    let show = async |server: Value| {
        let variables = mcp_host::Variables::new()
            // The value of `PART` is a part of a URL.
            .with_env(|name| Some(format!("value of {name}").replace(" of PART", "")))
            .with_secrets(|name| Some(format!("value of {name}")));
        let builder = Host::builder(client())
            .servers(config(&server))
            .variables(variables)
            .consent(person.answers(Decision::Deny));
        settled(builder).await.close().await;
        person.text()
    };
    let text = show(json!({
        "command": std::env::current_exe().unwrap(), "args": ["${ARGUMENT}"],
        "env": { "NODE_OPTIONS": "--require /tmp/x.js\nprogram: y", "ld_preload": "${LIBRARY}", "PIP_TOKEN": "s3cret",
                 "KEY": "s3cret", "OTHER": "a ${OTHER_KEY}" }
    }))
    .await;
    for part in [
        r"NODE_OPTIONS='--require /tmp/x.js\u{a}program: y'",
        "ld_preload='value of LIBRARY'",
        "${ARGUMENT}, ${OTHER_KEY}, ${LIBRARY}",
    ] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    assert!(
        !text.contains("s3cret") && !text.contains("value of OTHER"),
        "{text}"
    );

    let text = show(json!({
        "url": "http://127.0.0.1:9/${env:PART}",
        "headers": { "X-Trace": "${MY_API_KEY}", "X-Other": "op://vault/item", "X-Plain": "s3cret" }
    }))
    .await;
    for part in ["${MY_API_KEY}", "op://vault/item", "${env:PART}", "X-Trace"] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    assert!(!text.contains("s3cret"), "{text}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_changed_variable_or_header_needs_new_consent() {
    let (folder, person) = (Folder::new("values"), Person::default());
    let store = folder.0.join("approvals.json");
    let evil = folder.0.join("evil");
    program(&evil, "sh");
    let asks = async |server: Value, host_value: &'static str| {
        let variables = mcp_host::Variables::new().with_env(move |_| Some(host_value.to_owned()));
        let builder = Host::builder(client())
            .servers(config(&server))
            .variables(variables)
            .approvals(ApprovalFile::new(&store))
            .consent(person.answers(Decision::AllowAlways));
        settled(builder).await.close().await;
        person.requests().len()
    };
    let program = |path: &str, key: &str| json!({ "command": "sh", "args": ["-c", "exit 3"], "env": { "PATH": path, "KEY": key } });
    let good = "/usr/bin:/bin";
    let evil = format!("{}:{good}", evil.display());
    assert_eq!(asks(program(good, "s3cret"), "").await, 1);
    assert_eq!(asks(program(good, "s3cret"), "").await, 0);
    assert_eq!(
        asks(program(&evil, "s3cret"), "").await,
        1,
        "a different program in PATH"
    );
    assert_eq!(
        asks(program("/bin:/usr/bin:/sbin", "s3cret"), "").await,
        1,
        "a different value of PATH"
    );
    assert_eq!(asks(program("/bin:/usr/bin:/sbin", "s3cret2"), "").await, 1);
    // A token of the host may change, but not the library that a variable of the host names.
    let reference =
        json!({ "command": "/bin/sh", "args": ["-c", "exit 3"], "env": { "KEY": "${X}" } });
    assert_eq!(asks(reference.clone(), "1").await, 1);
    assert_eq!(asks(reference, "2").await, 0);
    let library = json!({ "command": "/bin/sh", "args": ["-c", "exit 3"], "env": { "LD_LIBRARY_PATH": "${X}" } });
    assert_eq!(asks(library.clone(), "1").await, 1);
    assert_eq!(asks(library, "2").await, 1);
    let url = |value: &str| json!({ "url": "http://127.0.0.1:9/mcp", "headers": { "A": value } });
    assert_eq!(asks(url("s3cret"), "").await, 1);
    assert_eq!(asks(url("s3cret"), "").await, 0);
    assert_eq!(asks(url("s3cret2"), "").await, 1);

    // The stored approvals do not reveal the values, neither as text nor as a hash that is the same everywhere.
    let text = std::fs::read_to_string(&store).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    std::fs::remove_file(&store).unwrap();
    assert_eq!(asks(url("s3cret2"), "").await, 1);
    assert_ne!(std::fs::read_to_string(&store).unwrap(), text);
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_variable_changed_in_a_watched_file_needs_consent_before_the_restart() {
    let (folder, person) = (Folder::new("watched"), Person::default());
    let path = folder.0.join("mcp.json");
    let entry = |path: &str| json!({ "git": { "command": "/bin/sh", "args": ["-c", "exit 3"], "env": { "PATH": path } } });
    write(&path, &entry("/bin"));
    let host = Host::builder(client())
        .servers(Config::read(&path, ConfigFormat::Standard).unwrap())
        .consent(person.answers(Decision::AllowUntilExit))
        .watch_config(|_| {})
        .start();
    host.settled().await;
    assert_eq!(person.requests().len(), 1);
    write(&path, &entry("/tmp/evil:/bin"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let text = person.text();
    assert!(
        text.contains("PATH=/tmp/evil:/bin") && text.contains("differs"),
        "{text}"
    );
    host.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_name_of_a_project_server_gives_it_neither_rules_nor_trust() {
    let folder = Folder::new("folder");
    let (project, user) = (folder.0.join("project"), folder.0.join("home/.claude.json"));
    let server =
        |code: &str| json!({ "command": "/bin/sh", "args": ["-c", format!("exit {code}")] });
    write(
        &user,
        &json!({ "git": server("1"), "wiki": server("1"), "mail": server("1"), "own": server("1") }),
    );
    write(
        &project.join(".mcp.json"),
        &json!({ "git": server("2"), "wiki": { "disabled": true, "command": "x" }, "mail": 5, "Own\u{200b}": server("2") }),
    );
    let read = || {
        let mut config = Config::discover(&project);
        config.merge(Config::read(&user, ConfigFormat::Standard).unwrap());
        config
    };
    let config = read();
    let warned = |name: &str| {
        let warnings = config.warnings().iter();
        warnings
            .filter(|warning| {
                warning.contains(&format!("{name:?}")) && warning.contains(".mcp.json")
            })
            .count()
    };
    for name in ["git", "wiki", "mail", "own"] {
        assert_eq!(warned(name), 1, "{name}: {:?}", config.warnings());
    }

    let rules = r#"[{ "kind": "connect", "server": "wiki", "effect": "deny" },
        { "kind": "connect", "server": "*", "effect": "allow" }]"#;
    let person = Person::default();
    let builder = || {
        Host::builder(client())
            .policy(Policy::parse(rules).unwrap())
            .trust("git")
            .consent(person.answers(Decision::Deny))
    };
    settled(builder().servers(read())).await.close().await;
    let mut requests = person.requests();
    requests.sort_by_key(|request| request.server.clone());
    let servers = requests.iter().map(|request| {
        let is_shown = request.to_string().contains("A file of the opened folder");
        (
            &*request.server,
            request.is_trusted,
            request.is_project,
            is_shown,
        )
    });
    let untrusted = |name| (name, false, true, true);
    assert_eq!(
        servers.collect::<Vec<_>>(),
        [untrusted("Own\u{200b}"), untrusted("git")]
    );
    assert!(requests[1].to_string().contains("exit 2"));

    // The application has asked whether the folder is trusted.
    let host = settled(builder().servers(read()).trust_project()).await;
    assert!(person.requests().is_empty());
    // A rule that denies is for all servers with this name.
    let enabled = json!({ "wiki": { "command": "/bin/sh" } });
    write(&project.join(".mcp.json"), &enabled);
    let other = settled(builder().servers(read())).await;
    let state = other.server("wiki").unwrap().state().to_string();
    assert!(state.contains("a rule of the policy denies"), "{state}");
    host.close().await;
    other.close().await;
}

/// The file did not exist when the host started.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn the_name_of_a_server_in_a_new_project_file_gives_it_no_rights() {
    let (folder, person) = (Folder::new("appears"), Person::default());
    let (project, user) = (
        folder.0.join("project/.mcp.json"),
        folder.0.join("user.json"),
    );
    let server = json!({ "git": { "command": "/bin/sh", "args": ["-c", "exit 3"] } });
    write(&user, &server);
    let mut config = Config::discover(project.parent().unwrap());
    config.merge(Config::read(&user, ConfigFormat::Standard).unwrap());
    let rules = r#"[{ "kind": "connect", "server": "git", "effect": "allow" }]"#;
    let host = Host::builder(client())
        .servers(config)
        .policy(Policy::parse(rules).unwrap())
        .consent(person.answers(Decision::Deny))
        .watch_config(|_| {})
        .start();
    host.settled().await;
    assert!(person.requests().is_empty());
    // A server of the folder with an equal configuration is a different server.
    write(&project, &server);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let requests = person.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].is_project);
    host.close().await;
}

#[tokio::test]
async fn consent_shows_host_variables_that_codex_keys_name() {
    for server in [
        json!({ "url": "https://evil.invalid/mcp", "env_http_headers": { "X-Trace": "HOME" } }),
        json!({ "url": "https://evil.invalid/mcp", "bearer_token_env_var": "HOME" }),
        json!({ "command": "sh", "env_vars": ["HOME"] }),
    ] {
        let person = Person::default();
        let config = config(&server).into_project();
        let builder = Host::builder(client()).servers(config);
        let host = settled(builder.consent(person.answers(Decision::Deny))).await;
        let text = person.text();
        assert!(
            text.contains("values of this host: ${env:HOME}"),
            "{server}: {text}"
        );
        host.close().await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn an_env_file_that_is_a_pipe_does_not_block_the_host() {
    let folder = Folder::new("pipe");
    let pipe = folder.0.join("vars");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let config = config(&json!({ "command": "sh", "envFile": pipe })).into_project();
    let (sender, started) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _inside = runtime.enter();
        let host = Host::builder(client()).servers(config).start();
        sender.send(()).unwrap();
        runtime.block_on(host.close());
    });
    started
        .recv_timeout(Duration::from_secs(5))
        .expect("`start` returns at once");
}

#[tokio::test]
async fn variables_with_functions_of_bash_and_credential_programs_are_shown() {
    for name in [
        "BASH_FUNC_git%%",
        "CARGO_REGISTRY_CREDENTIAL_PROVIDER",
        "NUGET_CREDENTIALPROVIDERS_PATH",
    ] {
        let person = Person::default();
        let config =
            config(&json!({ "command": "sh", "env": { name: "/tmp/evil" } })).into_project();
        let builder = Host::builder(client()).servers(config);
        let host = settled(builder.consent(person.answers(Decision::Deny))).await;
        host.close().await;
        let text = person.text();
        assert!(text.contains("/tmp/evil"), "{text}");
    }
}
