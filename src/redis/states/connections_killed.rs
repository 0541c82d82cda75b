//! Every client's connection is killed, by its id, so that the monitor lives. The server answers all the time.

use std::io;

use super::super::Server;
use super::super::identity::identify;
use super::super::wire::{STEP_WITHIN, Wire};
use super::{Verdict, clients, counted};

/// Connections that were killed.
#[derive(Debug)]
pub(super) struct ConnectionsKilled {
    killed: Result<usize, String>,
}

impl ConnectionsKilled {
    pub(super) async fn fire(server: &Server) -> ConnectionsKilled {
        let killed = kill(server).await;
        ConnectionsKilled {
            killed: killed.map_err(|error| format!("the clients could not be killed: {error}")),
        }
    }

    /// That it fired, and that the server lives on.
    pub(super) async fn leave(self, server: &Server) -> Verdict {
        let killed = self.killed?;
        let same = identify(server.endpoint(), STEP_WITHIN).await;
        match same {
            Ok(identity) if identity.run_id == server.run_id() => Ok(format!(
                "{} killed by id and none of them is listed any more, and the same server answered at the end",
                if killed == 1 {
                    "1 client was".to_owned()
                } else {
                    format!("{} were", counted(killed, "client"))
                }
            )),
            Ok(_) => Err("the server that answers is not the one whose clients were killed".to_owned()),
            Err(error) => Err(format!("the server did not answer at the end: {error}")),
        }
    }
}

async fn kill(server: &Server) -> io::Result<usize> {
    let mut control = Wire::connect(server.endpoint(), STEP_WITHIN).await?;
    match clients::kill(&mut control).await? {
        0 => Err(io::Error::other("there was none")),
        killed => Ok(killed),
    }
}
