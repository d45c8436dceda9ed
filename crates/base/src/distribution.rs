//! Distributions of sizes, times and counts, as people write them by name.
//!
//! | written | meaning |
//! |---|---|
//! | `constant(350 B)` | always this |
//! | `exponential(mean = 2 s)` | exceeded with probability exp(−x/mean) |
//! | `lognormal(median = 1 kB, sigma = 2, low = 10 B, high = 10 kB)` | the logarithm is normal with this deviation; values outside the optional bounds low and high are drawn again |
//! | `bounded_pareto(shape = 1.2, low = 10 kB, high = 70 MB)` | exceeded with probability ((low/x)^shape − (low/high)^shape)/(1 − (low/high)^shape) |
//! | `table(0 B: 0, 1 kB: 0.6, 10 kB: 1)` | a draw is at most each value with the probability that stands after the value; uniform between two values |
//! | `mixture(0.9: lognormal(…), 0.1: bounded_pareto(…))` | each distribution with this probability |
//!
//! Sizes and times have their unit, counts have none. Every distribution has its cdf and its partial mean in
//! closed form ([`Distribution::cdf`], [`Distribution::partial_mean`]), so that what is drawn can be checked against what was
//! written. The shape of `bounded_pareto` is from 0.01 to 100; a distribution whose mean is not a number is refused.

use crate::quantity;
use crate::random::Stream;
use crate::units::Size;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use libm::{cos, erfc, exp, log, pow, sqrt};

/// What the values of a distribution are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Sizes in bytes, written with their unit.
    Bytes,
    /// Times in seconds, written with their unit.
    Seconds,
    /// Bare numbers.
    Count,
}

/// How something is distributed.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Lognormal between bounds.
    LogNormal {
        /// The median of the distribution without bounds.
        median: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
        /// The least value.
        low: f64,
        /// The greatest value; may be infinite.
        high: f64,
    },
    /// Pareto between bounds.
    BoundedPareto {
        /// The index of the tail.
        shape: f64,
        /// The least value.
        low: f64,
        /// The greatest value.
        high: f64,
    },
    /// Values, and the probability of at most each; both ascend, and probabilities end at 1.
    Table(Box<[(f64, f64)]>),
    /// Distributions with their probabilities, which add up to 1. None of them is a mixture.
    Mixture(Box<[(f64, Distribution)]>),
}

/// The least share of a lognormal distribution that its bounds may leave: what lies outside is drawn again.
const LEAST_SHARE: f64 = 0.01;

/// The most values of a table, and distributions of a mixture.
const MAX_PARTS: usize = 10_000;

impl Distribution {
    /// Reads a distribution as the table of this module writes it. The error is the rule that the text breaks.
    pub fn parse(text: &str, measure: Measure) -> Result<Distribution, String> {
        let (word, inner) = call(text)?;
        if word != "mixture" {
            return with_a_mean(simple(word, inner, measure)?);
        }
        let mut distributions = Vec::new();
        for part in parts(inner)? {
            let (weight, distribution) = pair(part)?;
            let (word, inner) = call(distribution)?;
            if word == "mixture" {
                return Err("a mixture holds no mixtures".to_owned());
            }
            distributions.push((probability(weight)?, with_a_mean(simple(word, inner, measure)?)?));
        }
        let sum: f64 = distributions.iter().map(|(weight, _)| weight).sum();
        if (sum - 1.0).abs() >= 1e-9 {
            return Err(format!("the probabilities of a mixture must add up to 1, not {sum}"));
        }
        Ok(Distribution::Mixture(distributions.into()))
    }

