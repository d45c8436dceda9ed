//! A discipline's parameters as the BPF program has them: `struct parameters` of `bpf/NAME.bpf.c`, in whole numbers.

use sluicegate_aqm::afd::AfdParams;
use sluicegate_aqm::blue::BlueParams;
use sluicegate_aqm::choke::{ChokeParams, Draw};
use sluicegate_aqm::dcn::{ControlLaw, Count, DcnParams};
use sluicegate_aqm::fair_share::Gains;
use sluicegate_aqm::pi::PiParams;
use sluicegate_aqm::red::{Action, GapLaw, Mode, RedArithmetic, RedBlock, RedParams};
use sluicegate_aqm::rem::RemParams;
use sluicegate_aqm::sred::SredParams;
use sluicegate_base::{ETHERNET, Params, Rate, Size, Span};
use sluicegate_port::{Cells, Framing};

/// Most packets that a queue can be told to hold: the ring has twice as many slots, since a packet dropped in it leaves a hole.
pub const MAX_PACKETS: u64 = 8183;

/// Packets in an interval that no flow sends.
const MANY: f64 = 4_194_304.0;

/// Largest gain of a controller.
const MAX_GAIN: f64 = 128.0;

/// The link behind a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wire {
    /// What the queue shapes to; none: it sends whenever the device takes a packet.
    pub rate: Option<Rate>,
    /// What the link sends around each packet.
    pub framing: Framing,
}

/// Parameters of a discipline that there is a BPF program for.
pub trait Portable: Params {
    /// The discipline's name.
    const NAME: &'static str;

    /// These parameters, as the program reads them. `generation` tells these from those that are in force; it is not 0.
    ///
    /// # Errors
    ///
    /// The reason why the program cannot do what a parameter says.
    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String>;
}

/// `struct parameters`: little-endian numbers one after the other, as the C structures have them.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The structure.
    pub bytes: Vec<u8>,
    /// What is in it, but for what fills gaps.
    pub numbers: Vec<Number>,
}

/// A member of `struct parameters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// Its name in C, behind those of the structures that it is in.
    pub name: String,
    /// Its bits.
    pub value: u64,
    /// How many of them are binary places.
    pub places: u32,
}

impl Layout {
    /// `struct link`.
    fn new(wire: &Wire, limit: Size) -> Result<Layout, String> {
        let (packets, bytes) = match limit {
            Size::Packets(n) => (n, u64::MAX),
            Size::Bytes(n) => (MAX_PACKETS, n),
        };
        at_most("limit in packets", packets, MAX_PACKETS)?;
        if limit == Size::Bytes(bytes) {
            at_most("limit in bytes", bytes, MAX_PACKETS * ETHERNET)?;
        }
        let cells = match wire.framing.cells {
            Cells::None => 0,
            Cells::Atm => 1,
            Cells::Ptm => 2,
        };
        let mut layout = Layout::default();
        layout.u64("link.rate", wire.rate.map_or(0, |rate| rate.0));
        layout
            .u32("link.framing", wire.framing.bytes)
            .u32("link.least", wire.framing.least)
            .u32("link.cells", cells)
            .gap();
        layout.u64("link.limit_packets", packets).u64("link.limit_bytes", bytes);
        Ok(layout)
    }

    fn number(&mut self, name: &str, value: u64, places: u32) -> &mut Self {
        self.bytes.extend(value.to_le_bytes());
        self.numbers.push(Number { name: name.to_owned(), value, places });
        self
    }

    fn u64(&mut self, name: &str, n: u64) -> &mut Self {
        self.number(name, n, 0)
    }

    fn u32(&mut self, name: &str, n: u32) -> &mut Self {
        self.number(name, n.into(), 0);
        self.bytes.truncate(self.bytes.len() - 4);
        self
    }

    fn gap(&mut self) -> &mut Self {
        self.bytes.extend([0; 4]);
        self
    }

    /// A probability or a factor up to 1, with 64 binary places; 1 is all ones.
    fn part(&mut self, name: &str, x: f64) -> &mut Self {
        self.number(name, scaled(x, 64), 64) // saturates
    }

    /// A number of packets, with 40 binary places.
    fn fix(&mut self, name: &str, x: f64) -> &mut Self {
        self.number(name, scaled(x, 40), 40)
    }

    /// A factor, with 55 binary places.
    fn gain(&mut self, name: &str, x: f64) -> Result<&mut Self, String> {
        if x > MAX_GAIN {
            return Err(format!("{name}: the gain of the queue is {x:.4}; at most {MAX_GAIN} in the program"));
        }
        Ok(self.number(name, scaled(x, 55), 55))
    }

