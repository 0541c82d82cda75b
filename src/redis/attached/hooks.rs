//! The user's own commands that stop and start a server that is not ours.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::super::HookError;

/// How much of what a hook wrote an error carries.
const SAID: usize = 1_000;

/// How long a hook that was told to end may go on before it is killed.
const END_WITHIN: Duration = Duration::from_secs(2);

/// Runs a hook: its program with its arguments, without a shell, and with nothing on its standard input.
pub(super) async fn run(which: &'static str, command: &[String], within: Duration) -> Result<(), HookError> {
    let failed = |why: String| HookError { which, command: command.to_vec(), why };
    let Some((program, arguments)) = command.split_first() else { return Err(failed("is empty".to_owned())) };
    let (mut reader, writer) = std::io::pipe()
        .and_then(|(reader, writer)| Ok((pipe(reader)?, writer)))
        .map_err(|error| failed(format!("can't be run: {error}")))?;
    let errors = writer.try_clone().map_err(|error| failed(format!("can't be run: {error}")))?;
    let mut process = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        // Whatever it starts ends with it, and Ctrl-C, which is for the audit, does not reach it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("can't be run: {error}")))?;
    let group = process.id();
    // What it leaves running holds the pipe open, so the end of its output is not waited for.
    let said = tokio::spawn(async move {
        let mut said = Vec::new();
        let mut chunk = [0; 1_024];
        while let Ok(read @ 1..) = reader.read(&mut chunk).await {
            said.extend_from_slice(&chunk[..read]);
            let extra = said.len().saturating_sub(SAID);
            said.drain(..extra);
        }
        said
    });
    match tokio::time::timeout(within, process.wait()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => {
            let said = tokio::time::timeout(Duration::from_millis(200), said).await;
            let said = said.ok().and_then(Result::ok).unwrap_or_default();
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            Err(failed(format!("failed ({status}){}{said}", if said.is_empty() { "" } else { ": " })))
        }
        Ok(Err(error)) => Err(failed(format!("can't be waited for: {error}"))),
        Err(_) => {
            if let Some(group) = group.and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = tokio::time::timeout(END_WITHIN, process.wait()).await;
            Err(failed(format!("did not end within {within:?}, and was killed")))
        }
    }
}

/// The reading end, for the runtime.
fn pipe(reader: std::io::PipeReader) -> std::io::Result<tokio::net::unix::pipe::Receiver> {
    tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sh(script: &str, within: Duration) -> Result<(), String> {
        let command = ["sh", "-c", script].map(str::to_owned);
        run("stop", &command, within).await.map_err(|error| error.to_string())
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_hook_that_ends_well_is_done_whatever_it_leaves_running() {
        assert_eq!(sh("sleep 20 & echo done", LONG).await, Ok(()));
        assert_eq!(sh("head -c 300000 /dev/zero", LONG).await, Ok(()));
    }

    #[tokio::test]
    async fn a_hook_that_fails_hangs_or_is_not_there_says_so() {
        let failed = sh("echo no such container >&2; exit 3", LONG).await.unwrap_err();
        assert!(failed.contains("exit status: 3") && failed.contains("no such container"), "{failed}");
        let started = std::time::Instant::now();
        let hung = sh("sleep 20", Duration::from_millis(100)).await.unwrap_err();
        assert!(hung.contains("did not end within 100ms"), "{hung}");
        assert!(started.elapsed() < LONG / 2, "it was killed");
        let missing = run("start", &["no-such-program".to_owned()], LONG).await.unwrap_err().to_string();
        assert!(missing.contains("no-such-program") && missing.contains("start hook"), "{missing}");
    }
}
