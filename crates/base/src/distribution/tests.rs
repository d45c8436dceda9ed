//! Draws and moments against closed forms; what is refused.

use super::*;

const DISTRIBUTIONS: &[&str] = &[
    "constant(3)",
    "exponential(mean = 4)",
    "lognormal(median = 5, sigma = 0.5)",
    "lognormal(median = 5, sigma = 1, low = 1, high = 12)",
    "bounded_pareto(shape = 1.15, low = 1, high = 1000)",
    "bounded_pareto(shape = 1, low = 2, high = 50)",
    "table(1: 0, 2: 0.5, 2.5: 0.5, 10: 1)",
    "table(4: 0.25, 6: 1)",
    "mixture(0.25: constant(3), 0.75: exponential(mean = 2))",
];

/// Draws against closed forms: shares and parts of the mean, within four and a half standard errors.
#[test]
fn what_is_drawn_follows_what_is_written() {
    for text in DISTRIBUTIONS {
        let distribution = Distribution::parse(text, Measure::Count).unwrap();
        let (mut rng, n) = (Stream::new(1, text), 200_000);
        let values: Vec<f64> = (0..n).map(|_| distribution.draw(&mut rng)).collect();
        for x in [0.5, 1.5, 2.2, 3.0, 5.0, 9.0, 30.0, f64::INFINITY] {
            let below = values.iter().filter(|value| **value <= x).count() as f64 / f64::from(n);
            let p = distribution.cdf(x);
            let error = 4.5 * sqrt(p * (1.0 - p) / f64::from(n)) + 1e-12;
            assert!((below - p).abs() <= error, "{text}: P(≤ {x}) = {below}, not {p}");
            let capped: Vec<f64> = values.iter().map(|v| if *v <= x { *v } else { 0.0 }).collect();
            let mean = capped.iter().sum::<f64>() / f64::from(n);
            let variance = capped.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / f64::from(n);
            let error = 4.5 * sqrt(variance / f64::from(n)) + 1e-9;
            assert!(
                (mean - distribution.partial_mean(x)).abs() <= error,
                "{text}: E(≤ {x}) = {mean}, not {}",
                distribution.partial_mean(x)
            );
        }
        assert!((distribution.cdf(distribution.max()) - 1.0).abs() < 1e-12 && distribution.cdf(-1.0) == 0.0);
    }
}

/// The mean residual time is E[X²]/(2 E[X]), and an exponential time has no memory.
#[test]
fn residual_times_are_those_of_a_random_moment() {
    for (text, mean) in [
        ("constant(3)", 1.5),
        ("exponential(mean = 4)", 4.0),
        ("table(0: 0, 6: 1)", 2.0),
        ("lognormal(median = 2, sigma = 0.5)", exp(1.5 * 0.25)),
        ("mixture(0.5: constant(1), 0.5: constant(3))", 10.0 / 8.0),
    ] {
        let distribution = Distribution::parse(text, Measure::Count).unwrap();
        let (mut rng, n) = (Stream::new(1, text), 40_000);
        let values: Vec<f64> = (0..n).map(|_| distribution.residual(&mut rng)).collect();
        let found = values.iter().sum::<f64>() / f64::from(n);
        let squares = values.iter().map(|v| (v - found) * (v - found)).sum::<f64>() / f64::from(n);
        assert!((found - mean).abs() < 4.5 * sqrt(squares / f64::from(n)), "{text}: {found}, not {mean}");
    }
}

/// By hand: 1 − 1/e below its mean; the median; (1 − 1/2)/(1 − 1/25) of Pareto's distribution below twice the least.
#[test]
fn closed_forms_by_hand() {
    let distribution = |text| Distribution::parse(text, Measure::Count).unwrap();
    assert!((distribution(DISTRIBUTIONS[1]).cdf(4.0) - (1.0 - exp(-1.0))).abs() < 1e-15);
    assert!((distribution(DISTRIBUTIONS[2]).cdf(5.0) - 0.5).abs() < 1e-15);
    assert!((distribution(DISTRIBUTIONS[2]).mean() - 5.0 * exp(0.125)).abs() < 1e-14);
    assert!((distribution(DISTRIBUTIONS[5]).cdf(4.0) - 0.5 / 0.96).abs() < 1e-15);
    assert!((distribution(DISTRIBUTIONS[5]).mean() - 2.0 / 0.96 * log(25.0)).abs() < 1e-14);
    // Half of it 1.5 on average, half of it 6.25.
    assert!((distribution(DISTRIBUTIONS[6]).mean() - 3.875).abs() < 1e-15);
}

