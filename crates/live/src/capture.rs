//! What links send and drop, as pcapng: a packet that was dropped or lost has a comment that says so.

use crate::emulator::{Frame, Observer};
use sluicegate_base::Time;
use sluicegate_lab::replay::writer::Writer;
use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

type Out = Arc<Mutex<Option<Result<Writer<BufWriter<File>>, io::Error>>>>;

/// A file that is being written.
pub struct Capture(Out);

impl Capture {
    /// Begins a file.
    pub fn create(path: &str) -> io::Result<Capture> {
        let writer = Writer::new(BufWriter::new(File::create(path)?))?;
        Ok(Capture(Arc::new(Mutex::new(Some(Ok(writer))))))
    }

    /// Who writes down what it sees, packets of this kind of link; the time is counted from now.
    #[must_use]
    pub fn observer(&self, link_type: u16) -> Observer {
        let (out, begun) = (self.0.clone(), SystemTime::now());
        let since_1970 = begun.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        Box::new(move |time: Time, link: &str, frame: &Frame, why: Option<&'static str>| {
            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(Ok(writer)) = out.as_mut() else { return };
            let comment = why.map(|why| format!("dropped: {why}"));
            let (length, data) = (frame.data.len() as u32, &frame.data);
            let written = writer.packet_at(link, link_type, since_1970 + time.0, length, data, comment.as_deref());
            if let Err(error) = written {
                *out = Some(Err(error));
            }
        })
    }

    /// Ends the file.
    pub fn finish(self) -> io::Result<()> {
        let out = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        out.map_or(Ok(()), |writer| writer?.finish().map(drop))
    }
}
