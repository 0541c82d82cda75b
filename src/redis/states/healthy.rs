//! Healthy: the control. Nothing is done to the server, and nothing is asked of it while it is measured.

use super::super::Server;
use super::super::identity::identify;
use super::super::wire::STEP_WITHIN;
use super::Verdict;

/// Which life of the server answered at the start; or why none did.
#[derive(Debug)]
pub(super) struct Healthy {
    run_id: Result<String, String>,
}

impl Healthy {
    pub(super) async fn enter(server: &Server) -> Healthy {
        Healthy { run_id: answering(server).await.map_err(|why| format!("at the start {why}")) }
    }

    pub(super) async fn leave(self, server: &Server) -> Verdict {
        let before = self.run_id?;
        let after = answering(server).await.map_err(|why| format!("at the end {why}"))?;
        if before != after {
            return Err(
                "the server that answered at the end is not the one that answered at the start".to_owned()
            );
        }
        Ok("the same server answered a PING on a fresh connection before the first probe and after the last"
            .to_owned())
    }
}

async fn answering(server: &Server) -> Result<String, String> {
    match identify(server.endpoint(), STEP_WITHIN).await {
        Ok(identity) if identity.run_id == server.run_id() => Ok(identity.run_id),
        Ok(_) => {
            Err(format!("{} was answered by another server than the one that was started", server.endpoint()))
        }
        Err(error) => Err(format!("{} did not answer a PING: {error}", server.endpoint())),
    }
}
