//! Whether a session that was opened again is on the machine that was opened, and in which of its runs.

use guard_core::port::{Machine, Transport, TransportError};

use super::connection::{ConnectError, Connection};
use super::settings::Settings;
use super::wire::Hello;

/// What is known of the machine that a session is on.
#[derive(Debug, Clone)]
pub(super) struct Met {
    /// What the shell says of it.
    pub(super) hello: Hello,
    /// What the transport knows of it.
    pub(super) machine: Option<Machine>,
}

/// What a session is on, compared with the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// The same run of the same machine.
    Same,
    /// The same machine, which was started again meanwhile: nothing that ran on it runs any more.
    Restarted,
    /// Another machine.
    Another,
}

/// Opens a session, and finds out what it is on.
pub(super) async fn meet(
    transport: &dyn Transport,
    settings: &Settings,
) -> Result<(Connection, Met), ConnectError> {
    let before = machine(transport, settings).await?;
    let connection = Connection::open(transport, settings).await?;
    let machine = machine(transport, settings).await?;
    if machine != before {
        return Err(TransportError::Unreachable { why: "it was started again meanwhile".to_owned() }.into());
    }
    let hello = connection.hello.clone();
    Ok((connection, Met { hello, machine }))
}

/// Asks the transport, before the hello and after it, so that no start lies between the two.
async fn machine(transport: &dyn Transport, settings: &Settings) -> Result<Option<Machine>, ConnectError> {
    let asked = tokio::time::timeout(settings.opening, transport.machine()).await;
    let late = |_| TransportError::Unreachable { why: "which machine it is was not told in time".to_owned() };
    Ok(asked.map_err(late)??)
}

impl Met {
    /// Compares a session's machine with the one before.
    ///
    /// A name proves nothing. Either the transport knows the machine, or the machine says so itself: by its identifier
    /// (machine-id(5)), or where it has none by its root directory. Within one run the root directory has to be the
    /// same in any case.
    pub(super) fn meets(&self, now: &Self) -> Meeting {
        let same = |name: &str| match (self.hello.get(name), now.hello.get(name)) {
            (Some("") | None, _) | (_, Some("") | None) => None,
            (Some(first), Some(now)) => Some(first == now),
        };
        let boot = same("bootid") == Some(false);
        if same("uid") == Some(false) {
            return Meeting::Another;
        }
        match (&self.machine, &now.machine) {
            (Some(first), Some(now)) if first.id != now.id => return Meeting::Another,
            (Some(first), Some(now)) if first.run != now.run => {
                return Meeting::Restarted;
            }
            (Some(_), Some(_)) if boot || same("machine") == Some(false) => return Meeting::Another,
            (Some(_), Some(_)) => {}
            // Whoever knew it and does not know it any more leads elsewhere.
            (Some(_), None) | (None, Some(_)) => return Meeting::Another,
            (None, None) => {
                // A host that was started again says the same as a copy of it, which has another past.
                if same("machine") == Some(false) || boot {
                    return Meeting::Another;
                }
                // Something has to say that it is the same.
                if same("machine").is_none() && same("rootid").is_none() {
                    return Meeting::Another;
                }
            }
        }
        if same("rootid") == Some(false) { Meeting::Another } else { Meeting::Same }
    }
}

/// Tells whether the directory that is at a root's path after a restart is taken for the root: `DEVICE:INODE` before and
/// after.
///
/// On a disk a directory keeps its inode, and the disk its number. Filesystems without a disk of their own (overlays,
/// memory, FUSE; btrfs and network filesystems as well) get another number with each mount, and some number their
/// directories anew; there the path on a machine that the transport knows is all that there is, and the digests of what
/// was seen decide about contents.
pub(super) fn keeps(before: &str, after: &str) -> bool {
    let (Some((disk, inode)), Some((disk_now, inode_now))) = (parts(before), parts(after)) else {
        return false;
    };
    match (is_of_a_disk(disk), is_of_a_disk(disk_now)) {
        (true, true) => (disk, inode) == (disk_now, inode_now),
        (false, false) => true,
        _ => false,
    }
}

fn parts(identity: &str) -> Option<(u64, u64)> {
    let (device, inode) = identity.split_once(':')?;
    Some((device.parse().ok()?, inode.parse().ok()?))
}

