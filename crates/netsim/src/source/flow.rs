//! What every flow can say, whatever its kind.

use sluicegate_base::{About, Declared, Range, Span, choices, params};

choices! {
    /// Which way the data of a flow crosses a dumbbell.
    pub enum Direction {
        /// Over the bottleneck.
        Forward = "forward",
        /// Over the bottleneck's opposite direction, which then has a queue of its own.
        Reverse = "reverse",
    }
}

params! {
    /// What every entry of `[[flows]]` can say, whatever its kind.
    pub struct FlowParams {
        /// How many such flows there are.
        count: u64 = default(1), unit("flows"), range(Range::from(1.0).to(1e6)), positional(true), source("Sluicegate");
        /// The name of the group in tables and figures: any text of up to 60 characters. Entries with the same name are
        /// one group.
        name: Option<String> = optional("its kind; with the algorithm, or else a number, if needed to distinguish \
                                         groups"),
            source("Sluicegate");
        /// The earliest time at which they start.
        start: Span = default(Span::ZERO), source("Sluicegate");
        /// Each starts at a time drawn uniformly between start and start + spread.
        spread: Span = default(Span::from_secs(1)), source("Sluicegate: random starts avoid traffic phase effects");
        /// When they stop sending.
        stop: Option<Span> = optional("at the end of the run"), source("Sluicegate");
        /// Their class of traffic, for queues with classes; for `cake` their DSCP.
        class: u64 = default(0), unit("1"), range(Range::from(0.0).to(255.0)), source("RED 1993, Sec. XII");
        /// For queues with drop preference: with 0 their packets are essential; with any other value they are optional,
        /// and dropped first.
        priority: u64 = default(0), unit("1"), range(Range::from(0.0).to(255.0)),
            source("RED 1993, Sec. I: essential and optional packets");
        /// The number of the sending host, for queues that are fair among hosts; each flow has a separate receiving
        /// host.
        host: Option<u64> = optional("each has a separate host"), unit("1"),
            range(Range::from(0.0).below(4_294_967_295.0)), source("Sluicegate");
        /// Which way the data crosses a dumbbell; with a flow in reverse the network is two-way.
        direction: Direction = default(Direction::Forward), source("RED 1993, Sec. VIII: two-way traffic");
        /// The links that the data crosses, in a network of `[[network.links]]`.
        path: Option<Vec<String>> = optional("the dumbbell's bottleneck"), source("Sluicegate");
        /// The links that acknowledgements cross.
        return_path: Option<Vec<String>> = optional("the reverse of path, over the same links"), source("Sluicegate");
    }
    rules {
        "name has from 1 to 60 characters, none of them a control character" [name] |p| p.name.as_ref().is_none_or(|name| {
            (1..=60).contains(&name.trim().chars().count()) && !name.chars().any(char::is_control)
        });
        "start < stop" [start, stop] |p| p.stop.is_none_or(|stop| p.start < stop);
    }
}

/// The fields that all flows share, as a declared thing.
pub struct Flow;

impl Declared for Flow {
    type Params = FlowParams;
    const ABOUT: About =
        About { name: "flow", class: "Flow", title: "Any flow", source: "Sluicegate", tc: "", module: "//! Any flow." };
}
