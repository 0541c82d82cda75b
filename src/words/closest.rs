//! "did you mean": the known word that is closest to one that is not known.

/// How alike two words must be, from 0 to 1, before one is offered for the other.
const CLOSE: f64 = 0.75;

/// The known word that is close to this one.
pub fn closest_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean x?)`, or nothing.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    closest_word(word, known).map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"))
}
