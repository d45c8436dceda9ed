//! The name that a client asks for as it opens TLS (server name indication, RFC 6066), as far as the first segment has it.

/// Bytes that are read from the front; nothing where they end.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)))
    }

    /// Skips a field that begins with its length, a number of so many bytes.
    fn skip(&mut self, bytes: usize) -> Option<()> {
        let count = self.number(bytes)?;
        self.take(count).map(|_| ())
    }
}

/// The longest name that DNS knows.
const LONGEST: usize = 253;

/// The name in a segment that begins with a ClientHello. None where there is none, or it was not captured; never fails.
#[must_use]
pub fn server_name(segment: &[u8]) -> Option<String> {
    // A record of handshakes, whose first is a ClientHello.
    let (head, rest) = segment.split_at_checked(6)?;
    let &[22, 3, _, _, _, 1] = head else {
        return None;
    };
    let mut hello = Bytes(rest);
    hello.take(3 + 2 + 32)?; // its length, the version, the random number
    hello.skip(1)?; // the session
    hello.skip(2)?; // ciphers
    hello.skip(1)?; // compression
    hello.number(2)?; // the length of all extensions, which may go on in the next segment
    loop {
        let (kind, length) = (hello.number(2)?, hello.number(2)?);
        if kind != 0 {
            hello.take(length)?;
            continue;
        }
        hello.number(2)?; // the length of the list, of which a client sends one name
        if hello.number(1)? != 0 {
            return None;
        }
        let length = hello.number(2).filter(|length| (1..=LONGEST).contains(length))?;
        let name = hello.take(length)?;
        let host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        return name.iter().all(host).then(|| String::from_utf8_lossy(name).to_ascii_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use super::server_name;

    /// A ClientHello with this name behind another extension.
    fn hello(name: &str) -> Vec<u8> {
        let mut list = vec![0, 0, name.len() as u8];
        list.extend(name.bytes());
        let mut extensions = vec![0, 43, 0, 3, 2, 3, 4, 0, 0, 0, (list.len() + 2) as u8, 0, list.len() as u8];
        extensions.extend(list);
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 0x01, 1, 0, 0, extensions.len() as u8]);
        body.extend(extensions);
        let mut record = vec![22, 3, 1, 0, (body.len() + 4) as u8, 1, 0, 0, body.len() as u8];
        record.extend(body);
        record
    }

    #[test]
    fn the_name_is_read_and_nothing_else_is_one() {
        let whole = hello("Video.Example.org");
        assert_eq!(server_name(&whole).as_deref(), Some("video.example.org"));
        for end in 0..whole.len() {
            assert_eq!(server_name(&whole[..end]), None); // the name stands at the end
        }
        assert_eq!(server_name(&hello("two words")), None);
        assert_eq!(server_name(&hello("")), None);
        assert_eq!(server_name(b"GET / HTTP/1.1\r\n"), None);
    }
}
