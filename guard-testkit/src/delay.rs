//! A connection that takes its time.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::relay::Relay;

/// The largest piece that is passed on at once.
const PIECE: usize = 64 * 1024;
/// How many pieces are on their way at most, in each direction.
const PIECES: usize = 256;

/// A proxy on a loopback port that puts a round-trip time on TCP connections; order and bandwidth are kept.
///
/// Half of the time is on each direction. Opening a connection takes none: only bytes travel. It has threads, not
/// tasks: an async runtime's clock counts in milliseconds, which is too coarse to measure with.
#[derive(Debug)]
pub struct DelayProxy {
    shared: Arc<Shared>,
    relay: Relay,
}

#[derive(Debug)]
struct Shared {
    one_way: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    over: bool,
    held: bool,
    streams: Vec<TcpStream>,
}

impl DelayProxy {
    /// Starts a proxy to `upstream`.
    ///
    /// # Errors
    ///
    /// No port can be had.
    pub fn start(upstream: SocketAddr, round_trip: Duration) -> io::Result<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { one_way: round_trip / 2, state, changed });
        let connected = Arc::clone(&shared);
        let relay = Relay::start(upstream, move |client, server| connected.connected(client, server))?;
        Ok(Self { shared, relay })
    }

    /// Returns where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.relay.address()
    }

    /// Lets nothing through any more, in either direction, as a network does that is down. No connection is closed.
    pub fn hold(&self) {
        self.shared.state().held = true;
    }

    /// Lets everything through again, and what was held first.
    pub fn release(&self) {
        self.shared.state().held = false;
        self.shared.changed.notify_all();
    }

    /// Ends all connections.
    pub fn cut(&self) {
        for stream in self.shared.state().streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for DelayProxy {
    fn drop(&mut self) {
        self.shared.state().over = true;
        self.release();
        self.cut();
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connected(self: &Arc<Self>, client: TcpStream, server: TcpStream) -> io::Result<()> {
        self.state().streams.extend([client.try_clone()?, server.try_clone()?]);
        self.pass(client.try_clone()?, server.try_clone()?)?;
        self.pass(server, client)
    }

    /// Passes one direction on.
    fn pass(self: &Arc<Self>, from: TcpStream, to: TcpStream) -> io::Result<()> {
        let (sender, receiver) = sync_channel(PIECES);
        let one_way = self.one_way;
        let shared = Arc::clone(self);
        thread::Builder::new().name("delay-in".to_owned()).spawn(move || take(from, one_way, &sender))?;
        thread::Builder::new().name("delay-out".to_owned()).spawn(move || shared.give(to, &receiver))?;
        Ok(())
    }

    fn give(&self, mut to: TcpStream, pieces: &Receiver<(Instant, Vec<u8>)>) {
        while let Ok((due, piece)) = pieces.recv() {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let held = self.changed.wait_while(self.state(), |state| state.held && !state.over);
            drop(held.unwrap_or_else(PoisonError::into_inner));
            if to.write_all(&piece).is_err() {
                let _ = to.shutdown(Shutdown::Both);
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }
}

fn take(mut from: TcpStream, one_way: Duration, pieces: &SyncSender<(Instant, Vec<u8>)>) {
    let mut buffer = vec![0; PIECE];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        if pieces.send((Instant::now() + one_way, buffer[..len].to_vec())).is_err() {
            let _ = from.shutdown(Shutdown::Both);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread::JoinHandle;

    use super::*;

    /// Sends back what it gets, and ends when its client does.
    fn echo() -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let serve = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut back = client.try_clone().unwrap();
            let _ = io::copy(&mut client, &mut back);
        });
        (address, serve)
    }

    #[test]
    fn a_round_trip_takes_its_time_and_the_order_is_kept() {
        let (address, serve) = echo();
        let proxy = DelayProxy::start(address, Duration::from_millis(20)).unwrap();
        let mut client = TcpStream::connect(proxy.address()).unwrap();
        let mut answer = [0; 4];
        for round in 0_u32..5 {
            let began = Instant::now();
            client.write_all(&round.to_be_bytes()).unwrap();
            client.read_exact(&mut answer).unwrap();
            assert_eq!(u32::from_be_bytes(answer), round);
            assert!(began.elapsed() >= Duration::from_millis(20), "{:?}", began.elapsed());
        }
        let sent: Vec<u8> = (0..4_000_000_u32).map(|number| (number % 251) as u8).collect();
        let (mut writer, bytes) = (client.try_clone().unwrap(), sent.clone());
        let write = thread::spawn(move || {
            writer.write_all(&bytes).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        assert!(received == sent, "the bytes are not those that were sent");
        write.join().unwrap();
        serve.join().unwrap();
    }

    #[test]
    fn what_is_held_is_passed_on_when_it_is_released_and_a_cut_ends_it() {
        let (address, serve) = echo();
        let proxy = DelayProxy::start(address, Duration::ZERO).unwrap();
        let mut client = TcpStream::connect(proxy.address()).unwrap();
        proxy.hold();
        client.write_all(b"held").unwrap();
        client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut answer = [0; 4];
        assert_eq!(client.read(&mut answer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        client.set_read_timeout(None).unwrap();
        proxy.release();
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"held");
        proxy.cut();
        assert_eq!(client.read(&mut answer).unwrap_or(0), 0);
        serve.join().unwrap();
    }
}
