//! # Web users
//!
//! People who browse: a page, its embedded objects, a time for thinking, the next page. Each object is a request and a
//! response over a TCP connection that opens and closes completely.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | DCN 2004, Sec. 4.1 names the elements and cites where their distributions were measured, but prints none | every distribution is a key; the defaults of sizes meet all that the text says of Figs. 1 and 2, those of think time and embedded objects give 0.16 requests a second for each user, as Table 1 does; the others are chosen here | the measured tables are data of others |
//! | top-level and embedded responses are told apart | two keys with the same default | Figs. 1 and 2 show all responses together |
//! | HTTP 1.0 and 1.1 | for each server that a user turns to, either a connection for each object or, with probability `persistent`, connections that stay; requests are not pipelined | browsers of that time did not pipeline |
//! | browsers fetch embedded objects in parallel | up to `parallel` connections at once, or `persistent_parallel` that stay; the top-level object comes first, alone | what browsers of that time did, four and two |
//! | servers close idle connections | a user closes one after the page if the next page is on another server, or comes later than `keep_alive` | the think time is known beforehand; only the time of the exchange of FINs differs |
//! | each flow has a least delay of its own | drawn anew whenever a user turns to another server, for all connections there; the part of it that the links' own delays do not make up is added before the first link, half in each direction | dummynet delayed what machines sent |
//! | users start together, and 20 minutes are left out | each is found thinking, as at a random moment: what is left of a think time follows from its distribution | the load is right from the first seconds |
//! | servers take time to answer | none | response times are to show the network |
//! | response time: from the request until the last byte of the response | from when the browser turns to the connection, so the opening counts for the first request on it | what a user waits for |

use super::way::Way;
use sluicegate_base::{About, Declared, Distribution, Measure, Range, Span, Stream, params};
use sluicegate_tcp::Host;
use std::sync::Arc;

params! {
    /// Parameters of a group of web users; `count` says how many.
    pub struct HttpParams {
        /// Length of each request: a distribution of sizes.
        request_size: String = default("lognormal(median = 350 B, sigma = 0.4, high = 8 kB)".into()), source("chosen here");
        /// Length of each top-level response, headers of HTTP included: a distribution of sizes.
        response_size: String = default(RESPONSES_NAME.into()), source("chosen here to meet DCN 2004, Figs. 1 and 2");
        /// Length of each embedded response: a distribution of sizes.
        embedded_size: String = default(RESPONSES_NAME.into()), source("chosen here to meet DCN 2004, Figs. 1 and 2");
        /// How many objects are embedded in a page: a distribution of counts, rounded.
        embedded_objects: String = default("exponential(mean = 4)".into()), source("chosen here");
        /// How many pages a user gets from one server before it turns to another: a distribution of counts, rounded, at least one.
        pages_per_server: String = default("exponential(mean = 3)".into()), source("chosen here");
        /// How long a user thinks between pages: a distribution of times.
        think_time: String = default("lognormal(median = 13.4 s, sigma = 1.3, high = 1000 s)".into()),
            source("chosen here: 0.16 requests/s for each user, DCN 2004, Table 1");
        /// The probability that a server keeps connections open.
        persistent: f64 = default(0.15), unit("1"), range(Range::from(0.0).to(1.0)), source("chosen here");
        /// How many connections a user has at once for embedded objects, if each serves one object.
        parallel: u64 = default(4), unit("connections"), range(Range::from(1.0).to(1000.0)), source("browsers of 2000");
        /// The same, if connections stay open.
        persistent_parallel: u64 = default(2), unit("connections"), range(Range::from(1.0).to(1000.0)),
            source("RFC 2616, Sec. 8.1.4");
        /// The longest think time during which a connection stays open.
        keep_alive: Span = default(Span::from_secs(15)), source("Apache, KeepAliveTimeout");
    }
}

/// The name of [`RESPONSES`] in scenarios.
pub const RESPONSES_NAME: &str = "dcn2004_responses";

/// Response sizes that meet what DCN 2004 says of Figs. 1 and 2.
pub const RESPONSES: &str = "mixture(0.9: lognormal(median = 1250 B, sigma = 2.45, high = 10 kB), \
                             0.1: bounded_pareto(shape = 1.15, low = 10 kB, high = 70 MB))";

