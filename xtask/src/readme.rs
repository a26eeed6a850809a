//! `cargo xtask readme`: does what README says, block after block, in an empty folder beside a link to this checkout.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::programs::{BUILD, SHORT, Server, build, cargo, executable, lines_of, run, target};
use crate::workspace::{self, At as _, Result, root, say};

const PAGE: &str = "README.md";
/// The address in the blocks, which is replaced by one with a free port.
const ADDRESS: &str = "127.0.0.1:8000";
/// The path of the program in the blocks.
const PROGRAM: &str = "/path/to/calc";
/// How long a server of a block may take to accept connections.
const START: Duration = Duration::from_secs(30);

/// A code block of the page.
struct Block {
    language: String,
    text: String,
}

/// The folder with the project `calc` and the link `mcp` to this checkout. Removed on drop.
struct Folder {
    path: PathBuf,
    address: String,
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Runs the command.
pub(crate) fn run_blocks() -> Result {
    let page = workspace::load(root(), PAGE)?.text;
    let mut blocks = blocks(&page).into_iter();
    let mut next = |language: &str| match blocks.next() {
        Some(block) if block.language == language => Ok(block.text),
        Some(block) => Err(format!(
            "{PAGE}: the next block is {:?}, not {language}; change xtask/src/readme.rs with the page:\n{}",
            block.language, block.text
        )),
        None => Err(format!("{PAGE}: a block with {language} is missing")),
    };
    let start = Instant::now();
    // `quickstart` and the tests are steps of their own.
    next("sh")?;
    build(root(), &target(), "-p mcp-cli --bin mcp")?;
    let folder = Folder::new()?;

    folder.main(&next("rust")?)?;
    folder.dependencies(&next("toml")?)?;
    next("toml")?;
    let configuration = next("json")?;
    folder.terminal(&next("sh")?, &configuration)?;

    folder.main(&next("rust")?)?;
    folder.over_http()?;
    folder.curl(&next("sh")?)?;

    folder.main(&next("rust")?.replace(PROGRAM, "./calc"))?;
    let said = lines_of(&mut folder.shell("cargo run --quiet"), BUILD)?;
    same(&said, &["5"], "the client")?;

    folder.main(&next("rust")?)?;
    folder.orders(&next("sh")?)?;
    if let Some(block) = blocks.next() {
        return Err(format!("{PAGE}: this block is not run:\n{}", block.text));
    }
    say(&format!("{} s", start.elapsed().as_secs()));
    Ok(())
}

/// The code blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block> {
    let parts = page.split("\n```").skip(1).step_by(2);
    let blocks = parts.filter_map(|part| part.split_once('\n'));
    let blocks = blocks.map(|(info, text)| Block {
        language: info.split(',').next().unwrap_or_default().to_owned(),
        text: format!("{text}\n"),
    });
    blocks.collect()
}