    /// `struct halving`: so many halvings for each unit.
    fn halving(&mut self, name: &str, rate: f64) -> &mut Self {
        let mut e = 0;
        while e < 63 && scaled(rate, 64 + e) >> 63 == 0 {
            e += 1;
        }
        self.number(&format!("{name}.m"), scaled(rate, 64 + e), 0).u32(&format!("{name}.e"), e).gap()
    }

    fn end(&mut self, generation: u64) -> Layout {
        self.u64("generation", generation);
        core::mem::take(self)
    }

    /// `struct red`.
    fn red(&mut self, red: &RedBlock, law: GapLaw, geometric: bool) -> Result<&mut Self, String> {
        let (Size::Packets(min_th), Size::Packets(max_th)) = (red.min_th, red.max_th) else {
            return Err("min_th and max_th: in packets".to_owned());
        };
        let (min_th, max_th) = (min_th as f64, max_th as f64);
        self.part("red.w_q", red.w_q).fix("red.min_th", min_th).fix("red.max_th", max_th);
        self.part("red.c_1", red.max_p / (max_th - min_th)).halving("red.decay", halvings(red.w_q, red.s));
        self.u32("red.after_signal", if law == GapLaw::Figure2 { 0 } else { u32::MAX });
        Ok(self.u32("red.geometric", geometric.into()))
    }
}

/// `x` with so many binary places, cut off behind them; what is too large is all ones.
fn scaled(x: f64, places: u32) -> u64 {
    (x * libm::exp2(places.into())) as u64
}

/// How often the average of an idle link is halved in a nanosecond: (1 − w_q)^(1/s).
fn halvings(w_q: f64, s: Span) -> f64 {
    -libm::log2(1.0 - w_q) / s.0 as f64
}

fn at_most(name: &str, n: u64, most: u64) -> Result<(), String> {
    if n <= most { Ok(()) } else { Err(format!("{name}: at most {most}, not {n}")) }
}

fn below_1(name: &str, x: f64) -> Result<(), String> {
    if x < 1.0 { Ok(()) } else { Err(format!("{name}: below 1 in the program, not {x}")) }
}

fn packets_only(mode: Mode) -> Result<(), String> {
    if mode == Mode::Packet { Ok(()) } else { Err("mode: packet only".to_owned()) }
}

fn drops_only(action: Action) -> Result<(), String> {
    if action == Action::Drop {
        Ok(())
    } else {
        Err("action: a BPF queue cannot mark packets, only drop them".to_owned())
    }
}

impl Portable for RedParams {
    const NAME: &'static str = "red";

    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String> {
        drops_only(self.signal.action)?;
        packets_only(self.mode)?;
        let other = [
            (matches!(self.law, GapLaw::Section7 | GapLaw::Figure2), "law: section7 or figure2 only"),
            (!self.wait, "wait: not in the program"),
            (!self.gentle, "gentle: not in the program"),
            (self.arithmetic == RedArithmetic::Float, "arithmetic: float only"),
            (self.short_first.is_none(), "short_first: not in the program"),
        ];
        if let Some((_, reason)) = other.iter().find(|(can, _)| !can) {
            return Err((*reason).to_owned());
        }
        Ok(Layout::new(wire, self.red.limit)?.red(&self.red, self.law, self.method == 1)?.end(generation))
    }
}

impl Portable for ChokeParams {
    const NAME: &'static str = "choke";

    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String> {
        drops_only(self.signal.action)?;
        let draw = match self.draw {
            Draw::Random => 0,
            Draw::Front => 1,
            Draw::Back => 2,
            Draw::Geometric => return Err("draw: random, front or back only".to_owned()),
        };
        if self.regions > 0 {
            return Err("regions: not in the program".to_owned());
        }
        let mut layout = Layout::new(wire, self.red.limit)?;
        layout.red(&self.red, GapLaw::Section7, false)?.u32("candidates", self.candidates as u32).u32("draw", draw);
        Ok(layout.end(generation))
    }
}

