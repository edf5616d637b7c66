//! A connection that is lost after a chosen number of bytes.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::relay::Relay;
use crate::transport::Way;

/// A proxy on a loopback port that ends a TCP connection after a chosen byte, with what is on it in both directions.
///
/// What it counts is what is on the wire: of SSH, packets that are encrypted.
#[derive(Debug)]
pub struct CutProxy {
    shared: Arc<Shared>,
    relay: Relay,
}

#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    to: Count,
    from: Count,
    cuts: usize,
    streams: Vec<TcpStream>,
}

#[derive(Debug, Default)]
struct Count {
    passed: u64,
    cut_at: Option<u64>,
}

impl CutProxy {
    /// Starts a proxy to `upstream`.
    ///
    /// # Errors
    ///
    /// No port can be had.
    pub fn start(upstream: SocketAddr) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let connected = Arc::clone(&shared);
        let relay = Relay::start(upstream, move |client, server| connected.connected(client, server))?;
        Ok(Self { shared, relay })
    }

    /// Returns where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.relay.address()
    }

    /// Returns how many bytes went a way so far, of all connections.
    #[must_use]
    pub fn passed(&self, way: Way) -> u64 {
        self.shared.state().count(way).passed
    }

    /// Ends all connections when `bytes` more went a way; what comes after them in the same breath is lost.
    pub fn cut_after(&self, way: Way, bytes: u64) {
        let mut state = self.shared.state();
        let count = state.count(way);
        count.cut_at = Some(count.passed + bytes);
    }

    /// Takes back what [`Self::cut_after`] planned.
    pub fn forget(&self) {
        let mut state = self.shared.state();
        (state.to.cut_at, state.from.cut_at) = (None, None);
    }

    /// Returns how many cuts there were.
    #[must_use]
    pub fn cuts(&self) -> usize {
        self.shared.state().cuts
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        self.shared.state().cut();
    }
}

impl State {
    const fn count(&mut self, way: Way) -> &mut Count {
        match way {
            Way::ToShell => &mut self.to,
            Way::FromShell => &mut self.from,
        }
    }

    fn cut(&mut self) {
        for stream in self.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connected(self: &Arc<Self>, client: TcpStream, server: TcpStream) -> io::Result<()> {
        self.state().streams.extend([client.try_clone()?, server.try_clone()?]);
        self.pass(Way::ToShell, client.try_clone()?, server.try_clone()?)?;
        self.pass(Way::FromShell, server, client)
    }

    /// Passes one direction on.
    fn pass(self: &Arc<Self>, way: Way, mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
        let shared = Arc::clone(self);
        thread::Builder::new().name("cut-pass".to_owned()).spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(len @ 1..) = from.read(&mut buffer) {
                let mut state = shared.state();
                let count = state.count(way);
                let room = count.cut_at.map_or(u64::MAX, |at| at - count.passed);
                let len = usize::try_from(room).unwrap_or(usize::MAX).min(len);
                count.passed += len as u64;
                let is_cut = count.cut_at == Some(count.passed);
                // Under the lock, so that nothing overtakes the cut. Both ends take what they get.
                let passed_on = to.write_all(&buffer[..len]);
                if is_cut {
                    count.cut_at = None;
                    state.cuts += 1;
                    state.cut();
                }
                if is_cut || passed_on.is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_connection_ends_after_the_chosen_byte_and_the_next_one_does_not() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let upstream = listener.local_addr().unwrap();
        let serve = thread::spawn(move || {
            [(); 2].map(|()| {
                let (mut client, _) = listener.accept().unwrap();
                let mut got = Vec::new();
                let _ = client.read_to_end(&mut got);
                got
            })
        });
        let proxy = CutProxy::start(upstream).unwrap();
        proxy.cut_after(Way::ToShell, 4);
        for _ in 0..2 {
            let mut client = TcpStream::connect(proxy.address()).unwrap();
            client.write_all(b"0123456").unwrap();
            let _ = client.shutdown(Shutdown::Write);
            assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
        }
        assert_eq!(serve.join().unwrap(), [b"0123".to_vec(), b"0123456".to_vec()]);
        assert_eq!((proxy.cuts(), proxy.passed(Way::ToShell)), (1, 11));
    }
}