    /// One value.
    pub fn draw(&self, rng: &mut Stream) -> f64 {
        match self {
            Distribution::Constant(x) => *x,
            Distribution::Exponential(mean) => mean * rng.exponential(),
            Distribution::LogNormal { median, sigma, low, high } => loop {
                let x = median * exp(sigma * normal(rng));
                if (*low..=*high).contains(&x) {
                    return x;
                }
            },
            Distribution::BoundedPareto { shape, low, high } => {
                let rest = pow(low / high, *shape);
                let exceeded = rest + (1.0 - rest) * (1.0 - rng.uniform());
                (low * pow(exceeded, -1.0 / shape)).min(*high)
            }
            Distribution::Table(rows) => {
                let p = rng.uniform();
                let at = rows.partition_point(|&(_, below)| below <= p).min(rows.len() - 1);
                let (x1, p1) = rows[at];
                let Some(&(x0, p0)) = at.checked_sub(1).and_then(|before| rows.get(before)) else { return x1 };
                if p1 > p0 { x0 + (x1 - x0) * ((p - p0) / (p1 - p0)) } else { x1 }
            }
            Distribution::Mixture(distributions) => {
                let mut p = rng.uniform();
                for (weight, distribution) in &distributions[..distributions.len() - 1] {
                    if p < *weight {
                        return distribution.draw(rng);
                    }
                    p -= weight;
                }
                distributions[distributions.len() - 1].1.draw(rng)
            }
        }
    }

    /// The probability of a value of at most `x`.
    #[must_use]
    pub fn cdf(&self, x: f64) -> f64 {
        match self {
            Distribution::Constant(value) => f64::from(u8::from(x >= *value)),
            Distribution::Exponential(mean) => 1.0 - exp(-x.max(0.0) / mean),
            Distribution::LogNormal { median, sigma, low, high } => {
                let under = |x: f64| phi(log(x / median) / sigma);
                if x < *low {
                    return 0.0;
                }
                (under(x.min(*high)) - under(*low)) / (under(*high) - under(*low))
            }
            Distribution::BoundedPareto { shape, low, high } => {
                let x = x.clamp(*low, *high);
                (1.0 - pow(low / x, *shape)) / (1.0 - pow(low / high, *shape))
            }
            Distribution::Table(rows) => {
                let at = rows.partition_point(|&(value, _)| value <= x);
                match (at.checked_sub(1).map(|before| rows[before]), rows.get(at)) {
                    (None, _) => 0.0,
                    (Some((_, p)), None) => p,
                    (Some((x0, p0)), Some(&(x1, p1))) => p0 + (p1 - p0) * (x - x0) / (x1 - x0),
                }
            }
            Distribution::Mixture(distributions) => {
                distributions.iter().map(|(weight, distribution)| weight * distribution.cdf(x)).sum()
            }
        }
    }

    /// What values of at most `x` contribute to the mean.
    #[must_use]
    pub fn partial_mean(&self, x: f64) -> f64 {
        match self {
            Distribution::Constant(value) => value * self.cdf(x),
            Distribution::Exponential(mean) => {
                let t = x.max(0.0) / mean;
                if t.is_infinite() { *mean } else { mean * (1.0 - exp(-t) * (1.0 + t)) }
            }
            Distribution::LogNormal { median, sigma, low, high } => {
                if x < *low {
                    return 0.0;
                }
                let z = |x: f64| log(x / median) / sigma;
                let upto = |x: f64| phi(z(x) - sigma);
                let share = phi(z(*high)) - phi(z(*low));
                median * exp(sigma * sigma / 2.0) * (upto(x.min(*high)) - upto(*low)) / share
            }
            Distribution::BoundedPareto { shape, low, high } => {
                let x = x.clamp(*low, *high);
                let scale = shape * low / (1.0 - pow(low / high, *shape));
                let power = shape - 1.0;
                if power == 0.0 { scale * log(x / low) } else { scale * (1.0 - pow(low / x, power)) / power }
            }
            Distribution::Table(rows) => {
                let first = if x >= rows[0].0 { rows[0].0 * rows[0].1 } else { 0.0 };
                let between = rows.windows(2).map(|two| {
                    let [(x0, p0), (x1, p1)] = [two[0], two[1]];
                    let end = x.clamp(x0, x1);
                    (p1 - p0) * (end - x0) / (x1 - x0) * (x0 + end) / 2.0
                });
                first + between.sum::<f64>()
            }
            Distribution::Mixture(distributions) => {
                distributions.iter().map(|(weight, distribution)| weight * distribution.partial_mean(x)).sum()
            }
        }
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.partial_mean(f64::INFINITY)
    }

