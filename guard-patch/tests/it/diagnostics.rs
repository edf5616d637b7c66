//! What a refusal says.

use guard_patch::Options;

use crate::notation::run;

#[test]
fn refusals_say_what_is_wrong_where_and_how_to_go_on() {
    let file = "def first():⏎    return 1⏎⏎def second():⏎⇥x = “two”⏎    return x  ⏎⏎def third():⏎    return 3⏎    return 3⏎";
    let mut out = String::new();
    for body in [
        "@@|-    return 4|+    return 5",
        "@@| def second():|     x = \"two\"|-    return y|+    return z",
        "@@| def first():|     return 1|+    more| def second():",
        "@@ def fourth():|-    return 3|+    return 4",
        "@@ def second():|-    return 3|+    return 4",
        "@@ def second():|-    return 5|+    return 4",
        "@@ def third():|-    return 3|+    return 4",
        "@@ def|-    return 3|+    return 4",
        "@@|-def first():|+def f():|*** End of File",
        "@@|-def third():|+def t():|@@|-def first():|+def f():",
        "@@| def first():|-    return 1|+    return 2|@@|-    return 1|+    return 3",
        "@@|     return x|+    # more| def third():",
        "@@|+# end",
        "@@ def third():|+    return 3",
        "@@|-x = “two”|+  y",
        "@@|-    return 3|+    return 4|*** End of File|@@|-nothing of the kind|@@ nor this|-x",
    ] {
        let rejected = run(&[("f.py", file)], &format!("*** Update File: f.py|{body}"), &Options::default());
        let rejected = rejected.map(|plan| format!("{plan:?}")).unwrap_err();
        out.push_str(&format!("{}\n{rejected}\n\n", body.replace('|', "\n")));
    }
    insta::assert_snapshot!(out);
}
