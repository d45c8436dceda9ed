#![no_main]

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    sluicegate_fuzz::lines::mutate(data, size, max_size, seed, false)
});
libfuzzer_sys::fuzz_target!(|data: &[u8]| sluicegate_fuzz::targets::scenario(data));
