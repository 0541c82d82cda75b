//! The server is killed, its data is thrown away, and it starts again where it was.

use std::io;

use super::super::identity::identify;
use super::super::wire::{STEP_WITHIN, Wire, WireReply};
use super::super::{Server, ServerError};
use super::Verdict;

/// A server that has started again without its data.
#[derive(Debug)]
pub(super) struct RestartedEmpty {
    /// What it was called before.
    before: String,
    /// What it was asked once it answered again.
    keys: Result<i64, String>,
}

impl RestartedEmpty {
    pub(super) async fn fire(server: &mut Server) -> Result<RestartedEmpty, ServerError> {
        let before = server.run_id().to_owned();
        let own = server.own_mut()?;
        own.kill().await?;
        own.wipe()?;
        own.start_again().await?;
        let keys = keys(server).await.map_err(|error| format!("it could not be asked for its keys: {error}"));
        Ok(RestartedEmpty { before, keys })
    }

    /// That it fired, and that the server that answers at the end is the one that came up then.
    pub(super) async fn leave(self, server: &Server) -> Verdict {
        let answers = identify(server.endpoint(), STEP_WITHIN).await;
        verdict(&self.before, self.keys, server.run_id(), answers.map(|identity| identity.run_id))
    }
}

/// What a restart without data has to have shown.
fn verdict(
    before: &str,
    keys: Result<i64, String>,
    restarted: &str,
    at_the_end: io::Result<String>,
) -> Verdict {
    if before == restarted {
        return Err("the server that answers is the one that was there before".to_owned());
    }
    match keys? {
        0 => {}
        some => return Err(format!("it came up with {some} keys")),
    }
    match at_the_end {
        Ok(run_id) if run_id == restarted => Ok(
            "the process was killed and waited for, another life of the server (its run_id) answered at its address with DBSIZE 0, and the same answered at the end"
                .to_owned(),
        ),
        Ok(_) => Err("the server has restarted once more".to_owned()),
        Err(error) => Err(format!("the server did not answer at the end: {error}")),
    }
}

async fn keys(server: &Server) -> io::Result<i64> {
    let mut control = Wire::connect(server.endpoint(), STEP_WITHIN).await?;
    match control.ask(&["DBSIZE"], STEP_WITHIN).await? {
        WireReply::Int(keys) => Ok(keys),
        other => Err(io::Error::other(format!("DBSIZE was answered by {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_not_restarted_or_kept_a_key_is_not_believed() {
        let end = || Ok("new".to_owned());
        assert!(verdict("old", Ok(0), "new", end()).is_ok());
        assert!(verdict("new", Ok(0), "new", end()).is_err(), "the same life");
        assert!(verdict("old", Ok(3), "new", end()).unwrap_err().contains("3 keys"));
        assert!(verdict("old", Err("gone".to_owned()), "new", end()).is_err());
        assert!(verdict("old", Ok(0), "new", Ok("newer".to_owned())).is_err());
        assert!(verdict("old", Ok(0), "new", Err(io::ErrorKind::ConnectionRefused.into())).is_err());
    }
}