impl Folder {
    /// Creates the folder, the project and the link.
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("mcp-readme-{}", std::process::id()));
        fs::create_dir_all(&path).at(path.display())?;
        // The port is free again when the listener is dropped.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.at("a free port")?.to_string();
        let folder = Self { path, address };
        run(
            cargo("new --quiet --vcs none calc").current_dir(&folder.path),
            SHORT,
            say,
        )?;
        link(root(), &folder.path.join("mcp"))?;
        // The dependencies are those of the workspace, in their versions, and are built once.
        link(&target(), &folder.calc().join("target"))?;
        fs::copy(root().join("Cargo.lock"), folder.calc().join("Cargo.lock")).at("Cargo.lock")?;
        Ok(folder)
    }

    fn calc(&self) -> PathBuf {
        self.path.join("calc")
    }

    /// Replaces the program.
    fn main(&self, text: &str) -> Result {
        let text = text.replace(ADDRESS, &self.address);
        workspace::write(&self.calc().join("src/main.rs"), &text)
    }

    fn dependencies(&self, text: &str) -> Result {
        let manifest = workspace::load(&self.calc(), "Cargo.toml")?.text;
        let with = manifest.replace("[dependencies]\n", text);
        workspace::write(&self.calc().join("Cargo.toml"), &with)
    }

    /// A line of a shell in the folder of the project, with the built `mcp` on the path.
    fn shell(&self, line: &str) -> Command {
        let mut path = target().join("debug").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command
            .args(["-c", &line.replace(ADDRESS, &self.address)])
            .current_dir(self.calc())
            .env("PATH", path)
            .env_remove("CARGO_TARGET_DIR");
        command
    }

    /// The commands with the program `mcp`. The last two run until they are ended.
    fn terminal(&self, text: &str, configuration: &str) -> Result {
        let program = self.calc().join("calc").display().to_string();
        let servers = configuration.replace(PROGRAM, &program);
        let listen = format!(r#"{{ "gateway": {{ "listen": "{}" }}, "#, self.address);
        let servers = servers.replacen('{', &listen, 1);
        workspace::write(&self.calc().join("gateway.json"), &servers)?;
        let [build, call, inspect, bridge, serve] = lines(text)?;
        run(&mut self.shell(build), BUILD, say)?;
        same(&lines_of(&mut self.shell(call), SHORT)?, &["5"], call)?;
        let inspected = lines_of(&mut self.shell(inspect), SHORT)?.join("\n");
        if !inspected.contains("Adds two numbers.") {
            return Err(format!("{inspect} prints no description:\n{inspected}"));
        }
        for (line, name) in [(bridge, "add"), (serve, "calc__add")] {
            // `exec`, so that the end of the shell is the end of the program.
            let server = Server::start(&mut self.shell(&format!("exec {line}")), "/mcp")?;
            self.call(server.url(), name)?;
            server.end()?;
        }
        Ok(())
    }

    /// Calls the tool that adds, at a URL.
    fn call(&self, url: &str, tool: &str) -> Result {
        let call = format!("mcp call {url} {tool} a=2 b=3");
        same(&lines_of(&mut self.shell(&call), SHORT)?, &["5"], &call)
    }

    /// Starts the project as a server at the address, and calls it.
    fn over_http(&self) -> Result {
        run(&mut self.shell("cargo build --quiet"), BUILD, say)?;
        let mut server = self.shell("exec target/debug/calc");
        let _server = self.listening(&mut server)?;
        self.call(&format!("http://{}/mcp", self.address), "add")
    }

    /// Starts a server, and waits until it accepts connections at the address.
    fn listening(&self, command: &mut Command) -> Result<Running> {
        let running = Running(command.spawn().at("the server")?);
        let start = Instant::now();
        while TcpStream::connect(&self.address).is_err() {
            if start.elapsed() > START {
                return Err(format!("no server listens at {}", self.address));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(running)
    }

    /// The commands with curl. The last line is a comment with what they print.
    fn curl(&self, text: &str) -> Result {
        build(root(), &target(), "-p mcp-tests --bin everything-server")?;
        let program = executable(&target().join("debug"), "everything-server");
        let mut server = Command::new(program);
        let _server = self.listening(server.args(["--http", &self.address]))?;
        let said = lines_of(&mut self.shell(text), SHORT)?;
        let expected = text.trim_end().rsplit("# ").next().unwrap_or_default();
        same(&said, &[expected], "curl")
    }

    /// The program with the handler, which must compile, and the commands for the example, of which the first is for the checkout.
    fn orders(&self, text: &str) -> Result {
        run(&mut self.shell("cargo build --quiet"), BUILD, say)?;
        let [build, answer, call] = lines(text)?;
        run(self.shell(build).current_dir(root()), BUILD, say)?;
        run(&mut self.shell(answer), SHORT, say)?;
        let said = lines_of(&mut self.shell(call), SHORT)?.join("\n");
        match said.contains("\"order\":7") {
            true => Ok(()),
            false => Err(format!("{call} printed:\n{said}")),
        }
    }
}

/// A process that is killed on drop.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) -> Result {
    std::os::unix::fs::symlink(to, at).at(at.display())
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> Result {
    Err("the blocks of README are for a shell on Unix".to_owned())
}

/// The lines of a block, of which there must be `N`.
fn lines<const N: usize>(text: &str) -> Result<[&str; N]> {
    let lines: Vec<&str> = text.lines().collect();
    let wrong = |_| format!("{PAGE}: this block must have {N} lines:\n{text}");
    lines.try_into().map_err(wrong)
}

fn same(said: &[String], expected: &[&str], what: &str) -> Result {
    match said == expected {
        true => Ok(()),
        false => Err(format!("{what}: expected {expected:?}, printed {said:?}")),
    }
}

#[test]
fn blocks_are_read_with_their_languages() {
    let blocks = blocks("a\n\n```sh\nb\nc\n```\n\nd\n\n```rust,no_run\ne\n```\n");
    let read: Vec<_> = blocks
        .iter()
        .map(|block| (&*block.language, &*block.text))
        .collect();
    assert_eq!(read, [("sh", "b\nc\n"), ("rust", "e\n")]);
}
