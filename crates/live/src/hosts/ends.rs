//! The ends of connections as sockets: opened, accepted, read, written, closed and counted.

use super::connection::{End, Role};
use super::shared::{FIRST_PORT, SIDES};
use super::{Driver, HostFlow, LISTENER, Pool, SENDS, socket};
use rustix::event::epoll;
use rustix::net::{SocketFlags, acceptfrom_with};
use sluicegate_base::{Span, Time};
use sluicegate_netsim::workloads::exchanges::ExchangeRow;
use sluicegate_tcp::connection::Congestion;
use std::net::{SocketAddr, SocketAddrV4};

/// So many reads see all that the kernel learns of segments.
const WINDOWS: u8 = 16;

impl Driver {
    /// A port of this side that nobody uses; the one that has rested longest.
    pub(super) fn free_port(&mut self, side: usize) -> u16 {
        let (last, users) = &mut self.ports[side];
        loop {
            *last = last.checked_add(1).unwrap_or(FIRST_PORT);
            if users[usize::from(*last)].is_none() {
                return *last;
            }
        }
    }

    /// Opens a connection of a flow from this side; its packets have this delay of their own on either way.
    pub(super) fn connect(&mut self, flow: u32, side: usize, role: Role, delay: Span) -> Result<u32, String> {
        let HostFlow { plan, settings, .. } = &self.flows[flow as usize];
        let settings = settings.clone().expect("a flow of TCP has settings");
        let to = SocketAddrV4::new(self.addresses[1 - side], self.port_of(plan.group));
        if self.ecn != Some(settings.ecn) {
            self.ecn = Some(settings.ecn);
            // 1: connections that open ask for it; 2: they do not. Either way it is accepted if asked for.
            let value = if settings.ecn { "1" } else { "2" };
            for namespace in self.namespaces.iter() {
                let written = namespace.run(move || std::fs::write("/proc/sys/net/ipv4/tcp_ecn", value));
                written.map_err(|error| format!("net.ipv4.tcp_ecn: {error}"))?;
            }
        }
        for _ in 0..100 {
            let port = self.free_port(side);
            self.shared.own(side, port, flow, delay);
            if let Some(socket) = socket::connecting(&self.namespaces[side], &settings, port, to)? {
                let slot = self.ends.add(End::new(socket, side, port, flow, role));
                self.ports[side].1[usize::from(port)] = Some(slot);
                self.watch(slot)?;
                return Ok(slot);
            }
        }
        Err("no port is free for a connection".to_owned())
    }

