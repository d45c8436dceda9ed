//! How long a test takes where the machine has others to serve.

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// For how long this thread has had a processor, as Linux tells; elsewhere the time that has passed, which is no less.
pub fn processor_time() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let begun = BEGUN.get_or_init(Instant::now);
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.as_ref().and_then(|told| told.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| begun.elapsed(), Duration::from_nanos)
}
