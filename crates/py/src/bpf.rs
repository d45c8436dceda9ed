//! Disciplines as BPF objects.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sluicegate_base::params::Raw;
use sluicegate_base::{Link, Rate};
use sluicegate_bpf::Wire;
use sluicegate_bpf::layout::Number;
use sluicegate_port::{Cells, Framing};

/// The disciplines that there is an object for.
#[pyfunction]
pub fn bpf_names() -> Vec<&'static str> {
    sluicegate_bpf::names().to_vec()
}

/// What a program reads, and the numbers in it: name, bits, binary places.
type LaidOut<'py> = (Bound<'py, PyBytes>, Vec<(String, u64, u32)>);

/// The parameters of a discipline as its program reads them: its values as a resolved scenario has them, the link's rate in bit/s
/// and the length of its packets, and the framing as bytes, least frame and cells.
#[pyfunction]
pub fn bpf_parameters<'py>(
    py: Python<'py>,
    name: &str,
    values: &Bound<'py, PyDict>,
    rate: u64,
    packet: u64,
    framing: (u32, u32, &str),
    generation: u64,
) -> PyResult<LaidOut<'py>> {
    let given = |key: &str| raw(&values.get_item(key).ok().flatten()?);
    let cells = match framing.2 {
        "atm" => Cells::Atm,
        "ptm" => Cells::Ptm,
        _ => Cells::None,
    };
    let wire = Wire { rate: Some(Rate(rate)), framing: Framing { bytes: framing.0, least: framing.1, cells } };
    let layout = sluicegate_bpf::lay_out(name, &given, &Link { rate: Rate(rate), packet }, &wire, generation)
        .map_err(PyValueError::new_err)?;
    let numbers = layout.numbers.into_iter().map(|Number { name, value, places }| (name, value, places)).collect();
    Ok((PyBytes::new(py, &layout.bytes), numbers))
}

/// The object of a discipline with these parameters and this name in tc.
#[pyfunction]
pub fn bpf_object<'py>(py: Python<'py>, name: &str, id: &str, parameters: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    sluicegate_bpf::object(name, id, parameters).map(|bytes| PyBytes::new(py, &bytes)).map_err(PyValueError::new_err)
}

/// A value of a resolved scenario; none where there is none.
fn raw(value: &Bound<'_, PyAny>) -> Option<Raw> {
    // True is an integer in Python, too.
    if let Ok(on) = value.extract::<bool>() {
        Some(Raw::Switch(on))
    } else if let Ok(n) = value.extract::<i64>() {
        Some(Raw::Integer(n))
    } else if let Ok(x) = value.extract::<f64>() {
        Some(Raw::Number(x))
    } else {
        value.extract::<String>().ok().map(Raw::Text)
    }
}
