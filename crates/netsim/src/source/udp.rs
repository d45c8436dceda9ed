//! # Constant bit rate over UDP
//!
//! Sends packets of one size at one rate and does not react to congestion.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | CHOKe 1999: a UDP source with a sending rate | a packet at the start, then one every `packet_size`/`rate` | as ns-2's `Application/Traffic/CBR` |
//! | ns-2: `random_` draws each gap from 1 ± ½ times the mean | `jitter` scales that: 1 is `random_`, 0 is none | small jitter keeps sources from falling into step without blurring the rate |

use super::{EcnField, Pace, Source};
use sluicegate_base::params::Raw;
use sluicegate_base::{About, Declared, Params, Range, Rate, Size, Span, Stream, params};

params! {
    /// Parameters of a constant-bit-rate source over UDP.
    pub struct UdpParams {
        ..ecn: EcnField;
        /// Rate at which it sends, in bits of IP packets.
        rate: Rate = required, range(Range::POSITIVE), source("CHOKe 1999, Sec. 4");
        /// Length of a packet, headers included.
        packet_size: Size = default(Size::Bytes(1000)), unit("B"), range(Range::from(1.0).to(65535.0)),
            source("CHOKe 1999, Sec. 4");
        /// Spread of the gaps: each is the mean times a number uniform on 1 ± jitter/2.
        jitter: f64 = default(0.0), unit("1"), range(Range::from(0.0).to(1.0)), source("ns-2, CBR random_ is jitter 1");
    }
    rules {
        "codepoint = ect1 needs ecn = true" [codepoint, ecn] |p| p.ecn.is_said();
        "packet_size is in bytes" [packet_size] |p| matches!(p.packet_size, Size::Bytes(_));
    }
}

/// The constant-bit-rate source.
pub struct Udp;

impl Declared for Udp {
    type Params = UdpParams;
    const ABOUT: About = About {
        name: "udp",
        class: "Udp",
        title: "Constant bit rate over UDP",
        source: "CHOKe 1999, Sec. 4",
        tc: "",
        module: include_str!("udp.rs"),
    };
}

/// When a constant-bit-rate source sends.
pub(crate) struct Clock {
    params: UdpParams,
    pace: Pace,
    rng: Stream,
}

impl Clock {
    pub(super) fn new(params: &UdpParams, rng: Stream) -> Clock {
        Clock { params: params.clone(), pace: Pace::new(params.rate, params.packet_size), rng }
    }
}

impl Source for Clock {
    fn next(&mut self) -> (u32, Span) {
        let gap = if self.params.jitter == 0.0 {
            self.pace.gap()
        } else {
            self.pace.random_gap(1.0 + self.params.jitter * (self.rng.uniform() - 0.5))
        };
        (self.pace.bytes as u32, gap)
    }

    fn set(&mut self, name: &str, value: &Raw) -> Result<(), String> {
        (_, self.params) = self.params.changed(name, value)?;
        self.pace.change(self.params.rate, self.params.packet_size);
        Ok(())
    }
}
