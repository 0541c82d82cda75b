//! The long form of each finding. It is written once, in the documentation's page on findings.

use crate::words::Code;

/// The page that documents every code.
const PAGE: &str = include_str!("../../docs/findings.md");

/// What the documentation says of a code; the page has a part for each, which a test asserts.
pub fn explain(code: Code) -> &'static str {
    let heading = format!("\n## {code}\n");
    let Some(start) = PAGE.find(&heading) else { return code.summary() };
    let part = &PAGE[start + heading.len()..];
    part.find("\n## ").map_or(part, |end| &part[..end]).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_part_for_each_code_that_names_its_severity_and_basis_and_none_for_another() {
        for code in Code::ALL {
            let text = explain(*code);
            let first =
                format!("Severity {}, basis {}.", code.default_severity().name(), code.basis().name());
            assert!(text.starts_with(&first), "{code}: {text}");
            assert!(text.lines().count() > 4, "{code} is explained in more than a line");
        }
        for heading in PAGE.lines().filter_map(|line| line.strip_prefix("## ")) {
            assert!(Code::from_name(heading).is_some(), "{heading} is documented and does not exist");
        }
    }
}
