//! Replays a use's own protocol on a healthy server: what goes wrong here needs no outage.

use std::sync::Arc;
use std::time::Duration;

use super::server::Hand;
use super::{Run, RunError};
use crate::clients::ProbeClient;
use crate::kinds::{Call, Command, Kind, ProbeId, Step};
use crate::observe::{Protocol, Replayed, ReplayedStep};
use crate::policy::Use;
use crate::words::{Answer, Reply};

/// What a use of its kind can be wrong about; none where an operation that it takes is not there or not answered.
pub(super) async fn replay(
    run: &Arc<Run>,
    hand: &mut Hand,
    client: &mut ProbeClient,
    file: usize,
    use_index: usize,
) -> Result<Vec<Replayed>, RunError> {
    let used = &run.plan.files[file].uses[use_index];
    let mut replays = Vec::new();
    if !matches!(used.kind, Kind::Lock | Kind::OneTimeToken | Kind::RateLimit) {
        return Ok(replays);
    }
    let mut stage = Stage { run, used, slot: run.probe_id(), client, hand, steps: Vec::new() };
    let protocols = match used.kind {
        Kind::Lock => vec![stage.acquisition().await?, stage.late_release().await?],
        Kind::OneTimeToken => vec![stage.two_consumers().await],
        _ => vec![stage.count().await?],
    };
    for (what, steps) in protocols.into_iter().flatten() {
        replays.push(Replayed { file, use_index, what, steps });
    }
    Ok(replays)
}

type Done = Option<(Protocol, Vec<ReplayedStep>)>;

struct Stage<'a> {
    run: &'a Run,
    used: &'a Use,
    /// The key that all of them are about; a new one for each replay.
    slot: ProbeId,
    client: &'a mut ProbeClient,
    hand: &'a mut Hand,
    steps: Vec<ReplayedStep>,
}

impl Stage<'_> {
    fn begin(&mut self) {
        self.slot = self.run.probe_id();
        self.steps.clear();
    }

    fn key(&self) -> String {
        self.used.key.fill(&self.slot)
    }

    /// The commands of an operation as this actor sends them; none where the service does not have it.
    fn commands(&self, operation: &str, actor: &ProbeId) -> Option<Vec<Step>> {
        let call = Call { fields: &self.used.fields, key: &self.used.key, slot: &self.slot, probe: actor };
        let index = self.used.operation(operation)?;
        Some(self.used.operations[index].operation.steps(&call))
    }

    /// Sends them; none where one was not answered.
    async fn send(&mut self, who: &str, actor: &ProbeId, steps: &[Step]) -> Option<Answer> {
        let did = steps.iter().map(|step| shown(&step.command)).collect::<Vec<_>>().join("; ");
        let probe = self.client.call(actor, steps, self.run.plan.give_up).await;
        let (answer, given) = match probe.reply {
            Reply::Answered(answer) => (words_of(&answer), Some(answer)),
            other => (other.class().to_owned(), None),
        };
        self.steps.push(ReplayedStep { who: who.to_owned(), did, answer });
        given
    }

    async fn acts(&mut self, who: &str, actor: &ProbeId, operation: &str) -> Option<Answer> {
        let steps = self.commands(operation, actor)?;
        self.send(who, actor, &steps).await
    }

    async fn acquisition(&mut self) -> Result<Done, RunError> {
        self.begin();
        let a = self.run.probe_id();
        let Some(mut steps) = self.commands("acquire", &a) else { return Ok(None) };
        steps.truncate(1);
        if self.send("A", &a, &steps).await != Some(Answer::Yes) {
            return Ok(None);
        }
        let left_ms = self.left_ms().await?;
        Ok(Some((Protocol::Acquisition { left_ms }, std::mem::take(&mut self.steps))))
    }

    async fn late_release(&mut self) -> Result<Done, RunError> {
        let never =
            self.used.fields.duration("ttl").is_none() || self.used.fields.word("release") == "expire";
        if never || self.used.operation("release").is_none() {
            return Ok(None);
        }
        self.begin();
        let [a, b, c] = [self.run.probe_id(), self.run.probe_id(), self.run.probe_id()];
        if self.acts("A", &a, "acquire").await != Some(Answer::Yes) {
            return Ok(None);
        }
        self.expire().await?;
        let second = self.acts("B", &b, "acquire").await;
        let Some(released) = self.acts("A", &a, "release").await else { return Ok(None) };
        let third = self.acts("C", &c, "acquire").await;
        let what = Protocol::LateRelease {
            second_got_in: second == Some(Answer::Yes),
            released: released == Answer::Yes,
            third_got_in: third == Some(Answer::Yes),
        };
        Ok(Some((what, std::mem::take(&mut self.steps))))
    }

    async fn two_consumers(&mut self) -> Done {
        self.begin();
        let [a, b, c] = [self.run.probe_id(), self.run.probe_id(), self.run.probe_id()];
        self.acts("A", &a, "issue").await?;
        let (first, second) = (self.commands("consume", &b)?, self.commands("consume", &c)?);
        let mut accepted = 0;
        // Command by command, as two requests at the same time can be interleaved.
        for position in 0..first.len().max(second.len()) {
            for (who, actor, steps) in [("B", &b, &first), ("C", &c, &second)] {
                let Some(step) = steps.get(position) else { continue };
                let alone = Step { when: crate::kinds::When::Always, ..step.clone() };
                let answer = self.send(who, actor, &[alone]).await?;
                accepted += usize::from(position == 0 && answer != Answer::No);
            }
        }
        Some((Protocol::TwoConsumers { accepted }, std::mem::take(&mut self.steps)))
    }

    async fn count(&mut self) -> Result<Done, RunError> {
        self.begin();
        let a = self.run.probe_id();
        let Some(mut steps) = self.commands("take", &a) else { return Ok(None) };
        steps.truncate(1);
        if self.send("A", &a, &steps).await.is_none() {
            return Ok(None);
        }
        let left_ms = self.left_ms().await?;
        Ok(Some((Protocol::Count { left_ms }, std::mem::take(&mut self.steps))))
    }

    async fn left_ms(&mut self) -> Result<Option<u64>, RunError> {
        let snapshot = self.hand.snapshot(&[("key", vec![self.key()])]).await?;
        let left = snapshot.first().and_then(|(_, found)| found.main()).and_then(|found| found.left_ms);
        let answer = left.map_or_else(|| "-1: no expiry".to_owned(), |left| left.to_string());
        let did = format!("PTTL {}", self.key());
        self.steps.push(ReplayedStep { who: "the audit".to_owned(), did, answer });
        Ok(left)
    }

    /// Lets the key's time run out, without waiting for it.
    async fn expire(&mut self) -> Result<(), RunError> {
        let key = self.key();
        self.hand.send("keys", [vec!["PEXPIRE", key.as_str(), "1"]].into_iter()).await?;
        while self.hand.present(std::slice::from_ref(&key)).await? != [false] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let did = format!("PEXPIRE {key} 1");
        self.steps.push(ReplayedStep { who: "the audit".to_owned(), did, answer: "expired".to_owned() });
        Ok(())
    }
}

fn shown(command: &Command) -> String {
    match command {
        Command::Plain(words) => words.join(" "),
        Command::Script { keys, args, .. } => {
            format!("EVALSHA <script> {} {}", keys.join(" "), args.join(" "))
        }
    }
}

fn words_of(answer: &Answer) -> String {
    match answer {
        Answer::Yes => "yes".to_owned(),
        Answer::No => "no".to_owned(),
        Answer::Value(value) => value.clone(),
    }
}
