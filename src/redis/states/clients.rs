//! The server's clients, as it lists them.

use std::io;

use super::super::wire::{STEP_WITHIN, Wire, WireReply};

/// How many commands are on their way at once.
const PIPELINE: usize = 500;

/// The ids of all clients but this connection and those that monitor or replicate, and how many those are.
async fn listed(control: &mut Wire) -> io::Result<(Vec<String>, usize)> {
    let own = match control.ask(&["CLIENT", "ID"], STEP_WITHIN).await? {
        WireReply::Int(id) => id.to_string(),
        other => return Err(io::Error::other(format!("CLIENT ID was answered by {other:?}"))),
    };
    let list = control.ask(&["CLIENT", "LIST"], STEP_WITHIN).await?.text();
    let (mut others, mut stay) = (Vec::new(), 0);
    for line in list.lines() {
        let field =
            |name: &str| line.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        let (Some(id), Some(flags)) = (field("id"), field("flags")) else { continue };
        if id == own || flags.contains(['O', 'S', 'M']) {
            stay += 1;
        } else {
            others.push(id.to_owned());
        }
    }
    Ok((others, stay))
}

/// How many stay when all others are killed.
pub(super) async fn that_stay(control: &mut Wire) -> io::Result<usize> {
    Ok(listed(control).await?.1)
}

/// Kills every client by its id, but this connection and those that monitor; how many that were. None of them is
/// listed any more.
pub(super) async fn kill(control: &mut Wire) -> io::Result<usize> {
    let (ids, _) = listed(control).await?;
    for some in ids.chunks(PIPELINE) {
        for id in some {
            control.send(&["CLIENT", "KILL", "ID", id]).await?;
        }
        for id in some {
            // One that had gone by itself is as gone as the others.
            match super::super::wire::bounded(STEP_WITHIN, control.reply()).await? {
                WireReply::Int(_) => {}
                other => {
                    return Err(io::Error::other(format!("CLIENT KILL ID {id} was answered by {other:?}")));
                }
            }
        }
    }
    let (left, _) = listed(control).await?;
    match left.iter().find(|id| ids.contains(id)) {
        None => Ok(ids.len()),
        Some(id) => Err(io::Error::other(format!("the client {id} is still listed after it was killed"))),
    }
}
