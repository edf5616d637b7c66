//! What the reference engine's own scenarios do by default, where that differs: those that destroy data are refused.
//!
//! `cargo xtask conformance DIR` runs all of them; here are those that the two engines end differently.

use guard_patch::Options;

use crate::notation::{net, reasons, run};

/// A scenario: its name, the files, the operations; the net effect as the reference engine; the refusal by default, why.
const DIFFERENT: [(&str, &[(&str, &str)], &str, &str, &str, &str); 5] = [
    (
        "010_move_overwrites_existing_destination",
        &[("old/name.txt", "from⏎"), ("renamed/dir/name.txt", "existing⏎")],
        "*** Update File: old/name.txt|*** Move to: renamed/dir/name.txt|@@|-from|+new",
        "old/name.txt: file -> absent; renamed/dir/name.txt: file -> \"new⏎\"",
        "refused: 3 file-exists",
        "a move would destroy a file that nobody has seen",
    ),
    (
        "011_add_overwrites_existing_file",
        &[("duplicate.txt", "old content⏎")],
        "*** Add File: duplicate.txt|+new content",
        "duplicate.txt: file -> \"new content⏎\"",
        "refused: 2 file-exists",
        "an Add would destroy a file that nobody has seen",
    ),
    (
        "015_failure_after_partial_success_leaves_changes",
        &[],
        "*** Add File: created.txt|+hello|*** Update File: missing.txt|@@|-old|+new",
        "created.txt: absent -> \"hello⏎\"",
        "refused: 4 file-missing",
        "half of a patch would be applied",
    ),
    (
        "016_pure_addition_update_chunk",
        &[("input.txt", "line1⏎line2⏎")],
        "*** Update File: input.txt|@@|+added line 1|+added line 2",
        "input.txt: file -> \"line1⏎line2⏎added line 1⏎added line 2⏎\"",
        "refused: 3 no-place",
        "the lines would go to a place that the patch does not name",
    ),
    (
        "024_preserves_mixed_line_endings",
        &[("lines.txt", "one␍⏎two␍three⏎four␍⏎")],
        "*** Update File: lines.txt|@@| one| two|-three|+THREE| four",
        "lines.txt: file -> \"one␍⏎two␍THREE␍⏎four␍⏎\"",
        "refused: 3 not-found",
        "a CR inside a line is data, and the end of the replaced line would be lost",
    ),
];

#[test]
fn scenarios_that_end_otherwise_are_refused_by_default() {
    for (name, files, operations, reference, refusal, why) in DIFFERENT {
        let codex = run(files, operations, &Options::danger_codex()).unwrap();
        assert_eq!(net(&codex), reference, "{name}");
        let refused = run(files, operations, &Options::default()).unwrap_err();
        assert_eq!(reasons(&refused), refusal, "{name}: {why}");
    }
}