impl Portable for DcnParams {
    const NAME: &'static str = "dcn";

    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String> {
        drops_only(self.marking.action)?;
        at_most("q_ref", self.q_ref.amount(), MAX_PACKETS)?;
        at_most("sb_entries", self.sb_entries, 16_384)?;
        at_most("hb_flows", self.hb_flows, 8192)?;
        // Without b, gains are those for one flow in HB.
        let b = self.b.unwrap_or(self.gain * (self.t_dec.0 as f64 / self.t_update.0 as f64));
        let a = self.a.unwrap_or(b * Gains::ratio(self.gain));
        let mut layout = Layout::new(wire, self.limit)?;
        layout.gain("a", a)?.gain("b", b)?;
        layout.u64("t_update", self.t_update.0).u64("t_dec", self.t_dec.0).u64("clearing", self.clearing.0);
        let most = self.p_ref_max.map_or(i64::MAX as u64, |most| scaled(most.min(MANY), 40));
        layout.fix("p_ref_min", self.p_ref_min).number("p_ref_max", most, 40);
        layout.u32("q_ref", self.q_ref.amount() as u32).u32("threshold", self.threshold.min(u32::MAX.into()) as u32);
        layout.u32("sb_entries", self.sb_entries as u32).u32("hb_flows", self.hb_flows as u32);
        layout.u32("law", (self.law == ControlLaw::Printed).into());
        layout.u32("count", (self.count == Count::Arrived).into());
        Ok(layout.u32("for_each_flow", self.b.is_none().into()).gap().end(generation))
    }
}

impl Portable for AfdParams {
    const NAME: &'static str = "afd";

    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String> {
        drops_only(self.marking.action)?;
        at_most("q_ref", self.q_ref.amount(), MAX_PACKETS)?;
        // Without beta, gains are those of one arrival and one flow, whose packet is the shadow buffer's only one.
        let beta = self.beta.unwrap_or(self.gain);
        let alpha = self.alpha.unwrap_or(beta * Gains::ratio(self.gain));
        let mut layout = Layout::new(wire, self.limit)?;
        layout.gain("alpha", alpha)?.gain("beta", beta)?.part("sampled", 1.0 / self.s);
        layout.part("weight", (1.0 / self.w).min(1.0)).u64("period", Span::from_secs_f64(1.0 / self.w).0);
        layout.u32("b", self.b as u32).u32("q_ref", self.q_ref.amount() as u32);
        Ok(layout.u32("derived", self.beta.is_none().into()).gap().end(generation))
    }
}

impl Portable for PiParams {
    const NAME: &'static str = "pi";

    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String> {
        drops_only(self.marking.action)?;
        packets_only(self.mode)?;
        at_most("q_ref", self.q_ref.amount(), MAX_PACKETS)?;
        below_1("a", self.a)?;
        let mut layout = Layout::new(wire, self.limit)?;
        layout.part("a", self.a).part("b", self.b).u64("period", Span::from_secs_f64(1.0 / self.w).0);
        Ok(layout.part("p_0", self.p_0).u64("q_ref", self.q_ref.amount()).end(generation))
    }
}

impl Portable for BlueParams {
    const NAME: &'static str = "blue";

    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String> {
        drops_only(self.marking.action)?;
        let (packets, bytes) = match self.level {
            Some(Size::Packets(n)) => (n, u64::MAX),
            Some(Size::Bytes(n)) => (u64::MAX, n),
            None => (u64::MAX, u64::MAX),
        };
        let mut layout = Layout::new(wire, self.limit)?;
        layout.part("d1", self.d1).part("d2", self.d2).u64("freeze_time", self.freeze_time.0);
        Ok(layout.u64("level_packets", packets).u64("level_bytes", bytes).end(generation))
    }
}

impl Portable for SredParams {
    const NAME: &'static str = "sred";

    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String> {
        drops_only(self.marking.action)?;
        at_most("zombies", self.zombies, 16_384)?;
        let mut layout = Layout::new(wire, self.limit)?;
        layout.part("overwrite", self.overwrite);
        layout.part("alpha", self.alpha.unwrap_or(self.overwrite / self.zombies as f64)).part("max_p", self.max_p);
        Ok(layout.u32("zombies", self.zombies as u32).u32("hits", self.hits.into()).end(generation))
    }
}

impl Portable for RemParams {
    const NAME: &'static str = "rem";

    fn lay_out(&self, wire: &Wire, generation: u64) -> Result<Layout, String> {
        drops_only(self.marking.action)?;
        packets_only(self.mode)?;
        at_most("b_ref", self.b_ref.amount(), MAX_PACKETS)?;
        below_1("gamma", self.gamma)?;
        let c = self.t_update.as_secs() * self.bandwidth.0 as f64 / (8.0 * self.max_packet.amount() as f64);
        if c >= MANY {
            return Err(format!("t_update: the link sends {c:.0} packets in it; below {MANY} in the program"));
        }
        let mut layout = Layout::new(wire, self.limit)?;
        layout.part("gamma", self.gamma).part("inw", self.inw).gain("alpha", self.alpha)?;
        layout.halving("phi", libm::log2(self.phi) * libm::exp2(-40.0));
        layout.halving("idle", -libm::log2(1.0 - self.inw) * libm::exp2(-20.0));
        Ok(layout.u64("t_update", self.t_update.0).fix("c", c).u64("b_ref", self.b_ref.amount()).end(generation))
    }
}
