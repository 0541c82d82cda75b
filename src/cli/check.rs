//! `audit check`
use super::args::CheckArgs;
use super::exit::Exit;
pub(crate) fn run(_: &CheckArgs) -> Exit {
    Exit::Conforms
}