/// At the ends of the shapes, against the mean of the values that the distribution has at evenly spaced probabilities.
#[test]
fn point_9_shapes_have_the_means_of_their_values() {
    for shape in [0.01, 1.0 - 1e-9, 1.0, 2.0, 100.0] {
        let distribution =
            Distribution::parse(&format!("bounded_pareto(shape = {shape}, low = 2, high = 50)"), Measure::Count);
        let (distribution, n) = (distribution.unwrap(), 30_000);
        // Halved until the probability is met: `draw` is not what is tested.
        let value = |p: f64| {
            let (mut low, mut high) = (2.0, 50.0);
            for _ in 0..50 {
                let middle = (low + high) / 2.0;
                if distribution.cdf(middle) < p { low = middle } else { high = middle }
            }
            low
        };
        let mean = (0..n).map(|at| value((f64::from(at) + 0.5) / f64::from(n))).sum::<f64>() / f64::from(n);
        assert!((distribution.mean() / mean - 1.0).abs() < 1e-6, "shape {shape}: {} and {mean}", distribution.mean());
    }
}

#[test]
fn units_belong_to_what_is_measured() {
    let sizes = Distribution::parse("constant(2 kB)", Measure::Bytes);
    assert_eq!(sizes, Ok(Distribution::Constant(2000.0)));
    assert_eq!(Distribution::parse(" constant( 20 ms ) ", Measure::Seconds), Ok(Distribution::Constant(0.02)));
    for (text, measure) in
        [("constant(2)", Measure::Bytes), ("constant(2)", Measure::Seconds), ("constant(2 s)", Measure::Count)]
    {
        assert!(Distribution::parse(text, measure).is_err(), "{text}");
    }
}

#[test]
fn a_distribution_that_makes_no_sense_is_refused_with_its_rule() {
    let cases = [
        ("", "must be a distribution"),
        ("poisson(mean = 3)", "no such distribution"),
        ("exponential(3)", "name = value"),
        ("exponential(mean = 0)", "above zero"),
        ("exponential(mean = 1, mean = 2)", "twice"),
        ("exponential(mean = nan)", "number"),
        ("lognormal(median = 3)", "needs sigma"),
        ("lognormal(median = 3, sigma = 1, low = 4, high = 4)", "low < high"),
        ("lognormal(median = 3, sigma = 0.1, low = 100)", "1 %"),
        ("bounded_pareto(shape = 1, low = 5, high = 2)", "low < high"),
        ("bounded_pareto(shape = 1e-18, low = 1, high = 2)", "shape must be from 0.01 to 100"),
        ("bounded_pareto(shape = 101, low = 1, high = 2)", "shape must be from 0.01 to 100"),
        ("bounded_pareto(shape = 0.01, low = 1, high = 1.0000000000000002)", "mean of this distribution"),
        ("lognormal(median = 3, sigma = 40)", "mean of this distribution"),
        ("mixture(0.5: constant(1), 0.5: lognormal(median = 3, sigma = 40))", "mean of this distribution"),
        ("table(1: 0, 2: 0.5)", "must be 1"),
        ("table(2: 0, 1: 1)", "ascend"),
        ("table(1: 2)", "probability"),
        ("mixture(0.5: constant(1))", "add up to 1"),
        ("mixture(1: mixture(1: constant(1)))", "no mixtures"),
        ("mixture(1: constant(1)", "missing"),
        ("constant(1, 2)", "one value"),
    ];
    for (text, rule) in cases {
        let error = Distribution::parse(text, Measure::Count).unwrap_err();
        assert!(error.contains(rule), "{text}: {error}");
    }
}