/// Tells whether a device number is a disk's: Linux has a major number of 0 for all else (`get_anon_bdev`).
const fn is_of_a_disk(device: u64) -> bool {
    // makedev(3): 12 bits of it from bit 8, the rest from bit 32.
    (device >> 8) & 0xfff != 0 || device >> 44 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(facts: &[(&str, &str)], machine: Option<(&str, &str)>) -> Met {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        let machine = machine.map(|(id, run)| Machine { id: id.to_owned(), run: run.to_owned() });
        Met { hello: Hello { facts: facts.collect() }, machine }
    }

    #[test]
    fn another_machine_is_told_by_what_its_shell_says() {
        use Meeting::{Another, Same};
        let first = met(&[("machine", "m"), ("bootid", "b"), ("rootid", "1:2"), ("uid", "0")], None);
        for (now, expected) in [
            (&[("machine", "m"), ("bootid", "b"), ("rootid", "1:2"), ("uid", "0")][..], Same),
            (&[("machine", "m"), ("bootid", "c"), ("rootid", "9:2"), ("uid", "0")], Another),
            (&[("machine", "m"), ("bootid", "b"), ("rootid", "9:2"), ("uid", "0")], Another),
            (&[("machine", "n"), ("bootid", "c"), ("rootid", "1:2"), ("uid", "0")], Another),
            (&[("machine", "n"), ("bootid", "b"), ("rootid", "1:2"), ("uid", "0")], Another),
            (&[("machine", "m"), ("bootid", "b"), ("rootid", "1:2"), ("uid", "1")], Another),
            (&[("machine", "m"), ("bootid", "c"), ("rootid", "1:2"), ("uid", "1")], Another),
            (&[("machine", ""), ("bootid", ""), ("rootid", "1:2"), ("uid", "0")], Same),
            (&[("machine", ""), ("bootid", ""), ("rootid", "1:3"), ("uid", "0")], Another),
            (&[("machine", ""), ("bootid", "c"), ("rootid", "1:2"), ("uid", "0")], Another),
            (&[("machine", ""), ("bootid", ""), ("rootid", ""), ("uid", "0")], Another),
        ] {
            assert_eq!(first.meets(&met(now, None)), expected, "{now:?}");
        }
    }

    #[test]
    fn a_machine_that_the_transport_knows_is_told_by_that() {
        use Meeting::{Another, Restarted, Same};
        let facts = [("bootid", "b"), ("rootid", "1:2"), ("uid", "0"), ("machine", "m")];
        let first = met(&facts, Some(("one", "monday")));
        let (moved, booted, renamed) = (("rootid", "9:9"), ("bootid", "c"), ("machine", "n"));
        for (changed, machine, expected) in [
            (None, Some(("one", "monday")), Same),
            (Some(moved), Some(("one", "monday")), Another),
            (Some(booted), Some(("one", "monday")), Another),
            (Some(renamed), Some(("one", "monday")), Another),
            (Some(renamed), Some(("one", "tuesday")), Restarted),
            (Some(moved), Some(("one", "tuesday")), Restarted),
            (Some(booted), Some(("one", "tuesday")), Restarted),
            (Some(("uid", "1")), Some(("one", "tuesday")), Another),
            (None, Some(("other", "monday")), Another),
            (None, Some(("other", "tuesday")), Another),
            (None, None, Another),
        ] {
            let mut now = facts;
            if let Some((name, value)) = changed {
                now.iter_mut().filter(|fact| fact.0 == name).for_each(|fact| fact.1 = value);
            }
            assert_eq!(first.meets(&met(&now, machine)), expected, "{changed:?} {machine:?}");
        }
        assert_eq!(met(&facts, None).meets(&first), Another);
    }

    #[test]
    fn a_root_is_kept_over_a_restart_where_nothing_says_that_it_is_another_directory() {
        // 8:1 is a disk's partition, 0:50 and 0:51 are no disks'.
        let (disk, other, overlay, anew) = ("2049:7", "2065:7", "50:7", "51:9");
        for (before, after, kept) in [
            (disk, disk, true),
            (disk, "2049:8", false),
            (disk, other, false),
            (disk, overlay, false),
            (overlay, disk, false),
            (overlay, anew, true),
            ("lost", "lost", false),
            ("lost", overlay, false),
        ] {
            assert_eq!(keeps(before, after), kept, "{before} {after}");
        }
        assert!(is_of_a_disk(66_306), "259:2, an NVMe disk's");
    }
}
