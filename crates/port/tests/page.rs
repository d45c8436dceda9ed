//! The page of the manual on paths shows the example, and what it prints.

#[path = "../examples/transport.rs"]
#[allow(dead_code)]
mod transport;

#[test]
fn the_manual_shows_the_example_as_it_is() {
    let page = include_str!("../../../docs/path.md");
    let shown: String = page.split("```rust\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    let source = include_str!("../examples/transport.rs");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    assert_eq!(words(&shown), words(source));
    let printed = transport::report().unwrap();
    assert!(page.contains(&format!("```text\n{printed}```")), "it prints:\n{printed}");
}
