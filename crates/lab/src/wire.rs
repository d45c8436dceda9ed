//! What a link of a scenario is like: its framing, what its wire loses and delays, and files of its rate over time.

use crate::document::ScenarioError;
use crate::population;
use crate::rates::{self, Trace};
use crate::section::{Section, fields, json};
use crate::vectors::text_of;
use serde_json::{Map, Value as Json};
use sluicegate_base::params::did_you_mean;
use sluicegate_base::{About, Declared, Range, Rate, Size, Span, Value, choices, params, quantity};
use sluicegate_netsim::{Loss, WirePlan};
use sluicegate_port::fates::{Fates, KEYS};
use sluicegate_port::{Cells, Framing};

choices! {
    /// How a link cuts frames into cells.
    pub enum CellsName {
        /// It does not.
        None = "none",
        /// ATM: 48 bytes in cells of 53, the last one filled up.
        Atm = "atm",
        /// PTM of VDSL2: a byte for each 64.
        Ptm = "ptm",
    }
}

params! {
    /// What a link is like beside rate and delay, in one direction.
    pub struct WireParams {
        /// What the link sends around each packet: bytes, such as "38 B", or a name: ethernet (38 B, frames of at least
        /// 84 B), pppoe (46 B, 84 B), docsis (18 B, 64 B), ptm (PPPoE on VDSL2: 30 B, in PTM), atm (PPPoE on ADSL: 40
        /// B, in ATM cells). Framing takes time on the link, but results do not count its bytes.
        framing: String = default("0 B".to_owned()), source("IEEE 802.3; tc-cake(8)");
        /// The shortest frame, framing included.
        frame_min: Option<Size> = optional("from the name of framing, else none"), unit("B"),
            range(Range::from(0.0).to(1000.0)), source("IEEE 802.3: 84 B with gap and preamble; tc-cake(8), mpu");
        /// The cells that carry frames.
        cells: Option<CellsName> = optional("from the name of framing, else none"),
            source("ITU-T I.361; IEEE 802.3, 64B/65B; tc-cake(8)");
        /// The probability that the wire loses a packet after it was sent; with bursts, outside of them.
        loss: f64 = default(0.0), unit("1"), range(Range::from(0.0).to(1.0)), source("Gilbert 1960: 1 - k");
        /// The probability that the wire loses a packet in a burst of errors.
        burst_loss: Option<f64> = optional("1 if there are bursts"), unit("1"), range(Range::from(0.0).to(1.0)),
            source("Elliott 1963: 1 - h; tc-netem(8): 1");
        /// The probability that a burst begins after a packet outside a burst.
        burst_start: f64 = default(0.0), unit("1"), range(Range::from(0.0).to(1.0)), source("Gilbert 1960: P");
        /// The probability that a burst ends after a packet in it.
        burst_end: f64 = default(1.0), unit("1"), range(Range::from(0.0).to(1.0)), source("Gilbert 1960: p");
        /// Largest extra delay of a packet beyond the propagation delay; the delay is uniform between zero and this.
        jitter: Span = default(Span::ZERO), range(Range::from(0.0).to(60.0)), source("Sluicegate");
        /// Whether jitter lets packets overtake each other.
        reordering: bool = default(false), source("Linux, netem");
        /// Packets to lose behind the queue, by their number in the order in which they reach the link, from 1:
        /// "5,8-10".
        drop: Option<String> = optional("none"), source("Sluicegate");
        /// Packets to mark behind the queue, if they are ECN-capable: "5,8-10".
        mark: Option<String> = optional("none"), source("Sluicegate");
        /// Packets to delay, and by how much: "7:30 ms,9-11:5 ms". Later packets may overtake them.
        late: Option<String> = optional("none"), source("Sluicegate");
        /// Packets to hold back until some later packets have arrived, and how many: "7:3".
        behind: Option<String> = optional("none"), source("Sluicegate");
        /// A file with the link's rate over time: a Mahimahi or Pensieve trace, or CSV with time and rate. Its path is
        /// relative to the scenario; the traces "lte" and "wifi" are bundled. The discipline does not learn of these changes.
        trace: Option<String> = optional("the rate is constant"), source("Netravali et al. 2015 (Mahimahi); Mao et al. 2017 (Pensieve)");
        /// The time after which the trace repeats.
        trace_period: Option<Span> = optional("lte: 60 s; wifi: 10 s; a Mahimahi trace: its last time; others: the \
                                               last rate continues"),
            range(Range::from(0.001)), source("Mahimahi");
        /// The mean rate to which the trace is scaled, from its beginning to its end.
        trace_mean: Option<Rate> = optional("the trace is as it is"), range(Range::POSITIVE), source("Sluicegate");
    }
    rules {
        "frame_min is in bytes" [frame_min] |p| !matches!(p.frame_min, Some(Size::Packets(_)));
        "reordering needs jitter" [reordering, jitter] |p| !p.reordering || p.jitter > Span::ZERO;
        "burst_loss needs burst_start" [burst_loss, burst_start] |p| p.burst_loss.unwrap_or(0.0) == 0.0 || p.burst_start > 0.0;
        "burst_end needs burst_start" [burst_end, burst_start] |p| p.burst_end == 1.0 || p.burst_start > 0.0;
        "trace_period needs trace" [trace_period, trace] |p| p.trace_period.is_none() || p.trace.is_some();
        "trace_mean needs trace" [trace_mean, trace] |p| p.trace_mean.is_none() || p.trace.is_some();
    }
}

/// What every link can say of itself, as a declared thing.
pub struct WireOf;

impl Declared for WireOf {
    type Params = WireParams;
    const ABOUT: About = About {
        name: "wire",
        class: "Wire",
        title: "What a link is like",
        source: "Sluicegate",
        tc: "",
        module: "//! What a link is like.",
    };
}

