//! A link: a port and the wire behind it, and what is monitored there.

use crate::counters::PacketFate;
use crate::engine::Event;
use crate::network::headers::Headers;
use crate::network::numbered::NumberedWire;
use crate::network::packet::{End, NONE, QueuedPacket, SimPacket};
use crate::network::{Observer, Shared};
use crate::plan::LinkPlan;
use sluicegate_aqm::{DropReason, FlowKey, Proportional, Recent};
use sluicegate_base::{Span, Stream, Time};
use sluicegate_port::wire::{Course, Passing};
use sluicegate_port::{DelayHistogram, Outcomes, Port, PortConfig};
use std::borrow::Cow;

/// A link as it runs.
pub struct Link {
    /// Its name, for results.
    pub name: String,
    /// The discipline's name.
    pub discipline: Cow<'static, str>,
    /// Its queue and transmitter.
    pub port: Port<QueuedPacket>,
    /// Its propagation delay.
    pub delay: Span,
    /// Its rate over time, where that changes by itself.
    pub course: Option<Box<Course>>,
    /// What is kept of it beside the port's counters.
    pub monitor: Monitor,
}

/// What is kept of a link's packets.
pub struct Monitor {
    /// Whether the link is under study.
    pub monitored: bool,
    /// How many arrivals of its flow a packet of data is here: none where another link has counted it.
    pub arrivals: u8,
    /// Queueing delays of packets that were sent; kept for links under study only.
    pub delays: DelayHistogram,
    proportional: Proportional,
    /// For each group of packets that the queue chooses among, the flows of the packets of data that it has marked or dropped
    /// most recently in proportion to what flows send; kept for links under study only.
    pub recent: Vec<Recent>,
    /// Of more groups than one, the flows that have sent to each.
    pub senders: Vec<Vec<bool>>,
    /// What else there is to do with a packet that has been sent: few links have anything.
    extras: Option<Box<Extras>>,
}

/// What few links have.
#[derive(Default)]
struct Extras {
    /// Who looks at what it sends.
    observer: Option<Observer>,
    /// Who looks at what reaches its queue.
    arrivals: Option<Observer>,
    /// What tells its discipline of headers.
    headers: Option<Headers>,
    /// What its wire does to packets.
    wire: Option<Box<NumberedWire>>,
}

impl Link {
    /// The link of this plan, idle, that remembers so many marks and drops.
    #[must_use]
    pub fn new(plan: LinkPlan, recent: u64, seed: u64) -> Link {
        let rng = Stream::new(seed, &format!("link/{}/discipline", plan.name));
        let (wire, port) = (NumberedWire::new(&plan.wire, &plan.name, seed), plan.port_config());
        let course = plan.wire.rates.map(|rates| Box::new(Course::new(rates)));
        let config = PortConfig { rate: course.as_ref().map_or(port.rate, |course| course.rate()), ..port };
        let extras = wire.map(|wire| Box::new(Extras { wire: Some(Box::new(wire)), ..Extras::default() }));
        Link {
            name: plan.name,
            discipline: plan.discipline,
            port: Port::new(config, plan.queue, rng),
            delay: plan.delay,
            course,
            monitor: Monitor {
                monitored: plan.monitored,
                arrivals: u8::from(!plan.counted),
                delays: DelayHistogram::default(),
                recent: vec![Recent::new(recent as usize); plan.proportional.groups()],
                senders: vec![Vec::new(); plan.proportional.groups()],
                proportional: plan.proportional,
                extras,
            },
        }
    }

    /// The measured window begins.
    pub fn begin_window(&mut self, now: Time) {
        self.port.counters.begin_window(now);
        self.monitor.delays = DelayHistogram::default();
        if let Some(numbered) = self.monitor.wire() {
            numbered.wire.lost = 0;
        }
        if let Some(course) = &mut self.course {
            course.begin_window(now);
        }
        self.monitor.recent.iter_mut().for_each(Recent::clear);
        self.monitor.senders.iter_mut().for_each(Vec::clear);
    }

