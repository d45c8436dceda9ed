//! A run that is driven: it stops at any time, is looked at, is changed, and goes on.
//!
//! Where it stops changes nothing: what has happened at a time is the same whether it came in one call or in many. A change
//! comes after everything else that happens at its time, so that the same changes at the same times give the same run.

use super::Sim;
use crate::packet::QueuedPacket;
use crate::probe::Outcome;
use sluicegate_aqm::{Ctx, Discipline, DropReason, Proportional, Recent};
use sluicegate_base::Time;
use sluicegate_base::params::{Raw, did_you_mean};
use std::borrow::Cow;

impl Sim {
    /// Runs about `budget` events, as [`advance`](Sim::advance) counts them, up to and including the time `until` or the
    /// end of the run; false when that is reached.
    pub fn advance_until(&mut self, until: Time, budget: u64) -> bool {
        let until = until.min(self.end);
        self.events.judge_lanes();
        let enough = (self.count + self.work).saturating_add(budget);
        while self.count + self.work < enough {
            let Some((time, event)) = self.events.pop(until) else {
                self.now = self.now.max(until);
                self.begin_window_if_due();
                return false;
            };
            self.now = time;
            self.begin_window_if_due();
            self.count += 1;
            if self.many {
                self.fetch();
            }
            self.handle(event);
        }
        true
    }

    /// When the run ends.
    #[must_use]
    pub fn end(&self) -> Time {
        self.end
    }

    /// What the run has measured so far, from the beginning of the measured window on (before that, from the start); it
    /// changes nothing of the run.
    #[must_use]
    pub fn snapshot(&self) -> Outcome {
        let about = self.about_flows();
        Outcome {
            window: self.now.since(self.window_start()),
            flows: self.flows.iter().zip(about).map(|(flow, about)| flow.row(flow.totals.clone(), about)).collect(),
            links: self.link_rows(|at| self.links[at].totals.clone()),
            queue: self.queue.clone(),
            occupancy: self.occupancy.clone(),
            state: self.state.clone(),
            flow_series: self.flow_series.clone(),
            groups: self.population.rows(),
            exchanges: self.population.kept.clone(),
            packets: self.log.rows.clone(),
            positions: self.positions.clone(),
            events: self.count,
        }
    }

    /// Changes a parameter of the discipline at the link of this name. The error is the rule that the value breaks, and
    /// nothing has changed.
    pub fn set_queue(&mut self, link: &str, name: &str, value: &Raw) -> Result<(), String> {
        let at = self.link_named(link)?;
        let (now, events, lost) = (self.now, &mut self.events, &mut self.lost);
        let done = self.links[at].change(now, events, lost, |queue, ctx| queue.set(name, value, ctx));
        self.settle(at as u32);
        done
    }

    /// Puts another discipline in place of that at the link of this name; `discipline` and `proportional` are what a
    /// [`LinkPlan`](crate::LinkPlan) says of it.
    ///
    /// It lives as if its queue had been empty since the start of the run. The packets that are queued are offered to it
    /// from the head to the tail, and what it refuses then is dropped with the reason `reconfigured`.
    pub fn replace_queue(
        &mut self,
        link: &str,
        mut queue: Box<dyn Discipline<QueuedPacket>>,
        discipline: Cow<'static, str>,
        proportional: Proportional,
    ) -> Result<(), String> {
        let at = self.link_named(link)?;
        let (now, events, lost) = (self.now, &mut self.events, &mut self.lost);
        let link = &mut self.links[at];
        link.discipline = discipline;
        link.change(now, events, lost, |old, ctx| {
            while let Some(due) = queue.next_wakeup().filter(|due| *due <= now) {
                queue.wake(&mut Ctx::new(due, ctx.rng, &mut Vec::new()));
            }
            let (mut packets, mut refused) = (Vec::new(), Vec::new());
            old.for_each(&mut |packet| packets.push(*packet));
            *old = queue;
            packets.into_iter().for_each(|packet| old.enqueue(packet, &mut Ctx::new(now, ctx.rng, &mut refused)));
            refused.into_iter().for_each(|(packet, _)| ctx.drop(packet, DropReason::Reconfigured));
        });
        // Whom the old one has hit says nothing of the new one's choice.
        let none = Recent::new(link.recent[0].capacity());
        link.recent = vec![none; proportional.groups()];
        link.senders = vec![Vec::new(); proportional.groups()];
        link.proportional = proportional;
        self.settle(at as u32);
        Ok(())
    }

    /// Changes a parameter of the source of the flow with this index, from its next packet on: one that sends by the clock.
    /// The error is the rule that the value breaks, and nothing has changed.
    pub fn set_source(&mut self, flow: usize, name: &str, value: &Raw) -> Result<(), String> {
        let flow = self.flows.get_mut(flow).ok_or_else(|| format!("no such flow: {flow}"))?;
        flow.ends.set(name, value)
    }

    fn link_named(&self, name: &str) -> Result<usize, String> {
        let names: Vec<&str> = self.links.iter().map(|link| link.name.as_str()).collect();
        names
            .iter()
            .position(|known| *known == name)
            .ok_or_else(|| format!("no such link: {name:?}{}", did_you_mean(name, &names)))
    }
}