/// The web users.
pub struct Http;

impl Declared for Http {
    type Params = HttpParams;
    const ABOUT: About = About {
        name: "http",
        class: "Http",
        title: "Web users",
        source: "DCN 2004, Sec. 4.1",
        tc: "",
        module: include_str!("http.rs"),
    };
}

/// How a group of users browses.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    request_size: Distribution,
    response_size: Distribution,
    embedded_size: Distribution,
    embedded_objects: Distribution,
    pages_per_server: Distribution,
    think_time: Distribution,
    persistent: f64,
    /// The most connections of a user at once, where each serves one object and where they stay.
    pub parallel: [u32; 2],
    /// The longest think time during which a connection stays open.
    pub keep_alive: Span,
}

/// A group of users, ready to run.
#[derive(Clone, Debug)]
pub struct HttpPlan {
    /// The hosts at both ends of their connections.
    pub host: Arc<Host>,
    /// How many there are.
    pub users: u32,
    /// Each is found thinking at a time drawn uniformly from the group's start on, within this.
    pub spread: Span,
    /// How they browse.
    pub model: Model,
    /// Their way to the shared links.
    pub way: Way,
    /// Whether their exchanges are kept one by one.
    pub keep: bool,
}

/// The distribution that a name stands for; any other text is a distribution itself.
#[must_use]
pub fn named(text: &str) -> &str {
    if text.trim() == RESPONSES_NAME { RESPONSES } else { text }
}

/// The most bytes of one request or response, as tables of exchanges hold them.
pub const MOST_BYTES: f64 = u32::MAX as f64;

impl HttpParams {
    /// The model with its laws read. The error is the key and the rule that it breaks.
    pub fn model(&self) -> Result<Model, (&'static str, String)> {
        let distribution =
            |key, text: &str, measure| Distribution::parse(named(text), measure).map_err(|rule| (key, rule));
        let sizes = |key, text: &str| {
            let distribution = distribution(key, text, Measure::Bytes)?;
            let most = distribution.max();
            if most.is_finite() && most > MOST_BYTES {
                return Err((key, format!("no size may exceed {MOST_BYTES} B")));
            }
            Ok(distribution)
        };
        Ok(Model {
            request_size: sizes("request_size", &self.request_size)?,
            response_size: sizes("response_size", &self.response_size)?,
            embedded_size: sizes("embedded_size", &self.embedded_size)?,
            embedded_objects: distribution("embedded_objects", &self.embedded_objects, Measure::Count)?,
            pages_per_server: distribution("pages_per_server", &self.pages_per_server, Measure::Count)?,
            think_time: distribution("think_time", &self.think_time, Measure::Seconds)?,
            persistent: self.persistent,
            parallel: [self.parallel as u32, self.persistent_parallel as u32],
            keep_alive: self.keep_alive,
        })
    }
}

impl Model {
    /// The most connections of a user at once.
    #[must_use]
    pub fn most_parallel(&self) -> u32 {
        self.parallel[0].max(self.parallel[1])
    }

    /// Requests per second of a user whose responses take no time, about.
    #[must_use]
    pub fn mean_rate(&self) -> f64 {
        (1.0 + self.embedded_objects.mean()) / self.think_time.mean().max(1e-3)
    }

    /// The distribution of top-level responses.
    #[must_use]
    pub fn response_size(&self) -> &Distribution {
        &self.response_size
    }
}

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Bytes of the request.
    pub request: u32,
    /// Bytes of the response.
    pub response: u32,
}

/// A page: its top-level object, and how many are embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The page itself.
    pub top: Exchange,
    /// How many objects are embedded in it.
    pub embedded: u32,
}

/// What one user does, in the order in which it does it. Nothing in it depends on when anything is answered, so that a
/// user does the same whatever becomes of the packets.
#[derive(Clone, Debug)]
pub struct Session {
    rng: Stream,
    pages_left: u32,
    /// Whether the server that it is with keeps connections open.
    pub persistent: bool,
    /// The base round trip to it.
    pub round_trip: Span,
    /// When a tick of the server's clock begins, as a share of the tick in 32 bits.
    pub phase: u32,
}

