//! A stream that may keep its reader waiting, such as a pipe, read on a thread of its own: a reader that waits gets
//! [`ErrorKind::Interrupted`] now and then, and can look for signals. A signal does not always interrupt the read itself:
//! a handler that some other library has installed may restart it.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How much is read at once; two such pieces may wait.
const PIECE: usize = 1 << 18;

/// A stream whose reads give up after a while, with [`ErrorKind::Interrupted`].
pub struct Piped {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
    patience: Duration,
}

impl Piped {
    /// Reads `reader` on a thread of its own, which ends with the stream, or when nobody listens any more.
    pub fn new(mut reader: impl Read + Send + 'static, patience: Duration) -> Piped {
        let (sender, pieces) = sync_channel(2);
        std::thread::spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                let read = match reader.read(&mut piece) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Ok(count) => {
                        piece.truncate(count);
                        Ok(piece)
                    }
                    Err(error) => Err(error),
                };
                let over = !matches!(&read, Ok(piece) if !piece.is_empty());
                if sender.send(read).is_err() || over {
                    return;
                }
            }
        });
        Piped { pieces, piece: Vec::new(), at: 0, patience }
    }
}

impl Read for Piped {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            let piece = match self.pieces.recv_timeout(self.patience) {
                Ok(piece) => piece?,
                Err(RecvTimeoutError::Timeout) => return Err(ErrorKind::Interrupted.into()),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            };
            (self.piece, self.at) = (piece, 0);
        }
        let count = into.len().min(self.piece.len() - self.at);
        into[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    /// Gives what it is sent.
    struct Slow(Receiver<&'static [u8]>);

    impl Read for Slow {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Ok(bytes) = self.0.recv() else { return Ok(0) };
            into[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn whoever_waits_is_told() {
        let (sender, receiver): (Sender<&'static [u8]>, _) = channel();
        let mut piped = Piped::new(Slow(receiver), Duration::from_millis(20));
        let mut into = [0; 3];
        assert_eq!(piped.read(&mut into).unwrap_err().kind(), ErrorKind::Interrupted);
        sender.send(b"abcd").unwrap();
        let mut next = |piped: &mut Piped| loop {
            match piped.read(&mut into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break into[..read.unwrap()].to_vec(),
            }
        };
        assert_eq!([next(&mut piped), next(&mut piped)], [b"abc".to_vec(), b"d".to_vec()]);
        assert_eq!(piped.read(&mut [0; 3]).unwrap_err().kind(), ErrorKind::Interrupted);
        sender.send(b"ef").unwrap();
        assert_eq!(next(&mut piped), b"ef");
        drop(sender);
        assert_eq!([next(&mut piped), next(&mut piped)], [b"", b""]);
    }
}
