//! One end of a connection: what it has to write, and what it has read.

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use sluicegate_base::Time;
use std::os::fd::OwnedFd;

/// A request under way.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// When it was made.
    pub asked: Time,
    /// Its bytes, and where it ends in the stream of requests.
    pub bytes: u32,
    /// See `bytes`.
    pub end: u64,
    /// Bytes of the response, and where it ends in the stream of responses.
    pub response: u32,
    /// See `response`.
    pub response_end: u64,
    /// Whether the connection is closed after it.
    pub last: bool,
    /// Whether its server has answered, and whether the answer has come whole.
    pub answered: bool,
    /// See `answered`.
    pub complete: bool,
}

/// What an end of a connection does.
#[derive(Clone, Debug)]
pub enum Role {
    /// It sends a flow's data.
    Source,
    /// It reads a flow's data.
    Sink,
    /// It asks for a user.
    Client(u32, Request),
    /// It answers a client.
    Server,
    /// It does what a vector says, by the number of the script that both ends share.
    Script(u64),
}

/// One end of a connection.
pub struct End {
    /// Its socket.
    pub socket: OwnedFd,
    /// Its side.
    pub side: usize,
    /// The port that the connection was opened from.
    pub port: u16,
    /// Its flow.
    pub flow: u32,
    /// What it does.
    pub role: Role,
    /// The slot of the other end, once that is known.
    pub other: Option<u32>,
    /// Whether the connection is open.
    pub open: bool,
    /// Bytes still to write; the greatest number for data without end.
    pub to_write: u64,
    /// Whether it ends its stream when all is written, and whether it has.
    pub closing: bool,
    shut: bool,
    /// Bytes that it has read, and whether the other end has ended its stream.
    pub received: u64,
    /// See `received`.
    pub ended: bool,
    /// How often its window has been said again.
    pub windows: u8,
    /// Segments that the kernel has sent again, when it was last asked.
    pub retransmissions: u64,
}

impl End {
    /// An end that has done nothing.
    #[must_use]
    pub fn new(socket: OwnedFd, side: usize, port: u16, flow: u32, role: Role) -> End {
        End {
            socket,
            side,
            port,
            flow,
            role,
            other: None,
            open: false,
            to_write: 0,
            closing: false,
            shut: false,
            received: 0,
            ended: false,
            windows: 0,
            retransmissions: 0,
        }
    }

    /// Writes as much as the kernel takes, and ends the stream after the last byte if it is to end; the last segment of data
    /// waits for that (MSG_MORE).
    pub fn write(&mut self, zeros: &[u8]) {
        let flags = SendFlags::NOSIGNAL | if self.closing { SendFlags::MORE } else { SendFlags::empty() };
        while self.to_write > 0 && self.open {
            let some = self.to_write.min(zeros.len() as u64) as usize;
            match send(&self.socket, &zeros[..some], flags) {
                Ok(sent) if self.to_write < u64::MAX => self.to_write -= sent as u64,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
        if self.open && self.closing && self.to_write == 0 && !self.shut {
            let _ = shutdown(&self.socket, Shutdown::Write);
            self.shut = true;
        }
    }

    /// Reads all that is there; the bytes themselves are of no use.
    pub fn read(&mut self, buffer: &mut [u8]) {
        loop {
            match recv(&self.socket, &mut *buffer, RecvFlags::TRUNC) {
                Ok((_, 0)) => {
                    self.ended = true;
                    return;
                }
                Ok((_, bytes)) => self.received += bytes as u64,
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Nothing more is written than what is waiting.
    pub fn finish(&mut self) {
        self.closing = true;
        if self.to_write == u64::MAX {
            self.to_write = 0;
        }
    }

    /// Whether both ends have ended their streams.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.ended && self.shut
    }
}

/// The ends of all connections, by slot. A slot is used again; events of a poll bear its generation too.
#[derive(Default)]
pub struct Ends {
    slots: Vec<(u32, Option<End>)>,
    free: Vec<u32>,
}

impl Ends {
    /// Another one: its slot.
    pub fn add(&mut self, end: End) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize].1 = Some(end);
        slot
    }

    /// The end in a slot.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn get(&mut self, slot: u32) -> &mut End {
        self.slots[slot as usize].1.as_mut().expect("an end in this slot")
    }

    /// Whether there is one.
    #[must_use]
    pub fn is_there(&self, slot: u32) -> bool {
        self.slots[slot as usize].1.is_some()
    }

    /// Takes an end out.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn remove(&mut self, slot: u32) -> End {
        let (generation, end) = &mut self.slots[slot as usize];
        *generation = (*generation + 1) & 0x7fff_ffff;
        self.free.push(slot);
        let end = end.take().expect("an end in this slot");
        if let Some(other) = end.other.filter(|other| self.is_there(*other)) {
            self.get(other).other = None;
        }
        end
    }

    /// Two ends are those of one connection.
    pub fn pair(&mut self, one: u32, other: u32) {
        self.get(one).other = Some(other);
        self.get(other).other = Some(one);
    }

    /// What events of a slot bear.
    #[must_use]
    pub fn number(&self, slot: u32) -> u64 {
        u64::from(self.slots[slot as usize].0) << 32 | u64::from(slot)
    }

    /// The generation of a slot.
    #[must_use]
    pub fn generation(&self, slot: u32) -> u32 {
        self.slots[slot as usize].0
    }

    /// The slot of an event, if what it was is still there.
    #[must_use]
    pub fn slot(&self, number: u64) -> Option<u32> {
        let (generation, slot) = ((number >> 32) as u32, number as u32);
        let (known, end) = self.slots.get(slot as usize)?;
        (*known == generation && end.is_some()).then_some(slot)
    }

    /// The slots of one side.
    #[must_use]
    pub fn of_side(&self, side: usize) -> Vec<u32> {
        let slots = (0..).zip(&self.slots);
        slots.filter(|(_, (_, end))| end.as_ref().is_some_and(|end| end.side == side)).map(|(slot, _)| slot).collect()
    }
}
