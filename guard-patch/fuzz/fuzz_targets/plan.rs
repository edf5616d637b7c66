//! Any patch is planned over any file, or refused; what is planned is what its chunks say.
#![no_main]

use std::collections::BTreeMap;

use guard_patch::{After, Before, Options, parse, plan};
use libfuzzer_sys::fuzz_target;

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fuzz_target!(|input: (&[u8], &str)| {
    let (file, text) = input;
    // Most inputs are no patch: each is tried as the body of one, too.
    for text in [text.to_owned(), format!("*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch\n")] {
        let Ok(patch) = parse(&text) else { continue };
        let files: BTreeMap<String, Vec<u8>> =
            patch.paths().into_iter().map(|path| (path.to_owned(), file.to_vec())).collect();
        let _ = plan(&patch, &files, &Options::danger_codex()).map(|plan| plan.changed());
        let planned = match plan(&patch, &files, &Options::default()) {
            Ok(planned) => planned,
            Err(rejected) => {
                assert!(!rejected.0.is_empty() && !rejected.to_string().is_empty());
                continue;
            }
        };
        assert!(planned.stopped.is_none());
        let paths: Vec<&str> = planned.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, patch.paths());
        for plan in &planned.files {
            // A file that was edited once, with ends of lines that are LF: the lines add up.
            if let (Before::File, After::Bytes(after), [chunk]) = (plan.before, &plan.after, plan.chunks.as_slice())
                && file.ends_with(b"\n")
                && after.ends_with(b"\n")
                && plan.moved_from.is_none()
            {
                assert_eq!(lines(after) + chunk.removed, lines(file) + chunk.added);
            }
        }
    }
});
