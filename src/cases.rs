//! How many cases a property test tries.

use proptest::test_runner::Config;

/// So many, for a test whose cases cost more than others; where `PROPTEST_CASES` is set, as many as it says.
pub(crate) fn cases(usual: u32) -> Config {
    let config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { Config { cases: usual, ..config } }
}