/// A value as a whole number of bytes or things; what a distribution cannot mean is the nearest that it can.
fn whole(x: f64, least: u32) -> u32 {
    (x + 0.5).clamp(f64::from(least), f64::from(u32::MAX)) as u32
}

impl Session {
    /// The session of user number `user`, from 0, of the group that is flow number `flow`.
    #[must_use]
    pub fn new(seed: u64, flow: usize, user: u32) -> Session {
        let rng = Stream::new(seed, &format!("flow/{flow}/user/{user}"));
        Session { rng, pages_left: 0, persistent: false, round_trip: Span::ZERO, phase: 0 }
    }

    /// When it turns to its first page, after the group's start: within `spread` it is found thinking, as at a random
    /// moment of its life.
    pub fn begin(&mut self, plan: &HttpPlan) -> Span {
        let found = Span(self.rng.below(plan.spread.0.saturating_add(1)));
        found + Span::from_secs_f64(plan.model.think_time.residual(&mut self.rng).min(1e9))
    }

    /// 32 random bits, for what else its user needs.
    pub fn bits(&mut self) -> u32 {
        (self.rng.bits() >> 32) as u32
    }

    /// How long it thinks before the next page.
    pub fn think(&mut self, model: &Model) -> Span {
        Span::from_secs_f64(model.think_time.draw(&mut self.rng).min(1e9))
    }

    /// Whether its next page is of another server.
    #[must_use]
    pub fn leaves(&self) -> bool {
        self.pages_left == 0
    }

    /// The next page, after a turn to another server if it is time for that.
    pub fn page(&mut self, plan: &HttpPlan, user: u32) -> Page {
        let (model, rng) = (&plan.model, &mut self.rng);
        if self.pages_left == 0 {
            self.pages_left = whole(model.pages_per_server.draw(rng), 1);
            self.persistent = rng.chance(model.persistent);
            self.round_trip = plan.way.round_trip.draw(u64::from(user), rng);
            self.phase = (rng.bits() >> 32) as u32;
        }
        self.pages_left -= 1;
        let embedded = whole(model.embedded_objects.draw(rng), 0);
        let request = whole(model.request_size.draw(rng), 1);
        Page { top: Exchange { request, response: whole(model.response_size.draw(rng), 1) }, embedded }
    }

