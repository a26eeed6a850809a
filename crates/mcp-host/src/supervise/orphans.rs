//! Ends the child processes of a host that was killed.
//!
//! A killed process cannot end its children, and the parent-death signal of Linux reaches only direct children: if `npx` has
//! started `node`, `node` would continue. This process therefore starts a shell, and sends it the process groups of all children
//! over a pipe. When this process ends for any reason, the pipe closes, and the shell ends the remaining groups. ADR 0032 has the
//! alternatives.

use std::any::Any;

/// Registers a process group until the returned guard is dropped. Logs a failure.
#[cfg(unix)]
pub(crate) fn guard(group: u32) -> Box<dyn Any + Send> {
    Box::new(unix::Registration::new(group))
}

/// Does nothing. Without process groups, the host cannot reach the descendants of the child.
#[cfg(not(unix))]
pub(crate) fn guard(_group: u32) -> Box<dyn Any + Send> {
    Box::new(())
}

#[cfg(unix)]
mod unix {
    use std::io::Write;
    use std::os::unix::process::CommandExt as _;
    use std::process::{ChildStdin, Command, Stdio};
    use std::sync::Mutex;

    use mcp_protocol::lock;

    /// The script of the shell. It reads lines `+ group` and `- group`. At the end of the input, it ends the process groups that
    /// are left.
    const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=
while read -r change group; do
    rest=
    for other in $groups; do
        [ "$other" = "$group" ] || rest="$rest $other"
    done
    groups=$rest
    [ "$change" = - ] || groups="$groups $group"
done
for group in $groups; do kill -TERM "-$group"; done
[ -z "$groups" ] || sleep 1
for group in $groups; do kill -KILL "-$group"; done
"#;

    /// The standard input of the shell that this process has started; `None` before the first registration.
    static SHELL: Mutex<Option<ChildStdin>> = Mutex::new(None);

    pub(super) struct Registration {
        group: u32,
    }

    impl Registration {
        pub(super) fn new(group: u32) -> Self {
            let mut shell = lock(&SHELL);
            let registered = match &mut *shell {
                Some(input) => write(input, '+', group),
                None => start().and_then(|input| write(shell.insert(input), '+', group)),
            };
            if let Err(error) = registered {
                tracing::warn!(%error, group, "a child process would outlive this process if it is killed");
            }
            Self { group }
        }
    }

    impl Drop for Registration {
        fn drop(&mut self) {
            let mut shell = lock(&SHELL);
            if let Some(input) = &mut *shell {
                let _ = write(input, '-', self.group);
            }
        }
    }

    fn start() -> std::io::Result<ChildStdin> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            // Ctrl-C at the terminal must not end the shell.
            .process_group(0)
            .spawn()?;
        shell
            .stdin
            .take()
            .ok_or_else(|| std::io::ErrorKind::BrokenPipe.into())
    }

    fn write(input: &mut ChildStdin, change: char, group: u32) -> std::io::Result<()> {
        // One write, so that the line is complete when this process is killed.
        input.write_all(format!("{change} {group}\n").as_bytes())
    }
}
