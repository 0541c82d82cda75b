//! Text from policy files and servers on lines: cleaned, measured, shortened and wrapped.

use unicode_width::UnicodeWidthStr;

/// What stands where a character was left out that would change how its surroundings are shown.
const REPLACED: char = '\u{FFFD}';

/// How many bytes are looked at to fill a line: thousands of marks that take no column must not make it slow.
const LONGEST: usize = 512;

/// The text on one line, without anything that a terminal or a browser would act on.
///
/// Control characters (and with them every escape sequence) become their visible pictures, marks that
/// change the direction of writing or are invisible become a replacement character, and each stretch of white
/// space becomes one space.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            if !cleaned.is_empty() && !cleaned.ends_with(' ') {
                cleaned.push(' ');
            }
        } else {
            cleaned.push(visible(c));
        }
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

/// The text as it is but for what a terminal or a browser would act on, character by character, on one line.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { visible(c) }).collect()
}

/// The character itself, or what is shown in its place.
fn visible(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(REPLACED),
        '\u{7f}' => '\u{2421}',
        _ if c.is_control() => REPLACED,
        // Soft hyphen, zero-width marks, line and paragraph separators, direction marks, tags. The zero-width
        // joiner stays: emoji are made with it.
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' => REPLACED,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => REPLACED,
        '\u{e0000}'..='\u{e007f}' => REPLACED,
        _ => c,
    }
}

/// How many columns the text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces behind it up to a width.
pub(crate) fn pad(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(width(text))))
}

/// The text with spaces before it up to a width.
pub(crate) fn pad_left(text: &str, to: usize) -> String {
    format!("{}{text}", " ".repeat(to.saturating_sub(width(text))))
}

/// The text in at most so many columns: a longer one loses its middle, as both ends tell names apart.
pub(crate) fn shorten(text: &str, to: usize) -> String {
    if width(text) <= to {
        return text.to_owned();
    }
    let keep = to.saturating_sub(1);
    let head = prefix(text, keep.div_ceil(2));
    let mut tail = text.len();
    for (at, _) in text[head..].char_indices().rev() {
        let suffix = &text[head + at..];
        if width(suffix) > keep / 2 || suffix.len() > LONGEST {
            break;
        }
        tail = head + at;
    }
    format!("{}…{}", &text[..head], &text[tail..])
}

/// The text in lines of at most so many columns, broken at spaces where that is possible.
pub(crate) fn wrap(text: &str, to: usize) -> Vec<String> {
    let to = to.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    for mut word in text.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            if width(&line) + 1 + width(word) <= to {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            lines.push(std::mem::take(&mut line));
        }
        while width(word) > to {
            // A single character wider than the line would otherwise never be consumed.
            let first = word.chars().next().map_or(0, char::len_utf8);
            let (head, rest) = word.split_at(prefix(word, to).max(first));
            lines.push(head.to_owned());
            word = rest;
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The length in bytes of the longest beginning of the text that fits so many columns.
fn prefix(text: &str, to: usize) -> usize {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        // The width of the whole beginning is asked, as a mark can widen the character before it; what takes no
        // column of its own stays with that character.
        if width(&text[..at + c.len_utf8()]) > to || end > LONGEST {
            break;
        }
        end = at + c.len_utf8();
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_line_ends_and_direction_marks_are_shown_and_not_obeyed() {
        assert_eq!(clean("a\u{1b}[31mred"), "a␛[31mred");
        assert_eq!(clean("  two\r\n lines\tand  more "), "two lines and more");
        assert_eq!(clean("a\u{202e}b\u{9b}c\u{feff}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert_eq!(clean("👩‍🚀 è"), "👩‍🚀 è");
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(shorten("dataset-lock-of-the-service", 11), "datas…rvice");
        assert_eq!(shorten("short", 11), "short");
        assert_eq!(shorten("缓存缓存缓存", 6), "缓…存");
    }

    #[test]
    fn words_wrap_at_spaces_and_break_only_where_they_must() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a verylongword b", 5), ["a", "veryl", "ongwo", "rd b"]);
        assert_eq!(wrap("", 5), [""]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked_and_wrapping_loses_nothing(text in ".{0,80}", to in 2_usize..40) {
            let text = clean(&text);
            prop_assert!(width(&shorten(&text, to)) <= to);
            let lines = wrap(&text, to);
            for line in &lines {
                prop_assert!(width(line) <= to, "{line:?} is wider than {to}");
            }
            let unspaced = |text: &str| text.replace(' ', "");
            prop_assert_eq!(unspaced(&lines.concat()), unspaced(&text));
        }
    }
}
