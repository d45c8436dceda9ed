//! # Explicit congestion notification: what is marked, what is echoed, what is heard
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 3168: an echo until the sender has answered | the same; when it begins, two acknowledgements go without delay | Linux, __tcp_ecn_check_ce |
//! | RFC 3168, Sec. 6.1.1: SYN and SYN-ACK may not be marked | those of DCTCP and Prague may | RFC 8257, Sec. 3.6; Linux, `tcp_ca_needs_ecn` in tcp_ecn_send_syn, with ECT(1) where the controller wants it |
//! | RFC 3168, Sec. 6.1.5: what is sent again may not be marked | for DCTCP and Prague it may, and a bare FIN, too | Linux, the same in tcp_ecn_send |
//! | Linux, tcp_ecn_send: acknowledgements of DCTCP and Prague may be marked | they never may | a mark on an acknowledgement tells nobody anything |
//! | RFC 8257, Sec. 3.2: the mark of each packet is echoed | not that of a bare FIN; the counters of RFC 9768 have it | Linux, tcp_data_queue looks at marks of data (tcp_event_data_recv) |
//! | RFC 8257, Sec. 3.2: a change of marks is acknowledged at once | the same | Linux, tcp_dctcp.h |
//! | RFC 9768: counters begin at 5 and 1, and are agreed on by the opening | both ends are known to have them; counters begin at 0 | what is counted is the same |
//! | RFC 9768, Sec. 3.2.2.5.1: an acknowledgement goes at once when marks begin, and when it has two marks to report | at once when marks begin or end; else as for any data | every second full packet is acknowledged anyhow |
//! | RFC 9768, Sec. 3.2.3: an option with three counters | one with two, for which the payload makes room (tcp_current_mss) | the sender reads only the counter of marked bytes |

use crate::host::Host;
use crate::params::Algorithm;
use crate::segment::{Flags, Options, Segment};

/// How marks are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing may be marked.
    Off,
    /// Until it is answered (RFC 3168).
    Classic,
    /// Packet by packet (RFC 8257).
    Dctcp,
    /// By counters (RFC 9768).
    Accurate,
}

impl Mode {
    fn of(host: &Host) -> Mode {
        match host.algorithm {
            Algorithm::Prague => Mode::Accurate,
            Algorithm::Dctcp => Mode::Dctcp,
            _ if host.ecn => Mode::Classic,
            _ => Mode::Off,
        }
    }
}

/// What an acknowledgement says of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marked {
    /// All that it delivers counts as marked.
    All,
    /// So many packets were.
    Packets(u32),
}

impl Marked {
    pub const NONE: Marked = Marked::Packets(0);

    /// How many packets were marked where so many are delivered.
    pub fn of(self, delivered: u32) -> u32 {
        match self {
            Marked::All => delivered,
            Marked::Packets(packets) => packets,
        }
    }
}

/// What a sender marks and hears.
#[derive(Clone, Debug)]
pub(super) struct Feedback {
    mode: Mode,
    /// The codepoint of what may be marked.
    codepoint: Flags,
    /// Whether the next new data says that the window was reduced.
    announce: bool,
    /// The counters at the last acknowledgement.
    ace: u8,
    bytes: u32,
}

impl Feedback {
    /// That of a host's senders.
    pub fn of_sender(host: &Host) -> Feedback {
        let mode = Mode::of(host);
        let codepoint = Flags::ECT.with_if(host.scalable(), Flags::ECT1);
        Feedback {
            mode,
            codepoint: Flags::default().with_if(mode != Mode::Off, codepoint),
            announce: false,
            ace: 0,
            bytes: 0,
        }
    }

    /// Whether ECE alone reports marks.
    pub fn is_flagged(&self) -> bool {
        self.mode != Mode::Accurate
    }

    /// An acknowledgement comes: what it says of marks.
    pub fn on_ack(&mut self, segment: &Segment, mss: u32) -> Marked {
        match self.mode {
            Mode::Classic | Mode::Dctcp if segment.flags.has(Flags::ECE) => Marked::All,
            Mode::Off | Mode::Classic | Mode::Dctcp => Marked::NONE,
            Mode::Accurate => Marked::Packets(self.newly_marked(&segment.options, mss)),
        }
    }

