//! The inputs that the fuzzer has kept (`make fuzz`), through the same functions: none crashes, takes a second, or takes
//! more memory than this.

#[path = "shared/peak.rs"]
mod peak;
#[path = "shared/processor.rs"]
mod processor;
#[path = "../../../fuzz/src/targets.rs"]
mod targets;

use peak::peak_and_now;
use processor::processor_time;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most memory that one input may add, in KiB: each capture is read through a window of up to 1 MiB, 64 flows take 28 kB
/// each, 3000 events much less. Measured: 832 KiB.
const MEMORY: u64 = 8 * 1024;

/// What the fuzzer calls with each input.
type Target = fn(&[u8]);

/// Every target by the name of its folder.
const TARGETS: &[(&str, Target)] = &[
    ("scenario", targets::scenario),
    ("overrides", targets::overrides),
    ("pcap", targets::pcap),
    ("pcapng", targets::pcapng),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn files(target: &str) -> Vec<PathBuf> {
    let folder = corpus().join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

// Memory is that of the whole process; the other test needs next to none.
#[test]
fn every_input_of_the_corpus_is_answered_in_bounded_time_and_memory() {
    for &(target, call) in TARGETS {
        let files = files(target);
        assert!(files.len() >= 20, "{target}: only {} inputs", files.len());
        for file in files {
            let data = fs::read(&file).unwrap();
            // A test that fails says which input it was; the fuzzer's process would have ended.
            println!("{}", file.display());
            let before = peak_and_now();
            let begun = processor_time();
            call(&data);
            let taken = processor_time() - begun;
            assert!(taken < Duration::from_secs(1), "{}: {taken:?}", file.display());
            if let (Some((_, before)), Some((peak, _))) = (before, peak_and_now()) {
                assert!(peak < before + MEMORY, "{}: {} KiB", file.display(), peak - before);
            }
        }
    }
}

#[test]
fn the_corpus_is_small_and_every_folder_of_it_has_a_target() {
    let mut bytes = 0;
    for folder in fs::read_dir(corpus()).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|(target, _)| *target == name), "{name}");
        bytes += files(&name).iter().map(|file| file.metadata().unwrap().len()).sum::<u64>();
    }
    assert!(bytes < 300_000, "{bytes} bytes");
}
