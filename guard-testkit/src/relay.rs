//! A port of the loopback interface whose connections are passed on to another address.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Takes connections, and makes one to the other address for each, until it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    accepts: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts to take connections. `connected` gets the client's and the server's end of each.
    pub(crate) fn start(
        upstream: SocketAddr,
        connected: impl Fn(TcpStream, TcpStream) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let over = Arc::<AtomicBool>::default();
        let is_over = Arc::clone(&over);
        let connect = move |client: TcpStream| {
            let server = TcpStream::connect(upstream)?;
            client.set_nodelay(true)?;
            server.set_nodelay(true)?;
            connected(client, server)
        };
        let accepts = thread::Builder::new().name("relay".to_owned()).spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                // A connection that cannot be passed on is closed: that is all its client would see anyway.
                let _ = connect(client);
            }
        })?;
        Ok(Self { address, over, accepts: Some(accepts) })
    }

    /// Returns where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let woken = TcpStream::connect(self.address);
        if let (Ok(_), Some(accepts)) = (woken, self.accepts.take()) {
            let _ = accepts.join();
        }
    }
}