    /// Another discipline has taken over. Whom the old one has hit says nothing of the new one's choice.
    pub fn change_discipline(&mut self, discipline: Cow<'static, str>, proportional: Proportional) {
        let monitor = &mut self.monitor;
        self.discipline = discipline;
        let none = Recent::new(monitor.recent[0].capacity());
        monitor.recent = vec![none; proportional.groups()];
        monitor.senders = vec![Vec::new(); proportional.groups()];
        monitor.proportional = proportional;
    }
}

impl Monitor {
    /// Lets `observer` see what is sent.
    pub fn observe(&mut self, observer: Observer) {
        self.extras.get_or_insert_default().observer = Some(observer);
    }

    /// Lets `observer` see what reaches the queue.
    pub fn observe_arrivals(&mut self, observer: Observer) {
        self.extras.get_or_insert_default().arrivals = Some(observer);
    }

    /// Lets `headers` tell of what reaches the queue.
    pub fn show_headers(&mut self, headers: Headers) {
        self.extras.get_or_insert_default().headers = Some(headers);
    }

    /// A packet has reached the queue: its wire numbers it, and it is shown to who wants to see it.
    #[inline(always)]
    pub fn note_arrival(&mut self, shared: &mut Shared, place: u32) {
        if let Some(extras) = &mut self.extras {
            extras.note_arrival(shared, place);
        }
    }

    /// Takes the packets that have waited on the wire for others, each with the time when it arrives beyond the propagation
    /// delay.
    pub fn take_released(&mut self) -> Vec<(u32, Time)> {
        self.wire().map(|numbered| std::mem::take(&mut numbered.released)).unwrap_or_default()
    }

    /// Packets that the wire has lost since the measured window began.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.extras.as_ref().and_then(|extras| extras.wire.as_ref()).map_or(0, |numbered| numbered.wire.lost)
    }

    fn wire(&mut self) -> Option<&mut NumberedWire> {
        self.extras.as_mut()?.wire.as_deref_mut()
    }

    /// A packet has been marked, or dropped for this reason: whether its flow shows who sends most is the discipline's to say.
    fn remember(&mut self, packet: &QueuedPacket, reason: Option<DropReason>) {
        if self.monitored && packet.to == End::Receiver && self.proportional.shows(packet, reason) {
            self.recent[self.proportional.group(packet)].record(FlowKey(u64::from(packet.flow)));
        }
    }

    /// A packet of data reaches the queue: its flow sends to its group.
    pub fn note_sender(&mut self, packet: &QueuedPacket) {
        let (senders, flow) = (&mut self.senders[self.proportional.group(packet)], packet.flow as usize);
        senders.resize(senders.len().max(flow + 1), false);
        senders[flow] = true;
    }
}

impl Extras {
    #[cold]
    fn note_arrival(&mut self, Shared { engine, packets, .. }: &mut Shared, place: u32) {
        if let Some(numbered) = &mut self.wire {
            numbered.note_arrival(place);
        }
        if self.arrivals.is_none() && self.headers.is_none() {
            return;
        }
        let (packet, segments) = packets.parts(place);
        let segment = segments.copy(place, &packet.segment);
        if let Some(headers) = &self.headers {
            headers.show(place, segment);
        }
        if let Some(observer) = &mut self.arrivals {
            observer(engine.now(), packet, &segment);
        }
    }
}

/// Takes what happens to packets at a port.
pub struct Sink<'a> {
    /// The link's index.
    pub link: u32,
    /// What is kept of it.
    pub monitor: &'a mut Monitor,
    /// The engine, the packets, and what is counted.
    pub shared: &'a mut Shared,
    /// The packet that has been sent; `u32::MAX` for none.
    pub sent: u32,
    /// How much later it arrives.
    pub delay: Span,
}

