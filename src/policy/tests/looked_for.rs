use std::fs;
use std::path::PathBuf;

use crate::policy::load::find_in;
use crate::policy::{NotFound, find, load};
use crate::text::Look;

#[test]
fn a_folder_gives_its_yaml_files_sorted_and_not_those_below_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["b.yml", "a.yaml", "c.txt", "below/d.yaml"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, "").expect("written");
    }
    let files = find(&[folder.path().to_owned()]).expect("found");
    assert_eq!(files, ["a.yaml", "b.yml"].map(|name| folder.path().join(name)));
    // A file that is named twice is read once.
    let twice = find(&[folder.path().to_owned(), folder.path().join("a.yaml")]).expect("found");
    assert_eq!(twice.len(), 2);
}

#[test]
fn what_is_not_there_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing.yaml");
    let error = find(std::slice::from_ref(&missing)).expect_err("it is missing");
    assert!(matches!(error, NotFound::NoSuchFile(_)));
    for part in [missing.display().to_string().as_str(), "no such file", "audit init"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = find(&[folder.path().to_owned()]).expect_err("it is empty");
    assert!(matches!(error, NotFound::EmptyFolder(_)));
    assert!(error.to_string().contains("audit init"));
    let error = find_in(folder.path()).expect_err("nothing is there");
    assert!(matches!(error, NotFound::Nothing));
    assert!(error.to_string().contains("audit init"));
}

#[test]
fn without_a_name_the_file_comes_before_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("policies")).expect("a folder");
    fs::write(folder.path().join("policies/x.yaml"), "").expect("written");
    assert_eq!(find_in(folder.path()).expect("found"), [folder.path().join("policies/x.yaml")]);
    fs::write(folder.path().join("policies.yaml"), "").expect("written");
    assert_eq!(find_in(folder.path()).expect("found"), [folder.path().join("policies.yaml")]);
}

fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.yaml");
    fs::write(&path, bytes).expect("written");
    (folder, path)
}

#[track_caller]
fn refused(bytes: &[u8]) -> String {
    let (_folder, path) = written(bytes);
    let problems = load(&path).expect_err("it is wrong");
    assert!(!problems.render(Look::PLAIN).is_empty());
    problems.to_string()
}

#[test]
fn a_file_of_five_megabytes_is_refused_with_its_size() {
    let text = refused(&vec![b'#'; 5 * 1024 * 1024]);
    assert!(text.contains("5.0 MiB") && text.contains("split it"), "{text}");
}

#[test]
fn a_byte_that_is_not_utf8_is_named_with_its_line_and_column() {
    let text = refused(b"version: 1\nservice: \"\xc3\xa9\xff\"\n");
    assert!(text.contains("p.yaml:2:12: the byte 0xFF is not UTF-8"), "{text}");
}

#[test]
fn an_empty_file_says_how_to_begin() {
    for bytes in [&b""[..], b"\n\n", b"# a comment\n", b"\xef\xbb\xbf", b"---\n"] {
        let text = refused(bytes);
        assert!(text.contains("empty") && text.contains("audit init"), "{text}");
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_and_a_missing_file_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(load(folder.path()).expect_err("a folder").to_string().contains("can't be read"));
    let missing = folder.path().join("x.yaml");
    assert!(load(&missing).expect_err("missing").to_string().contains("audit init"));
}

#[test]
fn a_byte_order_mark_moves_no_place() {
    let (_folder, path) = written(b"\xef\xbb\xbfversion: 2\n");
    let problems = load(&path).expect_err("it is wrong");
    let version = problems.list().iter().find(|problem| problem.message.contains("version")).expect("found");
    assert_eq!((version.place.span.column, version.place.span.start), (10, 9));
}
