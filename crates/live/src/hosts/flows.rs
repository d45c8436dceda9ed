//! Flows that have one connection or socket: when they start and stop, and what they send on a schedule.

use super::connection::Role;
use super::{DISCARD, Driver, HostFlow, RECEIVES, SENDS, Task, socket};
use rustix::net::{RecvFlags, SendFlags, recvfrom, send};
use sluicegate_base::{Span, Time};
use sluicegate_netsim::source::SourcePlan;
use std::net::{SocketAddr, SocketAddrV4};

impl Driver {
    pub(super) fn start(&mut self, flow: u32) -> Result<(), String> {
        let HostFlow { plan, clock, .. } = &mut self.flows[flow as usize];
        let start = plan.start;
        match &*plan.source {
            SourcePlan::Tcp(_) => {
                let size = plan.size;
                let slot = self.connect(flow, SENDS, Role::Source, Span::ZERO)?;
                let end = self.ends.get(slot);
                (end.to_write, end.closing) = (size.unwrap_or(u64::MAX), size.is_some());
                self.flows[flow as usize].slot = Some(slot);
            }
            SourcePlan::Telnet(..) => {
                let slot = self.connect(flow, SENDS, Role::Source, Span::ZERO)?;
                self.flows[flow as usize].slot = Some(slot);
                self.type_on(flow, start)?;
            }
            SourcePlan::Http(http) => {
                let http = http.clone();
                self.begin_users(flow, &http);
            }
            SourcePlan::Connections(_) => self.open_next(flow)?,
            // The testbed refuses them.
            SourcePlan::Endpoints(_) => return Err("custom ends have no sockets".to_owned()),
            SourcePlan::Udp(_) | SourcePlan::Poisson(_) | SourcePlan::OnOff(_) | SourcePlan::Custom(_) => {
                let (first, ecn) = (clock.as_mut().map_or(Span::ZERO, |clock| clock.first()), plan.source.ecn());
                let port = self.free_port(SENDS);
                let to = SocketAddrV4::new(self.addresses[RECEIVES], DISCARD);
                self.shared.own(SENDS, port, flow, Span::ZERO);
                self.flows[flow as usize].socket =
                    Some(socket::datagrams(&self.namespaces[SENDS], port, Some(to), ecn)?);
                self.at(start + first, Task::Send(flow));
            }
        }
        Ok(())
    }

    pub(super) fn stop(&mut self, flow: u32) {
        if let Some(slot) = self.flows[flow as usize].slot {
            let end = self.ends.get(slot);
            (end.to_write, end.closing) = (0, true);
            self.write(slot);
        }
    }

    /// Sends what is due of a source that sends by the clock: how late it is asked for does not change its rate.
    pub(super) fn send_datagrams(&mut self, flow: u32, time: Time) {
        let (now, mut due) = (self.clock.now(), time);
        let state = &mut self.flows[flow as usize];
        let (Some(clock), Some(socket)) = (&mut state.clock, &state.socket) else { return };
        while due <= now && due < state.plan.stop {
            let (bytes, gap) = clock.next();
            let data = bytes.saturating_sub(28) as usize;
            if send(socket, &self.buffer[..data.min(65_507)], SendFlags::empty()).is_err() {
                self.left.unsent += 1;
            }
            due += gap;
        }
        if due < state.plan.stop {
            self.at(due, Task::Send(flow));
        }
    }

    pub(super) fn receive_datagrams(&mut self) {
        // Its bytes are of no use; how many there were is told all the same.
        let mut some = [0u8; 1];
        for _ in 0..1024 {
            let flags = RecvFlags::TRUNC | RecvFlags::DONTWAIT;
            let Ok((_, bytes, from)) = recvfrom(&self.drain, &mut some, flags) else { return };
            let port = from.and_then(|from| SocketAddr::try_from(from).ok()).map_or(0, |from| from.port());
            if let Some((flow, _)) = self.shared.whose(SENDS, port) {
                self.shared.tell(flow, |faring| faring.received += bytes as u64);
            }
        }
    }

    /// A person types the next message.
    pub(super) fn type_on(&mut self, flow: u32, time: Time) -> Result<(), String> {
        let state = &mut self.flows[flow as usize];
        let (Some(typing), Some(slot)) = (&mut state.typing, state.slot) else { return Ok(()) };
        if time >= state.plan.stop {
            return Ok(());
        }
        let (bytes, gap) = typing.message();
        let end = self.ends.get(slot);
        end.to_write += bytes;
        end.closing = gap.is_none();
        self.write(slot);
        if let Some(gap) = gap {
            self.at(time + gap, Task::Type(flow));
        }
        Ok(())
    }
}