impl Outcomes<QueuedPacket> for Sink<'_> {
    #[inline(always)]
    fn sent(&mut self, packet: QueuedPacket) {
        self.shared.packets.leaves_queue(&packet);
        self.sent = packet.place;
        if self.monitor.extras.is_some() || self.shared.log.is_open() {
            self.show(packet.place);
            self.cross_wire(packet.place, packet.queued);
        }
    }

    #[inline(always)]
    fn started(&mut self, packet: &QueuedPacket) {
        if !self.monitor.monitored {
            return;
        }
        let now = self.shared.engine.now();
        self.monitor.delays.record(now.since(packet.queued).0);
        if packet.to == End::Receiver {
            self.shared.flows[packet.flow as usize].start(packet.queued, packet.marked, now, self.shared.window);
            if packet.marked {
                self.monitor.remember(packet, None);
            }
        }
    }

    #[cold]
    fn dropped(&mut self, packet: QueuedPacket, reason: DropReason) {
        let Shared { engine, packets, flows, log, window } = &mut *self.shared;
        let left = packets.leaves_queue(&packet);
        if self.monitor.monitored {
            log.note(self.link, engine.now(), (packet.place, left), PacketFate::Drop(reason), 0);
        }
        if let Some(numbered) = self.monitor.wire() {
            numbered.number(packet.place);
        }
        packets.discard(packet.place);
        if packet.to == End::Receiver {
            if packet.opens() {
                engine.end_opening();
            }
            let totals = &mut flows[packet.flow as usize];
            if !self.monitor.monitored {
                totals.drops_elsewhere += 1;
                return;
            }
            totals.drop(packet.queued, reason, engine.now(), *window);
            self.monitor.remember(&packet, Some(reason));
        }
    }

    #[cold]
    fn quenched(&mut self, key: FlowKey) {
        if let Some((connection, to)) = SimPacket::of_key(key) {
            let engine = &mut self.shared.engine;
            engine.push(engine.now(), Event::QuenchSent(self.link, connection, to), key.0);
        }
    }
}

impl Sink<'_> {
    /// Shows a packet that has been sent to those who want to see it.
    #[cold]
    fn show(&mut self, place: u32) {
        let Shared { engine, packets, log, .. } = &mut *self.shared;
        let (packet, segments) = packets.parts(place);
        if let Some(observer) = self.monitor.extras.as_mut().and_then(|extras| extras.observer.as_mut()) {
            observer(engine.now(), packet, &segments.copy(place, &packet.segment));
        }
        if self.monitor.monitored {
            log.note(self.link, engine.now(), (place, packet), PacketFate::Departure, 0);
        }
    }

    /// A packet that has been sent, queued at this time, meets what the wire does.
    #[cold]
    fn cross_wire(&mut self, place: u32, queued: Time) {
        let extras = self.monitor.extras.as_mut();
        let Some(mut numbered) = extras.and_then(|extras| extras.wire.take()) else { return };
        let (now, number, waiting) = (self.shared.engine.now(), numbered.number(place), numbered.released.len());
        self.sent = NONE;
        let NumberedWire { wire, released, .. } = &mut *numbered;
        wire.pass(place, number, now, &mut |packet, passing| match passing {
            Passing::Lost => self.lose(packet, queued),
            Passing::Marked => drop(self.shared.packets.get(packet).header.ecn.mark()),
            Passing::Arrives(time) if packet == place => {
                (self.sent, self.delay) = (packet, self.delay + time.since(now));
            }
            Passing::Arrives(time) => released.push((packet, time)),
        });
        if released.len() > waiting {
            self.shared.engine.push(now, Event::Released(self.link), u64::from(self.link));
        }
        self.monitor.extras.as_mut().expect("it has a wire").wire = Some(numbered);
    }

    /// A packet, queued at this time, is lost on the wire.
    fn lose(&mut self, place: u32, queued: Time) {
        let Shared { engine, packets, flows, log, window } = &mut *self.shared;
        let packet = packets.get(place);
        if self.monitor.monitored {
            log.note(self.link, engine.now(), (place, packet), PacketFate::Lost, 0);
        }
        if packet.opens() {
            engine.end_opening();
        }
        if packet.to == End::Receiver {
            let totals = &mut flows[packet.flow as usize];
            match self.monitor.monitored {
                true => totals.lose(queued, *window),
                false => totals.drops_elsewhere += 1,
            }
        }
        packets.discard(place);
    }
}
