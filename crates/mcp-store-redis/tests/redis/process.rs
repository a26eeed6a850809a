//! Redis processes, each with a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use mcp_store_redis::{RedisOptions, RedisSessionStore, RedisStore};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// Deadline of each step of a test.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A Redis process with a socket.
pub(crate) struct Redis {
    folder: PathBuf,
    program: &'static str,
    settings: Vec<String>,
    child: Option<Child>,
}

impl Redis {
    /// Starts Redis with these settings, or returns `None` if the program is not installed.
    pub(crate) async fn start(name: &str, settings: &[&str]) -> Option<Self> {
        let mut redis = Self::new(name, settings);
        redis.run().await.then_some(redis)
    }

    /// Creates a folder for a process, which is not started.
    fn new(name: &str, settings: &[&str]) -> Self {
        // The path of a socket has at most 107 bytes.
        let folder = std::env::temp_dir().join(format!("mcp-redis-{}-{name}", std::process::id()));
        // A test that was killed can have left a folder, and process ids are used again.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let settings = settings.iter().map(|word| (*word).to_owned());
        Self {
            folder,
            program: "redis-server",
            settings: settings.collect(),
            child: None,
        }
    }

    /// Starts a Sentinel with this configuration.
    #[cfg(feature = "sentinel")]
    pub(crate) async fn start_sentinel(name: &str, config: &str) -> Option<Self> {
        let mut sentinel = Self::new(name, &[]);
        sentinel.program = "redis-sentinel";
        fs::write(sentinel.folder.join("sentinel.conf"), config).unwrap();
        sentinel.run().await.then_some(sentinel)
    }

    /// Starts the process and waits until it is ready.
    pub(crate) async fn run(&mut self) -> bool {
        self.run_at(&self.socket()).await
    }

    /// Starts the process with another socket and waits until it is ready.
    pub(crate) async fn run_at(&mut self, socket: &Path) -> bool {
        let mut command = Command::new(self.program);
        if self.program == "redis-sentinel" {
            command.arg(self.folder.join("sentinel.conf"));
        } else {
            command.args(["--port", "0", "--save", ""]);
        }
        command.arg("--dir").arg(&self.folder);
        command.arg("--unixsocket").arg(socket);
        let started = command
            .args(&self.settings)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let Ok(mut child) = started else {
            let is_required = std::env::var_os("MCP_REDIS_TESTS").is_some();
            let program = self.program;
            assert!(
                !is_required,
                "{program} is missing; install it, for example with `apt-get install {program}`"
            );
            eprintln!("SKIPPED: {program} is not installed");
            return false;
        };
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = String::new();
        let ready = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                let line = line.to_lowercase();
                if line.contains("ready to accept connections") || line.contains("sentinel id is") {
                    return;
                }
                seen += &line;
                seen.push('\n');
            }
            panic!("{} ended: {seen}", self.program);
        };
        timeout(LIMIT, ready).await.unwrap();
        // The pipe stays open and is read until the process ends.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.child = Some(child);
        true
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    pub(crate) fn url(&self) -> String {
        url_of(&self.socket())
    }

    pub(crate) async fn redis(&self) -> RedisStore {
        self.redis_with(RedisOptions::new()).await
    }

    pub(crate) async fn redis_with(&self, options: RedisOptions) -> RedisStore {
        let options = options.with_response_timeout(Duration::from_millis(500));
        RedisStore::connect_with(&self.url(), options)
            .await
            .unwrap()
    }

    pub(crate) async fn store(&self) -> RedisSessionStore {
        self.redis().await.session_store()
    }

    /// Runs a command with a connection of its own.
    pub(crate) async fn command<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        command(&self.url(), words).await.unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.child.as_ref().and_then(Child::id).unwrap();
        let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(Path::new(&self.folder));
    }
}

pub(crate) fn url_of(socket: &Path) -> String {
    format!("redis+unix://{}", socket.display())
}

/// Runs a command at this URL.
pub(crate) async fn command<T: redis::FromRedisValue>(
    url: &str,
    words: &[&str],
) -> redis::RedisResult<T> {
    let client = redis::Client::open(url)?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query_async(&mut connection).await
}

/// Returns ports that are free, and different. They are below the range from which the system gives ports to sockets that name
/// none, so no other test takes one while Redis is not listening.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
pub(crate) fn ports<const N: usize>() -> [u16; N] {
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::atomic::{AtomicU16, Ordering};

    const ALL: std::ops::Range<u16> = 10_000..30_000;
    static CALLS: AtomicU16 = AtomicU16::new(0);
    // Tests that run at the same time, in this process or in others, begin at different ports.
    let process = u16::try_from(std::process::id() % 312).unwrap() * 64;
    let call = CALLS.fetch_add(1, Ordering::Relaxed) % 8 * 8;
    let first = ALL.start + process + call;
    let mut free = (first..ALL.end)
        .chain(ALL.start..first)
        .filter(|port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok());
    [(); N].map(|()| free.next().expect("a free port"))
}

/// Repeats a step until it returns something.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, step: impl Fn() -> F) -> T {
    let attempts = async {
        loop {
            if let Some(done) = step().await {
                return done;
            }
            // sleep: a state of another process is polled.
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LIMIT, attempts)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen"))
}
