//! A run under its caller's control: the caller can stop it at any time, look at it, change it and let it go on.
//!
//! Stopping changes no result: what has happened by a time is the same whether one call led there or many. A change
//! comes after everything else that happens at its time, so that the same changes at the same times give the same run.

use super::Sim;
use crate::counters::PacketRow;
use crate::network::packet::QueuedPacket;
use sluicegate_aqm::{Discipline, Proportional};
use sluicegate_base::Rate;
use sluicegate_base::params::{FIXED, Raw, did_you_mean};
use sluicegate_port::wire::Course;
use std::borrow::Cow;

impl Sim {
    /// Changes a parameter of the discipline at the link of this name. The error is the rule that the value breaks, and
    /// nothing has changed.
    pub fn set_queue(&mut self, link: &str, name: &str, value: &Raw) -> Result<(), String> {
        let at = self.link_named(link)?;
        self.end_present();
        let mut done = Ok(());
        self.workloads.ends.network.act(at, |port, now, sink| done = port.set(name, value, now, sink));
        done
    }

    /// Gives the link of this name another rate, of which its discipline is told. A link whose rate changes by itself keeps
    /// doing so.
    pub fn set_rate(&mut self, link: &str, rate: Rate) -> Result<(), String> {
        let at = self.link_named(link)?;
        self.end_present();
        let network = &mut self.workloads.ends.network;
        let now = network.now();
        let link = &mut network.links[at as usize];
        let old = link.port.rate();
        link.course.get_or_insert_with(|| Box::new(Course::lasting(old, network.shared.window))).set(rate, now);
        network.act(at, |port, now, sink| port.set_rate(rate, true, now, sink));
        Ok(())
    }

    /// Puts another discipline in place of that at the link of this name; `discipline` and `proportional` are what a
    /// [`LinkPlan`](crate::LinkPlan) says of it.
    ///
    /// It lives as if its queue had been empty since the start of the run. The packets that are queued are offered to it
    /// in the order of their arrival, and what it refuses then is dropped with the reason `reconfigured`.
    pub fn replace_queue(
        &mut self,
        link: &str,
        queue: Box<dyn Discipline<QueuedPacket>>,
        discipline: Cow<'static, str>,
        proportional: Proportional,
    ) -> Result<(), String> {
        let at = self.link_named(link)?;
        self.end_present();
        let network = &mut self.workloads.ends.network;
        network.act(at, |port, now, sink| drop(port.replace(queue, now, sink)));
        network.links[at as usize].change_discipline(discipline, proportional);
        Ok(())
    }

    /// Changes a parameter of the source of the flow with this index, from its next packet on: one that sends by the clock.
    /// The error is the rule that the value breaks, and nothing has changed.
    pub fn set_source(&mut self, flow: usize, name: &str, value: &Raw) -> Result<(), String> {
        self.end_present();
        let flow = self.workloads.ends.flows.get_mut(flow).ok_or_else(|| format!("no such flow: {flow}"))?;
        let source = flow.source().ok_or(FIXED)?;
        source.set(name, value)
    }

    /// Lets the flow with this index rest, sending nothing new, or go on. The error says why it cannot.
    pub fn rest(&mut self, flow: usize, rests: bool) -> Result<(), String> {
        self.end_present();
        self.workloads.ends.rest(flow as u32, rests).map_err(str::to_owned)
    }

    /// From now on up to `most` events at links under study are noted, until the next call takes them: what happened to each
    /// packet since the last one, and with whom arrivals were compared.
    pub fn watch(&mut self, most: usize) -> Vec<PacketRow> {
        self.workloads.ends.network.log.watch(most)
    }

    /// What else happens at the present time comes before a change, also where a run has been interrupted in it.
    fn end_present(&mut self) {
        while self.advance_until(self.now(), u64::MAX) {}
    }

    fn link_named(&self, name: &str) -> Result<u32, String> {
        let names: Vec<&str> = self.links().iter().map(|link| link.name.as_str()).collect();
        let at = names.iter().position(|known| *known == name);
        at.map(|at| at as u32).ok_or_else(|| format!("no such link: {name:?}{}", did_you_mean(name, &names)))
    }
}
