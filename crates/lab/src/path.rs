//! A path for use without the simulator, as a scenario describes it.

use crate::document::ScenarioError;
use crate::scenario::Scenario;
use sluicegate_aqm::Packet;
use sluicegate_base::ETHERNET;
use sluicegate_netsim::LinkPlan;
use sluicegate_port::{LinkConfig, Path, Transit};

/// The links that packets cross in one direction of a scenario's dumbbell, with their shaper, in a row; its traffic does not
/// matter and may be missing. The seed takes the place of the scenario's. The same links of a simulation meet the same chances.
pub fn path_of<P: Packet + 'static>(
    text: &str,
    name: &str,
    reverse: bool,
    seed: u64,
) -> Result<Path<P>, ScenarioError> {
    let two_way = reverse.then(|| ("network.two_way".to_owned(), "true".to_owned()));
    let scenario = Scenario::read_network(text, name, &Vec::from_iter(two_way), ETHERNET as u32)?;
    let elsewhere = "is written elsewhere, and nothing here builds it";
    let plan = scenario.plan_for::<_, Transit<P>>(&mut |foreign, _, _| Err(foreign.error(elsewhere)))?;
    let rule = "network.links: a path is one direction of a dumbbell: describe that";
    let directions = scenario.directions().ok_or_else(|| ScenarioError(format!("{name}: {rule}")))?;
    let mut links: Vec<Option<LinkPlan<Transit<P>>>> = plan.links.into_iter().map(Some).collect();
    directions[usize::from(reverse)].iter().try_fold(Path::new(seed), |path, at| {
        let link = links[*at].take().expect("a link is crossed once");
        let config = LinkConfig { port: link.port_config(), queue: link.queue, delay: link.delay, wire: link.wire };
        path.named_link(&link.name, config).map_err(ScenarioError)
    })
}