    /// Connections have come to a group.
    pub(super) fn accept(&mut self, number: u64) -> Result<(), String> {
        let Some((_, listener)) = self.listeners.iter().find(|(known, _)| *known == number) else { return Ok(()) };
        let mut accepted = Vec::new();
        while let Ok((socket, from)) = acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            let port = from.and_then(|from| SocketAddr::try_from(from).ok()).map_or(0, |from| from.port());
            accepted.push((socket, port));
        }
        for (socket, port) in accepted {
            let mut opener = None;
            for side in 0..SIDES {
                let Some(slot) = self.ports[side].1[usize::from(port)] else { continue };
                let flow = self.ends.get(slot).flow;
                let listens = self.port_of(self.flows[flow as usize].plan.group);
                if number == LISTENER | u64::from(listens) {
                    opener = Some((side, slot));
                }
            }
            let Some((side, slot)) = opener else { continue };
            let (flow, role) = {
                let end = self.ends.get(slot);
                (
                    end.flow,
                    match end.role {
                        Role::Source => Role::Sink,
                        Role::Client(..) => Role::Server,
                        ref other => other.clone(),
                    },
                )
            };
            let other = self.ends.add(End::new(socket, 1 - side, port, flow, role));
            self.ends.pair(slot, other);
            self.watch(other)?;
            self.begun(other)?;
        }
        Ok(())
    }

    pub(super) fn watch(&mut self, slot: u32) -> Result<(), String> {
        let number = self.ends.number(slot);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        let end = self.ends.get(slot);
        epoll::add(&self.poll, &end.socket, epoll::EventData::new_u64(number), flags).map_err(|error| error.to_string())
    }

    /// Something has happened to a socket.
    pub(super) fn ready(&mut self, number: u64, flags: epoll::EventFlags) -> Result<(), String> {
        let Some(slot) = self.ends.slot(number) else { return Ok(()) };
        if flags.intersects(epoll::EventFlags::ERR) {
            self.left.failed += 1;
            return self.close(slot);
        }
        if flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::HUP) {
            let end = self.ends.get(slot);
            let (before, ended) = (end.received, end.ended);
            end.read(&mut self.buffer);
            if end.windows < WINDOWS {
                end.windows += 1;
                if let Some(settings) = &self.flows[end.flow as usize].settings {
                    let _ = socket::set_window(&end.socket, settings.window);
                }
            }
            if end.received > before || end.ended != ended {
                self.heard(slot)?;
            }
        }
        if self.ends.slot(number).is_some() {
            if flags.intersects(epoll::EventFlags::OUT) && !self.ends.get(slot).open {
                self.ends.get(slot).open = true;
                self.begun(slot)?;
            }
            self.write(slot);
            self.settle(slot)?;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, slot: u32) {
        self.ends.get(slot).write(&self.buffer);
    }

    /// One end of a connection has opened.
    pub(super) fn begun(&mut self, slot: u32) -> Result<(), String> {
        self.ends.get(slot).open = true;
        match self.ends.get(slot).role {
            Role::Script(_) => self.go_on(slot),
            _ => Ok(()),
        }
    }

    /// One end of a connection has read something, or the other has ended.
    pub(super) fn heard(&mut self, slot: u32) -> Result<(), String> {
        let end = self.ends.get(slot);
        let (flow, received, ended) = (end.flow, end.received, end.ended);
        match end.role {
            Role::Source => {
                if ended {
                    self.ends.get(slot).finish();
                }
            }
            Role::Sink => {
                let (size, now) = (self.flows[flow as usize].plan.size, self.clock.now());
                self.shared.tell(flow, |faring| {
                    faring.received = received;
                    if size.is_some_and(|size| received >= size) {
                        faring.completed.get_or_insert(now);
                    }
                });
                if ended {
                    self.ends.get(slot).finish();
                    self.write(slot);
                }
            }
            Role::Client(..) => self.answered(slot)?,
            Role::Server => self.asked(slot),
            Role::Script(_) => self.go_on(slot)?,
        }
        self.settle(slot)
    }

    /// Gives an end up that has said and heard all.
    pub(super) fn settle(&mut self, slot: u32) -> Result<(), String> {
        if self.ends.is_there(slot) && self.ends.get(slot).is_done() { self.close(slot) } else { Ok(()) }
    }

    pub(super) fn close(&mut self, slot: u32) -> Result<(), String> {
        self.count(slot);
        let end = self.ends.remove(slot);
        if self.ports[end.side].1[usize::from(end.port)] == Some(slot) {
            self.ports[end.side].1[usize::from(end.port)] = None;
            let flow = &mut self.flows[end.flow as usize];
            if let Some(pool) = flow.pool {
                self.pools[pool].open -= 1;
                self.pools[pool].totals.closed += 1;
            }
        }
        if self.flows[end.flow as usize].slot == Some(slot) {
            self.flows[end.flow as usize].slot = None;
        }
        match end.role {
            Role::Client(user, ref request) if !request.complete => return self.failed(user, slot),
            // The one that goes last takes the script with it.
            Role::Script(number) if end.other.is_none() => drop(self.scripts.remove(&number)),
            _ => {}
        }
        Ok(())
    }

    /// An exchange of a group is complete.
    pub(super) fn exchanged(&mut self, flow: u32, request: u64, response: u64, asked: Time) {
        let response_time = self.clock.now().since(asked);
        let Some(pool) = self.flows[flow as usize].pool else { return };
        let Pool { group, totals, keep, .. } = &mut self.pools[pool];
        totals.complete(request, response, response_time);
        if *keep {
            let response = response.min(u64::from(u32::MAX)) as u32;
            self.left.exchanges.push(ExchangeRow { time: asked, response_time, response, group: *group });
        }
    }

    /// Asks the kernel how connections fare.
    pub(super) fn ask(&mut self) {
        for slot in self.ends.of_side(SENDS) {
            self.count(slot);
        }
    }

    pub(super) fn count(&mut self, slot: u32) {
        let end = self.ends.get(slot);
        if end.side != SENDS {
            return;
        }
        let Some(info) = socket::tcp_info(&end.socket) else { return };
        let more = u64::from(info.tcpi_total_retrans)
            .saturating_sub(std::mem::replace(&mut end.retransmissions, u64::from(info.tcpi_total_retrans)));
        let (flow, one) = (end.flow, matches!(end.role, Role::Source));
        self.shared.tell(flow, |faring| {
            faring.retransmissions += more;
            faring.congestion = one.then(|| Congestion {
                cwnd: f64::from(info.tcpi_snd_cwnd),
                ssthresh: f64::from(info.tcpi_snd_ssthresh),
                srtt: Span(u64::from(info.tcpi_rtt) * 1000),
                in_flight: u64::from(info.tcpi_unacked) * u64::from(info.tcpi_snd_mss),
            });
        });
    }
}
