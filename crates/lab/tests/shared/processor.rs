//! How long a test takes where the machine has others to serve.

use std::fs;
use std::time::Duration;

/// For how long this thread has had a processor; Linux tells.
pub fn processor_time() -> Option<Duration> {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(told.split_whitespace().next()?.parse().ok()?))
}
