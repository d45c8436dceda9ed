//! A capture made in a test, replayed.

use super::Shared;
use etherparse::PacketBuilder;
use serde_json::Value as Json;
use sluicegate_base::Rate;
use sluicegate_lab::replay::reader::{Capture, Next};
use sluicegate_lab::replay::results::Report;
use sluicegate_lab::replay::writer::Writer;
use sluicegate_lab::replay::{Failure, Progress, Replay, ReplayScenario};
use sluicegate_lab::results::{Cells, ResultTable};
use sluicegate_lab::{Foreign, ScenarioError};

/// What a replay gave, and what it wrote as time, original length and data.
pub struct Done {
    pub tables: Vec<ResultTable>,
    pub summary: Json,
    pub written: Vec<(u64, u32, Vec<u8>)>,
}

impl Done {
    pub fn column(&self, table: &str, name: &str) -> Vec<f64> {
        let table = self.tables.iter().find(|each| each.name == table).unwrap();
        match &table.columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("{name}")).cells {
            Cells::F64(cells) => cells.clone(),
            Cells::I64(cells) => cells.iter().map(|&n| n as f64).collect(),
            Cells::Str(_) => panic!("{name} is text"),
        }
    }

    pub fn link(&self, name: &str) -> f64 {
        self.column("links", name)[0]
    }

    pub fn warnings(&self) -> String {
        let all = self.summary["capture"]["warnings"].as_array().unwrap();
        all.iter().map(|each| each.as_str().unwrap()).collect::<Vec<_>>().join("\n")
    }
}

pub fn replay(file: &[u8], settings: &[(&str, &str)]) -> Result<Done, String> {
    let sets: Vec<(String, String)> = settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let scenario = ReplayScenario::read(&sets).unwrap();
    let nothing = &mut |foreign: &Foreign, _: &str, _: Rate| Err(ReplayScenario::nothing_builds(foreign));
    let (name, queue) = scenario.discipline::<ScenarioError>(nothing).unwrap();
    let out = Shared::default();
    let mut run = Replay::new(file, scenario.setting(), queue, Some(out.clone())).unwrap();
    loop {
        match run.advance(7) {
            Ok(Progress::Done) => break,
            Ok(_) => {}
            Err(Failure::Unusable(what)) => return Err(what),
            Err(Failure::Write(error)) => panic!("{error}"),
        }
    }
    let report = Report::new(run.finish().unwrap(), name, scenario.setting().rate);
    let (bytes, mut written) = (out.0.lock().unwrap().clone(), Vec::new());
    let mut capture = Capture::new(&bytes[..]);
    while let Next::Record(record) = capture.next().unwrap() {
        written.push((record.time.unwrap(), record.original, record.data.to_vec()));
    }
    Ok(Done { tables: report.tables(), summary: report.summary(&scenario, "test"), written })
}

pub fn udp(port: u16, payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(port, 53).write(&mut packet, &vec![0; payload]).unwrap();
    packet
}

pub fn capture(link_type: u16, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (time, data) in packets {
        writer.packet(link_type, *time, data.len() as u32, data).unwrap();
    }
    writer.finish().unwrap()
}

/// A millisecond.
pub const MS: u64 = 1_000_000;

/// A segment with `payload` bytes of TCP, as a host hands it to its card.
pub fn segment(payload: usize, six: bool) -> Vec<u8> {
    let mut packet = Vec::new();
    let bytes: Vec<u8> = (0..payload).map(|k| k as u8).collect();
    if six {
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(5000, 80, u32::MAX - 1000, 500).psh().ack(7);
        builder.write(&mut packet, &bytes).unwrap();
    } else {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(5000, 80, u32::MAX - 1000, 500);
        builder.psh().cwr().ack(7).write(&mut packet, &bytes).unwrap();
    }
    packet
}