/// Framings with a name: bytes around a packet, the least frame, cells.
const FRAMINGS: [(&str, u32, u32, CellsName); 5] = [
    ("ethernet", 38, 84, CellsName::None),
    ("pppoe", 46, 84, CellsName::None),
    ("docsis", 18, 64, CellsName::None),
    ("ptm", 30, 0, CellsName::Ptm),
    ("atm", 40, 0, CellsName::Atm),
];

/// What a link of a scenario is like.
#[derive(Clone, Debug)]
pub(crate) struct LinkWire {
    pub framing: Framing,
    pub wire: WirePlan,
    /// The mean rate of its trace.
    pub mean: Option<Rate>,
}

/// Reads what a link is like. Names of framings are written out in `map`.
pub(crate) fn read(section: &Section<'_>, rate: Rate, map: &mut Map<String, Json>) -> Result<LinkWire, ScenarioError> {
    let params = fields::<WireOf>(section, rate, map)?;
    let keys = FramingKeys { framing: &params.framing, frame_min: params.frame_min, cells: params.cells };
    let framing = keys.read(section)?;
    show(framing, map);
    let burst_loss = params.burst_loss.unwrap_or(if params.burst_start > 0.0 { 1.0 } else { 0.0 });
    map.insert("burst_loss".to_owned(), burst_loss.into());
    let loses = params.loss > 0.0 || burst_loss > 0.0;
    let loss = loses.then_some(Loss {
        good: params.loss,
        bad: burst_loss,
        to_bad: params.burst_start,
        to_good: params.burst_end,
    });
    let read = params.trace.as_ref().map(|file| trace(section, file, params.trace_period)).transpose()?;
    let (rates, mean) = read.map(|rates| rates.scaled(params.trace_mean)).unzip();
    let mut fates = Fates::default();
    for (key, given) in KEYS.into_iter().zip([&params.drop, &params.mark, &params.late, &params.behind]) {
        given.iter().try_for_each(|value| fates.add(key, value)).map_err(|rule| section.error(key, &rule))?;
    }
    let wire = WirePlan { loss, jitter: params.jitter, reordering: params.reordering, rates, fates };
    Ok(LinkWire { framing, wire, mean })
}

/// The keys that say a framing.
pub(crate) struct FramingKeys<'a> {
    pub framing: &'a str,
    pub frame_min: Option<Size>,
    pub cells: Option<CellsName>,
}

impl FramingKeys<'_> {
    /// What they say, with what a name brings unless it is given.
    pub fn read(&self, section: &Section<'_>) -> Result<Framing, ScenarioError> {
        let (bytes, least, cells) = match FRAMINGS.iter().find(|(name, ..)| *name == self.framing) {
            Some((_, bytes, least, cells)) => (*bytes, *least, *cells),
            None => {
                let names: Vec<&str> = FRAMINGS.iter().map(|(name, ..)| *name).collect();
                let rule = || {
                    let near = did_you_mean(self.framing, &names);
                    format!("must be bytes up to 1000, such as \"38 B\", or one of {}{near}", names.join(", "))
                };
                let read = quantity::size(self.framing).ok().filter(|size| matches!(size, Size::Bytes(0..=1000)));
                let bytes = read.ok_or_else(|| section.error("framing", &rule()))?.amount() as u32;
                (bytes, 0, CellsName::None)
            }
        };
        let least = self.frame_min.map_or(least, |size| size.amount() as u32);
        Ok(Framing { bytes, least, cells: cells_of(self.cells.unwrap_or(cells)) })
    }
}

/// The cells of this name.
pub(crate) fn cells_of(name: CellsName) -> Cells {
    match name {
        CellsName::None => Cells::None,
        CellsName::Atm => Cells::Atm,
        CellsName::Ptm => Cells::Ptm,
    }
}

/// Writes a framing out in resolved keys.
pub(crate) fn show(Framing { bytes, least, cells }: Framing, map: &mut Map<String, Json>) {
    let shown = |bytes: u32| json(&Value::Size(Size::Bytes(bytes.into())));
    map.insert("framing".to_owned(), shown(bytes));
    map.insert("frame_min".to_owned(), shown(least));
    let name = match cells {
        Cells::None => CellsName::None,
        Cells::Atm => CellsName::Atm,
        Cells::Ptm => CellsName::Ptm,
    };
    map.insert("cells".to_owned(), name.word().into());
}

/// The rates of a file beside the scenario.
fn trace(section: &Section<'_>, file: &str, period: Option<Span>) -> Result<Trace, ScenarioError> {
    if let Some((_, text, length)) = TRACES.iter().find(|(name, ..)| *name == file) {
        return rates::parse(text, period.or(Some(*length)))
            .map_err(|(line, rule)| ScenarioError(format!("{file}:{line}: {rule}")));
    }
    let name = population::beside(&section.document.name, file);
    let known: Vec<&str> = TRACES.iter().map(|(name, ..)| *name).collect();
    let told =
        |rule| section.error("trace", &format!("{file:?}: {rule}; traces that come with it: {}", known.join(", ")));
    let text = text_of(&name).map_err(told)?;
    rates::parse(&text, period).map_err(|(line, rule)| {
        let place = if line == 0 { name.clone() } else { format!("{name}:{line}") };
        ScenarioError(format!("{place}: {rule}"))
    })
}

/// The traces that come with the package, by name, with their lengths, after which they begin anew; `tools/traces.py` makes them.
pub(crate) const TRACES: [(&str, &str, Span); 2] = [
    ("lte", include_str!("../traces/lte.csv"), Span::from_secs(60)),
    ("wifi", include_str!("../traces/wifi.csv"), Span::from_secs(10)),
];
