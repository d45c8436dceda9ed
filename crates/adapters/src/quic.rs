//! quinn's QUIC as the two ends of a flow: a server that sends to a client on one stream.
//!
//! `quinn-proto` has neither clock nor sockets, so little is left to do: times are made its `Instant`s, and what the endpoint
//! and its connection tell each other is passed on. Its own random numbers are seeded. TLS draws keys from the system, and
//! no length depends on them: signatures are Ed25519's, which all have one length, and the certificate is always the same.

use bytes::BytesMut;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint as Quinn, EndpointConfig,
    Event, ServerConfig, StreamEvent, StreamId, TransportConfig, ValidationTokenConfig, VarInt, WriteError,
};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, version};
use sluicegate_base::{Ecn, Stream, Time};
use sluicegate_netsim::{Datagram, Endpoint, EndpointPair};
use std::collections::VecDeque;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// quinn's congestion controllers.
#[derive(Clone, Copy, Debug)]
pub enum Control {
    /// CUBIC.
    Cubic,
    /// Its version of BBR's first version.
    Bbr,
    /// NewReno.
    NewReno,
}

/// What a client has received.
pub type Received = Arc<AtomicU64>;

/// The payload of a full datagram: an IP packet of 1500 bytes, as TCP's full segments beside it.
const PAYLOAD: u16 = 1472;

const NAME: &str = "server.sluicegate";

/// A download of so many bytes, under this controller. What the client has received is counted there, from zero in each run.
pub fn download(control: Control, bytes: u64, received: &Received) -> EndpointPair {
    let received = received.clone();
    let kind = match control {
        Control::Cubic => "quinn_cubic",
        Control::Bbr => "quinn_bbr",
        Control::NewReno => "quinn_newreno",
    };
    EndpointPair::new(kind, move |[server, client]| {
        received.store(0, Ordering::Relaxed);
        let made = End::server(control, bytes, server)
            .and_then(|server| Ok((server, End::client(control, client, &received)?)));
        made.expect("quinn and rustls take these settings")
    })
}

/// One end.
pub struct End {
    endpoint: Quinn,
    connection: Option<(ConnectionHandle, Connection)>,
    /// quinn's name for the start of the run.
    origin: Instant,
    /// What the endpoint sends without a connection.
    ready: VecDeque<Datagram>,
    role: Role,
}

enum Role {
    /// Sends so much more on its stream, which it opens once it can.
    Server { left: u64, stream: Option<StreamId> },
    /// Connects, once; and counts what it receives.
    Client { connects: Option<Box<ClientConfig>>, received: Received },
}

/// Addresses are of no account: each end has one peer.
fn peer() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 4433).into()
}

/// The certificate, of a key that all know.
fn certificate() -> Result<(CertificateDer<'static>, PrivatePkcs8KeyDer<'static>), Box<dyn Error>> {
    // RFC 8410: an Ed25519 key in PKCS #8 is this and 32 bytes.
    let pkcs8 = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
    let key = PrivatePkcs8KeyDer::from([&pkcs8[..], &[7; 32]].concat());
    let mut params = CertificateParams::new(vec![NAME.to_owned()])?;
    params.serial_number = Some(1.into());
    let signed = params.self_signed(&KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ED25519)?)?;
    Ok((signed.der().clone(), key))
}

fn transport(control: Control) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    let controller: Arc<dyn ControllerFactory + Send + Sync> = match control {
        Control::Cubic => Arc::new(CubicConfig::default()),
        Control::Bbr => Arc::new(BbrConfig::default()),
        Control::NewReno => Arc::new(NewRenoConfig::default()),
    };
    // As much as TCP's windows beside it, so that neither end holds the other back. But BBR goes on sending whatever is lost, and
    // quinn's receiver gives a connection up ("too many gaps in stream buffer") whose data lies in more than 1024 pieces: a window
    // of two packets for each, one that came and one that did not, cannot have so many. The path's MTU is known.
    let window = VarInt::from_u32(if matches!(control, Control::Bbr) { 2 * 1024 * 1400 } else { 16 << 20 });
    config.congestion_controller_factory(controller).initial_mtu(PAYLOAD).mtu_discovery_config(None);
    config.receive_window(window).stream_receive_window(window).send_window(16 << 20);
    Arc::new(config)
}

fn quinn(server: Option<ServerConfig>, mut rng: Stream) -> Quinn {
    let mut seed = [0; 32];
    seed.chunks_mut(8).for_each(|eight| eight.copy_from_slice(&rng.bits().to_be_bytes()));
    Quinn::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), false, Some(seed))
}