    /// The next object embedded in the page.
    pub fn object(&mut self, model: &Model) -> Exchange {
        let request = whole(model.request_size.draw(&mut self.rng), 1);
        Exchange { request, response: whole(model.embedded_size.draw(&mut self.rng), 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::{Link, Params, Rate};

    fn responses() -> Distribution {
        Distribution::parse(RESPONSES, Measure::Bytes).unwrap()
    }

    /// What DCN 2004, Sec. 3, says of Figs. 1 and 2, and Sec. 5.1 of Fig. 10.
    #[test]
    fn response_sizes_meet_what_the_paper_says_of_its_figures() {
        let distribution = responses();
        let bytes = |x: f64| distribution.partial_mean(x) / distribution.mean();
        let (kb, mb) = (1e3, 1e6);
        assert!((distribution.cdf(10.0 * kb) - 0.9).abs() < 1e-12, "approximately 90 % are 10,000 bytes or less");
        assert!(bytes(10.0 * kb) < 0.25, "and account for less than 25 % of the bytes: {}", bytes(10.0 * kb));
        assert!((bytes(10.0 * kb) - 0.2).abs() < 0.025, "approximately 20 % (Fig. 10)");
        assert!(1.0 - distribution.cdf(mb) < 0.01, "those above 1 MB are less than 1 %");
        assert!((1.0 - bytes(mb) - 0.25).abs() < 0.005, "but 25 % of the bytes: {}", 1.0 - bytes(mb));
        let few = distribution.cdf(3.0 * kb);
        assert!((few - 0.7).abs() < 0.05, "2,000 to 3,000 bytes: approximately 70 %: {few}");
        assert!((0.06..=0.08).contains(&bytes(3.0 * kb)), "only 6 to 8 % of the bytes: {}", bytes(3.0 * kb));
        assert!(1.0 - distribution.cdf(100.0 * kb) < 0.01, "above 100,000 bytes: less than 1 %");
        // What was derived for this project.
        assert!((distribution.mean() - 7180.0).abs() < 10.0, "{}", distribution.mean());
        assert!((few - 0.718).abs() < 0.001 && (bytes(10.0 * kb) - 0.215).abs() < 0.001);
    }

    fn plan() -> HttpPlan {
        let link = Link { rate: Rate(100_000_000), packet: 1000 };
        let host = Arc::new(Host::new(&sluicegate_tcp::TcpParams::of(sluicegate_tcp::ProfileName::Ns2)));
        let model = HttpParams::defaults(&link).unwrap().model().unwrap();
        HttpPlan {
            host,
            users: 10,
            spread: Span::from_secs(1),
            model,
            way: Way::fixed(Span::from_millis(80)),
            keep: false,
        }
    }

    #[test]
    fn sessions_have_the_sizes_and_counts_of_their_laws() {
        let plan = plan();
        let (mut pages, mut embedded, mut turns, mut small, mut requests) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for user in 0..200 {
            let mut session = Session::new(1, 0, user);
            for _ in 0..500 {
                turns += f64::from(u8::from(session.leaves()));
                let page = session.page(&plan, user);
                pages += 1.0;
                embedded += f64::from(page.embedded);
                for exchange in [page.top, session.object(&plan.model)] {
                    small += f64::from(u8::from(exchange.response <= 10_000));
                    requests += f64::from(exchange.request);
                }
            }
        }
        // Rounded: the sum over k ≥ 0 of P(X ≥ k + 1/2), and one at least.
        let rounded = |mean: f64| libm::exp(-0.5 / mean) / (1.0 - libm::exp(-1.0 / mean));
        let (objects, per_server) = (rounded(4.0), rounded(3.0) + 1.0 - libm::exp(-0.5 / 3.0));
        assert!((embedded / pages - objects).abs() < 4.0 * 4.1 / libm::sqrt(pages), "{}", embedded / pages);
        assert!((pages / turns - per_server).abs() < 4.0 * 3.0 / libm::sqrt(turns) + 0.01, "{}", pages / turns);
        assert!((small / (2.0 * pages) - 0.9).abs() < 4.0 * libm::sqrt(0.09 / (2.0 * pages)) + 1e-4);
        assert!(
            (requests / (2.0 * pages) - plan.model.request_size.mean()).abs() < 4.0 * 160.0 / libm::sqrt(2.0 * pages)
        );
    }

    /// 0.16 requests a second for each user (Table 1), when a page takes the second or so that it does without queues.
    #[test]
    fn users_make_the_requests_that_table_1_counts() {
        let model = plan().model;
        let per_page = 1.0 + libm::exp(-0.125) / (1.0 - libm::exp(-0.25));
        let rate = per_page / (model.think_time.mean() + 0.8);
        assert!((rate - 0.160).abs() < 0.001, "{rate}");
    }

    #[test]
    fn a_session_is_its_users_alone() {
        let plan = plan();
        let pages = |seed, user| {
            let mut session = Session::new(seed, 3, user);
            (0..50).map(|_| (session.page(&plan, user), session.think(&plan.model))).collect::<Vec<_>>()
        };
        assert_eq!(pages(1, 2), pages(1, 2));
        assert!(pages(1, 2) != pages(1, 3) && pages(1, 2) != pages(2, 2));
    }

    #[test]
    fn a_law_that_makes_no_sense_names_its_key() {
        let params = HttpParams::defaults(&Link { rate: Rate(1), packet: 1 }).unwrap();
        assert_eq!(*params.model().unwrap().response_size(), responses(), "by its name");
        let wrong = HttpParams { think_time: "exponential(mean = 3)".into(), ..params.clone() };
        assert_eq!(wrong.model().unwrap_err().0, "think_time");
        let large = HttpParams { embedded_size: "constant(5000 MB)".into(), ..params };
        assert_eq!(large.model().unwrap_err().0, "embedded_size");
    }
}
