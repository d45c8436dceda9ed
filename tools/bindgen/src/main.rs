//! `bindgen MODULE.wasm FOLDER`: the module for browsers, and the JavaScript that calls it.

use std::env;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else { anyhow::bail!("usage: bindgen MODULE.wasm FOLDER") };
    Bindgen::new().input_path(module).web(true)?.omit_default_module_path(true).typescript(true).generate(folder)
}
