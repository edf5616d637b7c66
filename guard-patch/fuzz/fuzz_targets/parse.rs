//! Any text is read, or refused with lines that it has.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = text.split('\n').count();
    match guard_patch::parse(text) {
        Ok(patch) => {
            for path in patch.paths() {
                assert!(!path.is_empty() && !path.contains('\0') && !path.ends_with('/'), "{path:?}");
            }
        }
        Err(rejected) => {
            assert!(!rejected.0.is_empty());
            assert!(rejected.0.iter().all(|problem| (1..=lines).contains(&problem.line)), "{rejected}");
            assert!(!rejected.to_string().is_empty());
        }
    }
});