    /// How long it still takes, when somebody looks at a random moment of many such times one after another: a part,
    /// uniform, of a time that is found the more likely the longer it is.
    pub fn residual(&self, rng: &mut Stream) -> f64 {
        let (mean, share, part) = (self.mean(), rng.uniform(), rng.uniform());
        // Between these the value lies below which this share of the mean is; halved until nothing is left to halve.
        let (mut low, mut high) = (0.0, self.max().min(mean * 1e6));
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                return part * high;
            }
            if self.partial_mean(middle) < share * mean { low = middle } else { high = middle }
        }
    }

    /// The greatest value; infinite when there is none.
    #[must_use]
    pub fn max(&self) -> f64 {
        match self {
            Distribution::Constant(x) => *x,
            Distribution::Exponential(_) => f64::INFINITY,
            Distribution::LogNormal { high, .. } | Distribution::BoundedPareto { high, .. } => *high,
            Distribution::Table(rows) => rows[rows.len() - 1].0,
            Distribution::Mixture(distributions) => {
                distributions.iter().map(|(_, distribution)| distribution.max()).fold(0.0, f64::max)
            }
        }
    }
}

/// The probability that a normal variable is at most `z`.
fn phi(z: f64) -> f64 {
    erfc(-z / core::f64::consts::SQRT_2) / 2.0
}

/// A normal variable (Box & Muller 1958; the second of the pair is given up, so that each draw is a whole one).
fn normal(rng: &mut Stream) -> f64 {
    let radius = sqrt(2.0 * rng.exponential());
    radius * cos(2.0 * core::f64::consts::PI * rng.uniform())
}

/// The distribution, if its closed forms can say what its mean is: not so where bounds are too close, or values too far apart, for
/// floating point.
fn with_a_mean(distribution: Distribution) -> Result<Distribution, String> {
    let mean = distribution.mean();
    // Rounding may carry the mean of nearly equal values past the greatest.
    if mean.is_finite() && mean <= distribution.max() * (1.0 + 1e-6) {
        return Ok(distribution);
    }
    Err("the mean of this distribution cannot be computed: its values are too far apart, or its bounds too close"
        .to_owned())
}

/// The shapes that Pareto's distribution may have: below, its closed forms lose their digits; above, it is a constant.
const SHAPES: core::ops::RangeInclusive<f64> = 0.01..=100.0;

