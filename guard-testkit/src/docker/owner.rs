//! Which process made a container, so that nobody's is removed and nobody's stays for ever.
#![allow(clippy::disallowed_methods, reason = "processes are looked at, no target is")]

use std::collections::HashMap;
use std::fs;
use std::io;

use bollard::Docker as Engine;
use bollard::query_parameters::ListContainersOptions;
use tokio::sync::OnceCell;

/// The label that names a container's owner.
pub(super) const LABEL: &str = "guard-testkit.owner";

/// Names this process: its world of process numbers, its number, and when it started.
pub(super) fn me() -> io::Result<String> {
    let id = std::process::id();
    let started = started(id)?.ok_or_else(|| io::Error::other("this process is not there"))?;
    Ok(format!("{} {id} {started}", world()?))
}

fn world() -> io::Result<String> {
    Ok(fs::read_link("/proc/self/ns/pid")?.display().to_string())
}

/// Returns when a process started; nothing if there is none.
fn started(id: u32) -> io::Result<Option<String>> {
    let stat = match fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => stat,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // proc(5): field 2 is the name in parentheses, which may hold anything; field 22 is the start time.
    let rest = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
    Ok(rest.split(' ').nth(19).map(str::to_owned))
}

/// Tells whether the process that a label names is over; what is not known is not over.
fn is_over(label: &str, world: &str) -> bool {
    let mut words = label.rsplitn(3, ' ');
    let (Some(start), Some(id), Some(of)) = (words.next(), words.next(), words.next()) else { return false };
    let Ok(id) = id.parse() else { return false };
    of == world && started(id).is_ok_and(|now| now.as_deref() != Some(start))
}

/// Removes what processes left that are over; once a process.
pub(super) async fn sweep(engine: &Engine) -> io::Result<()> {
    static SWEPT: OnceCell<()> = OnceCell::const_new();
    let swept = SWEPT.get_or_try_init(async || {
        let world = world()?;
        let ours = HashMap::from([("label".to_owned(), vec![LABEL.to_owned()])]);
        let all = ListContainersOptions { all: true, filters: Some(ours), ..Default::default() };
        for container in engine.list_containers(Some(all)).await.map_err(super::other)? {
            let label = container.labels.and_then(|mut labels| labels.remove(LABEL)).unwrap_or_default();
            if is_over(&label, &world) {
                super::remove(engine, &container.id.unwrap_or_default()).await.map_err(super::other)?;
            }
        }
        Ok(())
    });
    swept.await.copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_surely_over_is_over() {
        let (me, world) = (me().unwrap(), world().unwrap());
        assert!(!is_over(&me, &world));
        assert!(!is_over(&me, "pid:[1]"), "another world's processes cannot be seen");
        assert!(!is_over("", &world));
        assert!(!is_over("nonsense of three", &world));
        let (rest, _) = me.rsplit_once(' ').unwrap();
        assert!(is_over(&format!("{rest} 1"), &world), "another process has that number now");
        assert!(is_over(&format!("{world} 4294967295 1"), &world));
    }
}