impl End {
    /// A server that sends so many bytes to who connects.
    pub fn server(control: Control, bytes: u64, rng: Stream) -> Result<End, Box<dyn Error>> {
        let (certificate, key) = certificate()?;
        let tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key.into())?;
        let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config.transport_config(transport(control)).validation_token_config(tokens);
        Ok(End::new(quinn(Some(config), rng), Role::Server { left: bytes, stream: None }))
    }

    /// A client that connects as its flow starts, to a server under this controller.
    pub fn client(control: Control, rng: Stream, received: &Received) -> Result<End, Box<dyn Error>> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate()?.0)?;
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
        config.transport_config(transport(control));
        let role = Role::Client { connects: Some(Box::new(config)), received: received.clone() };
        Ok(End::new(quinn(None, rng), role))
    }

    fn new(endpoint: Quinn, role: Role) -> End {
        // Only differences count, so that it does not matter when this is.
        End { endpoint, connection: None, origin: Instant::now(), ready: VecDeque::new(), role }
    }

    fn at(&self, now: Time) -> Instant {
        self.origin + Duration::from_nanos(now.0)
    }

    /// Lets the endpoint, its connection and the application tell each other what is new.
    fn drive(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::ConnectionLost { reason } => eprintln!("quinn: {reason}"),
                Event::Stream(StreamEvent::Readable { id }) => self.role.read(connection, id),
                Event::Stream(StreamEvent::Opened { .. }) => {
                    while let Some(id) = connection.streams().accept(Dir::Uni) {
                        self.role.read(connection, id);
                    }
                }
                _ => self.role.write(connection),
            }
        }
    }
}

impl Role {
    /// Writes as much as the connection takes.
    fn write(&mut self, connection: &mut Connection) {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        let Role::Server { left, stream } = self else { return };
        if stream.is_none() {
            *stream = connection.streams().open(Dir::Uni);
        }
        let Some(id) = *stream else { return };
        let mut stream = connection.send_stream(id);
        while *left > 0 {
            let most = (ZEROS.len() as u64).min(*left) as usize;
            match stream.write(&ZEROS[..most]) {
                Ok(written) => *left -= written as u64,
                Err(WriteError::Blocked) => return,
                Err(error) => return eprintln!("quinn: {error}"),
            }
        }
        // Once is enough.
        let _ = stream.finish();
    }

    /// Counts what has come.
    fn read(&mut self, connection: &mut Connection, id: StreamId) {
        let Role::Client { received, .. } = self else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            received.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
        }
        // More credit is sent with what comes next: everything is, here.
        let _ = chunks.finalize();
    }
}

impl Endpoint for End {
    fn receive(&mut self, datagram: Datagram, now: Time) {
        let (now, ecn) = (self.at(now), EcnCodepoint::from_bits(datagram.ecn as u8));
        let mut answer = Vec::new();
        let event = self.endpoint.handle(now, peer(), None, ecn, BytesMut::from(&*datagram.payload), &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = accepted.map_err(|error| eprintln!("quinn: {}", error.cause)).ok();
            }
            Some(DatagramEvent::Response(_)) => self.ready.push_back(Datagram::udp(Ecn::NotCapable, answer)),
            None => {}
        }
        self.drive();
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if let Some(datagram) = self.ready.pop_front() {
            return Some(datagram);
        }
        let (now, mut payload) = (self.at(now), Vec::with_capacity(PAYLOAD.into()));
        let (_, connection) = self.connection.as_mut()?;
        let sent = connection.poll_transmit(now, 1, &mut payload)?;
        payload.truncate(sent.size);
        Some(Datagram::udp(sent.ecn.map_or(Ecn::NotCapable, ecn), payload))
    }

    fn deadline(&mut self) -> Option<Time> {
        let timeout = self.connection.as_mut()?.1.poll_timeout()?;
        Some(Time(timeout.saturating_duration_since(self.origin).as_nanos() as u64))
    }

    fn wake(&mut self, now: Time) {
        let now = self.at(now);
        if let Role::Client { connects, .. } = &mut self.role
            && let Some(config) = connects.take()
        {
            let connection = self.endpoint.connect(now, *config, peer(), NAME);
            self.connection = connection.map_err(|error| eprintln!("quinn: {error}")).ok();
        }
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.drive();
    }
}

fn ecn(codepoint: EcnCodepoint) -> Ecn {
    match codepoint {
        EcnCodepoint::Ect0 => Ecn::Capable0,
        EcnCodepoint::Ect1 => Ecn::Capable1,
        EcnCodepoint::Ce => Ecn::CongestionExperienced,
    }
}
