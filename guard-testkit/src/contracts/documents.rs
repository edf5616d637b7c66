//! Names under which there is no text, whatever is there.

use serde_json::json;

use super::bench::{Bench, patch};
use crate::conformance::{Broken, same};

pub(super) async fn opaque_documents_are_refused_without_asking(bench: Bench) -> Result<(), Broken> {
    bench.sources()?;
    for (name, code) in [
        ("report.docx", "opaque-document"),
        ("sheet.XLSX", "opaque-document"),
        ("book.epub", "opaque-document"),
        ("d/slides.pptx", "opaque-document"),
        ("app.db-wal", "sqlite-sidecar"),
        ("app.sqlite-shm", "sqlite-sidecar"),
        ("app.sqlite3-journal", "sqlite-sidecar"),
    ] {
        let creations = Bench::creations(name).into_iter().take(3);
        let calls = creations.chain(Bench::changes(name, "old")).chain([(
            "a patch in which one file of two is",
            "apply_patch",
            patch(&format!("*** Add File: free.txt\n+ours\n*** Add File: {name}\n+ours\n")),
        )]);
        for call in calls {
            let what = format!("{} {name}", call.0);
            let _ = bench.traffic.take();
            bench.refused_as(code, name, call).await?;
            same(&format!("{what}: round trips"), &bench.traffic.take().trips, &0)?;
        }
    }
    // Control: the same calls under a name that says nothing do ask the target, and are done.
    for (nth, (what, tool, arguments)) in Bench::creations("{}").into_iter().enumerate() {
        bench.sources()?;
        let name = format!("control-{nth}");
        let arguments =
            serde_json::from_str(&arguments.to_string().replace("{}", &name)).unwrap_or(json!({}));
        let _ = bench.traffic.take();
        bench.done(&format!("{what} of {name}"), tool, arguments).await?;
        same(&format!("{what}: round trips"), &(bench.traffic.take().trips > 0), &true)?;
        bench.holds(&name, b"ours\n")?;
    }
    // A move that changes no text keeps the bytes as they are, and is not judged by what a name says of them.
    bench.there("document", b"PK\x03\x04 a document")?;
    bench.done("a move", "move_file", json!({ "from": "document", "to": "moved.docx" })).await?;
    bench.holds("moved.docx", b"PK\x03\x04 a document")
}