/// A distribution that is no mixture.
fn simple(word: &str, inner: &str, measure: Measure) -> Result<Distribution, String> {
    let all = parts(inner)?;
    let known: &[&str] = match word {
        "constant" => {
            let [value] = all[..] else { return Err("constant takes one value".to_owned()) };
            return Ok(Distribution::Constant(value_of(value, measure)?));
        }
        "table" => return table(&all, measure),
        "exponential" => &["mean"],
        "lognormal" => &["median", "sigma", "low", "high"],
        "bounded_pareto" => &["shape", "low", "high"],
        _ => {
            return Err(format!(
                "no such distribution: {word:?}; one of constant, exponential, lognormal, bounded_pareto, table, mixture"
            ));
        }
    };
    let mut given: [Option<f64>; 4] = [None; 4];
    for part in all {
        let (name, text) = part.split_once('=').map_or((part, ""), |(name, text)| (name.trim(), text.trim()));
        let Some(at) = known.iter().position(|known| *known == name) else {
            return Err(format!("{word} takes {}, each as name = value, not {part:?}", known.join(", ")));
        };
        let value = if matches!(name, "sigma" | "shape") { number(text)? } else { value_of(text, measure)? };
        if given[at].replace(value).is_some() {
            return Err(format!("{word}: {name} is given twice"));
        }
    }
    let needed = |name: &str| {
        let value = known.iter().position(|known| *known == name).and_then(|at| given[at]);
        value.filter(|value| *value > 0.0).ok_or_else(|| format!("{word} needs {name}, above zero"))
    };
    let bound = |name: &str, absent: f64| {
        known.iter().position(|known| *known == name).and_then(|at| given[at]).unwrap_or(absent)
    };
    match word {
        "exponential" => Ok(Distribution::Exponential(needed("mean")?)),
        "lognormal" => {
            let (median, sigma) = (needed("median")?, needed("sigma")?);
            let (low, high) = (bound("low", 0.0), bound("high", f64::INFINITY));
            let share = phi(log(high / median) / sigma) - phi(log(low / median) / sigma);
            if !(low < high && share >= LEAST_SHARE) {
                return Err("lognormal: low < high, and at least 1 % of the values must lie between them".to_owned());
            }
            Ok(Distribution::LogNormal { median, sigma, low, high })
        }
        _ => {
            let (shape, low, high) = (needed("shape")?, needed("low")?, needed("high")?);
            if low >= high {
                return Err("bounded_pareto: low < high".to_owned());
            }
            if !SHAPES.contains(&shape) {
                let (min, max) = (SHAPES.start(), SHAPES.end());
                return Err(format!("bounded_pareto: shape must be from {min} to {max}, not {shape}"));
            }
            Ok(Distribution::BoundedPareto { shape, low, high })
        }
    }
}

fn table(all: &[&str], measure: Measure) -> Result<Distribution, String> {
    let row = |part: &&str| {
        let (value, p) = pair(part)?;
        Ok((value_of(value, measure)?, probability(p)?))
    };
    let rows = all.iter().map(row).collect::<Result<Vec<(f64, f64)>, String>>()?;
    if !rows.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1) {
        return Err("the values of a table must ascend, and their probabilities must not fall".to_owned());
    }
    if rows.last().is_none_or(|(_, p)| *p != 1.0) {
        return Err("the last probability of a table must be 1".to_owned());
    }
    Ok(Distribution::Table(rows.into()))
}

/// `word(inner)` taken apart.
fn call(text: &str) -> Result<(&str, &str), String> {
    let text = text.trim();
    let inner = text.split_once('(').and_then(|(word, rest)| Some((word.trim(), rest.strip_suffix(')')?)));
    inner.ok_or_else(|| {
        format!("must be a distribution with its values, such as \"exponential(mean = …)\", not {text:?}")
    })
}

/// The parts between commas outside of parentheses.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut depth, mut start, mut all) = (0u32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(|| "a \")\" too many".to_owned())?,
            ',' if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("a \")\" is missing".to_owned());
    }
    all.push(text[start..].trim());
    if all.len() > MAX_PARTS {
        return Err(format!("must have at most {MAX_PARTS} parts"));
    }
    Ok(all)
}

/// `a: b` taken apart.
fn pair(part: &str) -> Result<(&str, &str), String> {
    let both = part.split_once(':').map(|(a, b)| (a.trim(), b.trim()));
    both.ok_or_else(|| format!("must be two things with a colon between them, not {part:?}"))
}

fn number(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|x| x.is_finite() && (0.0..=1e15).contains(x));
    value.ok_or_else(|| format!("{text:?} must be a number from 0 on"))
}

fn probability(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|p| *p <= 1.0).ok_or_else(|| format!("{text:?} must be a probability, from 0 to 1"))
}

fn value_of(text: &str, measure: Measure) -> Result<f64, String> {
    match measure {
        Measure::Count => number(text),
        Measure::Seconds => quantity::span(text).map(|span| span.as_secs()).map_err(|rule| format!("{text:?} {rule}")),
        Measure::Bytes => match quantity::size(text) {
            Ok(Size::Bytes(bytes)) => Ok(bytes as f64),
            _ => Err(format!("{text:?} must be a size in bytes with its unit, such as \"64 kB\"")),
        },
    }
}

#[cfg(test)]
mod tests;