    /// How many packets more were marked: the counter of three bits, with the bytes to tell how often it went round
    /// (RFC 9768, App. A.2).
    fn newly_marked(&mut self, options: &Options, mss: u32) -> u32 {
        if !options.has(Options::ACE) {
            return 0;
        }
        let mut packets = u32::from(options.ace.wrapping_sub(self.ace) & 7);
        self.ace = options.ace;
        if options.has(Options::CE_BYTES) {
            let bytes = options.ce_bytes.wrapping_sub(self.bytes) & 0xff_ffff;
            self.bytes = options.ce_bytes;
            let by_bytes = bytes.div_ceil(mss.max(1));
            if by_bytes > packets {
                packets += (by_bytes - packets) / 8 * 8;
            }
        }
        packets
    }

    /// The codepoint of a SYN or SYN-ACK (tcp_ecn_send_syn, tcp_ecn_send_synack); CE on them is ignored.
    pub fn of_opening(&self) -> Flags {
        if matches!(self.mode, Mode::Dctcp | Mode::Accurate) { self.codepoint } else { Flags::default() }
    }

    /// The flags of a segment, which has new data or not: is sent again, or a bare FIN.
    pub fn label(&mut self, flags: Flags, new: bool) -> Flags {
        let classic = self.mode == Mode::Classic;
        let answer = new && self.announce && self.mode != Mode::Off && self.mode != Mode::Accurate;
        if answer {
            self.announce = false;
        }
        flags.with_if(new || !classic, self.codepoint).with_if(answer, Flags::CWR)
    }

    /// The window was reduced; or the reduction was taken back.
    pub fn reduced(&mut self) {
        self.announce = true;
    }

    pub fn restored(&mut self) {
        self.announce = false;
    }
}

/// What a receiver has to do at once for a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Urgency {
    /// So many acknowledgements go without a wait.
    pub quick: u8,
    /// This packet's acknowledgement does, and one for what came before it if that waits, with the echo as it was.
    pub now: bool,
    pub before: bool,
}

/// What a receiver echoes.
#[derive(Clone, Debug)]
pub(super) struct Echo {
    mode: Mode,
    echo: bool,
    /// Whether anything came that may be marked.
    seen: bool,
    packets: u8,
    bytes: u32,
}

impl Echo {
    pub fn new(host: &Host) -> Echo {
        Echo { mode: Mode::of(host), echo: false, seen: false, packets: 0, bytes: 0 }
    }

    /// Whether marks are told.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }

    /// Data comes, marked or not.
    pub fn on_data(&mut self, segment: &Segment, ce: bool) -> Urgency {
        let capable = ce || segment.flags.has(Flags::ECT);
        match self.mode {
            // A bare FIN is no data (tcp_data_queue).
            Mode::Classic | Mode::Dctcp if segment.len == 0 => Urgency::default(),
            Mode::Off => Urgency::default(),
            Mode::Classic => {
                let answered = segment.flags.has(Flags::CWR);
                self.echo &= !answered;
                let mut quick = 0;
                if ce && !self.echo || !capable && self.seen {
                    quick = 2;
                }
                self.echo |= ce;
                self.seen |= capable;
                Urgency { quick, now: answered, before: false }
            }
            Mode::Dctcp => {
                let change = self.echo != ce;
                self.echo = ce;
                Urgency { quick: 0, now: change, before: change }
            }
            Mode::Accurate => {
                if ce {
                    self.packets = (self.packets + 1) & 7;
                    self.bytes = (self.bytes + segment.len) & 0xff_ffff;
                }
                // RFC 9768, Sec. 3.2.2.5.1: at once when marks begin; here when they end, too.
                let change = self.echo != ce;
                self.echo = ce;
                Urgency { quick: 0, now: change, before: false }
            }
        }
    }

    /// Whether the echo is set; a DCTCP receiver acknowledges what came before a change with what it was.
    pub fn is_set(&self) -> bool {
        self.echo && self.mode != Mode::Accurate
    }

    /// Puts the counters onto a segment.
    #[inline]
    pub fn fill(&self, segment: &mut Segment) {
        if self.mode == Mode::Accurate {
            segment.options.ace = self.packets;
            segment.options.ce_bytes = self.bytes;
            segment.options.kinds |= Options::ACE;
            if !segment.options.has(Options::SACKS) {
                segment.options.kinds |= Options::CE_BYTES;
            }
        }
    }
}
