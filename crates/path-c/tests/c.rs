//! The header, and a program in C that uses it.
#![cfg(unix)]

use sluicegate_path::{Event, Packet};
use std::collections::BTreeSet;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADER: &str = include_str!("../include/sluicegate_path.h");

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The static library beside this test program: the newest, where others were built before.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap());
    let libraries = files.filter(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        name.starts_with("libsluicegate_path") && name.ends_with(".a")
    });
    libraries.max_by_key(|file| file.metadata().unwrap().modified().unwrap()).expect("cargo builds it").path()
}

/// Compiles a program in C, with all warnings as errors, and gives what it prints.
fn run(source: &Path, name: &str) -> String {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(here().join("include")).arg(source);
    cc.arg(library()).arg("-o").arg(&program).args(["-lpthread", "-ldl", "-lm"]);
    let done = cc.output().expect("a C compiler is there: cc");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = Command::new(&program).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_manual_shows_the_example_and_what_it_prints() {
    let page = include_str!("../../../docs/path.md");
    let source = include_str!("../examples/transport.c");
    let block = |language: &str, number: usize| {
        let block = page.split(&format!("```{language}\n")).nth(number).expect("the page has such a block");
        block.split("```").next().unwrap()
    };
    assert_eq!(block("c", 1), source);
    let printed = run(&here().join("examples/transport.c"), "transport");
    assert!(page.contains(&format!("```text\n{printed}```")), "it prints:\n{printed}");
}

#[test]
fn the_header_declares_what_there_is() {
    let names = |text: &str, before: &str| -> BTreeSet<String> {
        let words = text.split(before).skip(1).map(|rest| rest.split('(').next().unwrap().to_owned());
        words.collect()
    };
    let exported = names(include_str!("../src/lib.rs"), "extern \"C\" fn ");
    let declared: BTreeSet<String> = HEADER
        .lines()
        .filter(|line| line.ends_with(");") && !line.starts_with(' '))
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next().map(str::to_owned))
        .collect();
    assert_eq!(exported, declared);
    assert!(exported.len() > 5);
}

/// The layout of what crosses the border, and what a caller does wrong.
#[test]
fn structs_are_the_same_on_both_sides_and_mistakes_are_told() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("layout.c");
    let program = r#"
#include "sluicegate_path.h"
#include <stdio.h>
#include <string.h>
int main(void) {
    printf("%zu %zu %zu %zu %zu\n", sizeof(sluicegate_packet), offsetof(sluicegate_packet, user),
        offsetof(sluicegate_packet, flow), offsetof(sluicegate_packet, bytes), offsetof(sluicegate_packet, ecn));
    printf("%zu %zu %zu %zu %zu %zu %zu\n", sizeof(sluicegate_event), offsetof(sluicegate_event, time),
        offsetof(sluicegate_event, packet), offsetof(sluicegate_event, what), offsetof(sluicegate_event, marked),
        offsetof(sluicegate_event, hop), offsetof(sluicegate_event, reason));
    char error[200];
    const char *wrong[] = {NULL, "network = {}", "network = { rate = \"1 Mbit/s\", dorp = \"5\" }", "x"};
    for (size_t at = 0; at < 4; at++)
        printf("%d %s\n", sluicegate_path_new(wrong[at], false, 1, error, sizeof error) == NULL, error);
    sluicegate_path_new("x", false, 1, NULL, 0);
    sluicegate_path_new("network = {}", false, 1, error, 5);
    printf("%s\n", error);
    sluicegate_event event;
    printf("%d %d\n", sluicegate_path_advance(NULL, 1, &event), sluicegate_path_next_deadline(NULL) == SLUICEGATE_NEVER);
    sluicegate_path_send(NULL, NULL, 1);
    sluicegate_path_free(NULL);
    sluicegate_path *back = sluicegate_path_new(
        "network = { rate = \"8 Mbit/s\", delay = \"0 ms\", drop = \"1\", reverse = { rate = \"4 Mbit/s\" } }", true, 1, error, 200);
    sluicegate_packet packet = {.user = &event, .flow = 1, .bytes = 1000};
    sluicegate_path_send(back, &packet, 0);
    sluicegate_path_send(back, NULL, 0);
    printf("%d %d\n", (int)sluicegate_path_inside(back), sluicegate_path_advance(back, 2000000, NULL));
    while (sluicegate_path_advance(back, 2000000, &event))
        printf("%d %d %d\n", (int)(event.time / 1000), event.packet.user == (void *)&event, event.reason == NULL);
    sluicegate_path_free(back);
    return 0;
}
"#;
    std::fs::write(&source, program).unwrap();
    let printed = run(&source, "layout");
    let lines: Vec<&str> = printed.lines().collect();
    let packet = [
        size_of::<Packet>(),
        offset_of!(Packet, user),
        offset_of!(Packet, flow),
        offset_of!(Packet, bytes),
        offset_of!(Packet, ecn),
    ];
    let event = [
        size_of::<Event>(),
        offset_of!(Event, time),
        offset_of!(Event, packet),
        offset_of!(Event, what),
        offset_of!(Event, marked),
        offset_of!(Event, hop),
        offset_of!(Event, reason),
    ];
    let words = |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(lines[..2], [words(&packet), words(&event)]);
    assert_eq!(lines[2], "1 scenario: must not be NULL");
    assert!(lines[3].starts_with("1 scenario:") && lines[3].ends_with("network.rate: must be given"), "{}", lines[3]);
    assert!(lines[4].contains("network.dorp") && lines[4].contains("drop"), "{}", lines[4]);
    assert!(lines[5].starts_with("1 scenario:1"), "{}", lines[5]);
    assert_eq!(lines[6..], ["scen", "0 1", "1 0", "2000 1 1"]);
}
