//! The words of the project: what the other rooms say to each other. Nothing here runs anything, and
//! nothing here imports from another room.

mod closest;
mod finding;
mod human;
mod place;
mod reply;
mod state;
mod states;
mod tri;

pub use closest::{closest, closest_word};
pub use finding::{Basis, Code, Finding, Harm, Severity, Verdict};
pub use human::{coarse_count, coarse_us, declared, exact_us, human_us, micros};
pub use place::{Place, Span};
pub use reply::{Answer, Decision, Evidence, KnownFrom, OutagePolicy, Phase, Reply, Whose};
pub use state::{By, FAILURES, Form, Keeps, Parameter, ParameterSpec, State, StateFacts, Waits};
pub use tri::Tri;
