//! A capture as a table, as Python reads it.

use crate::replay::{failed, opened};
use crate::{EVENTS, ScenarioError, columns, slice};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sluicegate_lab::replay::table::Table;
use sluicegate_lab::replay::times::OnJump;
use sluicegate_lab::replay::{Failure, Progress};
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A capture that is being read, in batches.
#[pyclass(name = "CaptureTable", frozen)]
pub struct PyCaptureTable {
    path: String,
    table: Mutex<Table<Box<dyn Read + Send>>>,
}

impl PyCaptureTable {
    fn table(&self) -> MutexGuard<'_, Table<Box<dyn Read + Send>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyCaptureTable {
    #[new]
    fn new(py: Python<'_>, path: String, on_jump: &str, flows: usize) -> PyResult<Self> {
        let Some(on_jump) = OnJump::ALL.iter().copied().find(|word| word.word() == on_jump) else {
            return Err(ScenarioError::new_err(format!("on_jump = {on_jump:?}: one of error, skip, shift")));
        };
        let table = Mutex::new(Table::new(opened(py, &path)?, on_jump, flows));
        Ok(PyCaptureTable { path, table })
    }

    /// The columns of the next packets, so many at most; without rows at the end.
    fn next<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyList>> {
        loop {
            let step = || self.table().advance(most, EVENTS as usize);
            let state = slice(py, step, |state| matches!(state, Ok(Progress::Going)))?;
            py.check_signals()?;
            match state {
                Ok(Progress::Done) => {
                    let rows = self.table().take();
                    return columns(py, &rows);
                }
                Ok(_) => {}
                Err(Failure::Unusable(what)) => return Err(ScenarioError::new_err(format!("{}: {what}", self.path))),
                Err(Failure::Write(error)) => return Err(failed(&error, &self.path)),
            }
        }
    }

    /// The columns of the connections so far, without so many that came first, and of the others so many at most.
    #[pyo3(signature = (but = 0, most = usize::MAX))]
    fn flows<'py>(&self, py: Python<'py>, but: usize, most: usize) -> PyResult<Bound<'py, PyList>> {
        let rows = self.table().connections(but, most);
        columns(py, &rows)
    }

    /// Bytes and packets read, where the capture is damaged and how, and whether times are those that were recorded.
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (table, about) = (self.table(), PyDict::new(py));
        let (bytes, packets) = table.progress();
        about.set_item("bytes", bytes)?;
        about.set_item("packets", packets)?;
        about.set_item("damage", table.damage().map(|damage| (damage.offset, damage.what.clone())))?;
        about.set_item("times_kept", table.times_kept())?;
        Ok(about)
    }
}
