//! Prints everything declared, as JSON, for `tools/generate.py`.

fn main() {
    println!("{:#}", sluicegate_lab::declarations::declarations());
}
