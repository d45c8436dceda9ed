"""aioquic's QUIC as the two ends of a flow: a server that sends to a client. Needs `pip install aioquic`."""

import math
import ssl
from datetime import UTC, datetime

from aioquic.buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, StreamDataReceived
from aioquic.quic.packet import pull_quic_header
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import sluicegate as sg

PEER = ("peer", 4433)
PAYLOAD = 1472  # a full IP packet has 1500 bytes


class End(sg.Endpoint):
    """What both ends do: pass on datagrams and times. aioquic counts seconds."""

    def __init__(self, quic):
        self.quic, self.ready, self.delivered = quic, [], 0

    def receive(self, datagram, now_ns):
        self.quic.receive_datagram(datagram.payload, PEER, now_ns / 1e9)
        self.collect(now_ns)

    def wake(self, now_ns):
        if self.quic.get_timer() is not None:
            self.quic.handle_timer(now_ns / 1e9)
        self.collect(now_ns)

    def collect(self, now_ns):
        while (event := self.quic.next_event()) is not None:
            self.heard(event)
        self.ready += [sg.Datagram(data) for data, _ in self.quic.datagrams_to_send(now_ns / 1e9)]

    def heard(self, event):
        if isinstance(event, StreamDataReceived):
            self.delivered += len(event.data)

    def poll_transmit(self, now_ns):
        return self.ready.pop(0) if self.ready else None

    def deadline(self):
        timer = self.quic and self.quic.get_timer()
        return None if timer is None else math.ceil(timer * 1e9)


class Server(End):
    def __init__(self, configuration, size):
        super().__init__(None)
        self.configuration, self.size = configuration, size

    def receive(self, datagram, now_ns):
        if self.quic is None:
            header = pull_quic_header(Buffer(data=datagram.payload), host_cid_length=8)
            number = header.destination_cid
            self.quic = QuicConnection(configuration=self.configuration, original_destination_connection_id=number)
        super().receive(datagram, now_ns)

    def wake(self, now_ns):
        if self.quic is not None:
            super().wake(now_ns)

    def heard(self, event):
        if isinstance(event, HandshakeCompleted):
            stream = self.quic.get_next_available_stream_id(is_unidirectional=True)
            self.quic.send_stream_data(stream, bytes(self.size), end_stream=True)


class Client(End):
    connected = False

    def wake(self, now_ns):
        if self.connected:
            return super().wake(now_ns)
        self.connected = True
        self.quic.connect(PEER, now_ns / 1e9)
        return self.collect(now_ns)


def certificate():
    """A certificate by a key that all know. Signatures of Ed25519 have one length, so that no length is drawn."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    dates = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
    return made.not_valid_before(dates[0]).not_valid_after(dates[1]).sign(key, None), key


def download(*, size=2_000_000, control="cubic"):
    """The server and the client of a download of so many bytes."""
    common = {"congestion_control_algorithm": control, "max_datagram_size": PAYLOAD, "alpn_protocols": ["get"]}
    server = QuicConfiguration(is_client=False, **common)
    server.certificate, server.private_key = certificate()
    client = QuicConfiguration(is_client=True, verify_mode=ssl.CERT_NONE, server_name="server", **common)
    client.max_data = client.max_stream_data = 1 << 24
    return Server(server, size), Client(QuicConnection(configuration=client))
