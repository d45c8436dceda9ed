//! An object with its parameters and its name written into it: no compiler and no loader of our own is needed where it is deployed.

/// The objects of the package, by the names of their disciplines (`make bpf` writes them).
const OBJECTS: [(&str, &[u8]); 8] = [
    ("afd", include_bytes!("../objects/afd.o")),
    ("blue", include_bytes!("../objects/blue.o")),
    ("choke", include_bytes!("../objects/choke.o")),
    ("dcn", include_bytes!("../objects/dcn.o")),
    ("pi", include_bytes!("../objects/pi.o")),
    ("red", include_bytes!("../objects/red.o")),
    ("rem", include_bytes!("../objects/rem.o")),
    ("sred", include_bytes!("../objects/sred.o")),
];

/// Where the kernel keeps the name of a queue discipline: 16 bytes, the last one zero.
const MAX_ID: usize = 15;

/// The disciplines that there is an object for.
#[must_use]
pub fn names() -> [&'static str; 8] {
    OBJECTS.map(|(name, _)| name)
}

/// The object of a discipline, with these parameters ([`lay_out`](crate::lay_out)) and this name in `tc`.
///
/// # Errors
///
/// When there is no such object, when the name does not fit, and when the parameters are not of this discipline.
pub fn object(name: &str, id: &str, parameters: &[u8]) -> Result<Vec<u8>, String> {
    let (_, bytes) =
        OBJECTS.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("{name}: there is no object"))?;
    if id.is_empty() || id.len() > MAX_ID || !id.is_ascii() {
        return Err(format!("{id:?}: a queue's name has 1 to {MAX_ID} letters"));
    }
    let mut whole = bytes.to_vec();
    let file = File(bytes);
    let (at, size) = file.symbol("wanted").ok_or("an object without parameters")?;
    if size != parameters.len() {
        return Err(format!("{name}: parameters of {} bytes, the object has {size}", parameters.len()));
    }
    whole[at..at + size].copy_from_slice(parameters);
    let (at, _) = file.symbol("sluicegate").ok_or("an object without a queue")?;
    whole[at..at + MAX_ID + 1].fill(0);
    whole[at..at + id.len()].copy_from_slice(id.as_bytes());
    Ok(whole)
}

/// A relocatable ELF file of 64 bits, little-endian.
struct File<'a>(&'a [u8]);

impl File<'_> {
    fn number(&self, at: usize, bytes: usize) -> Option<usize> {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(self.0.get(at..at + bytes)?);
        u64::from_le_bytes(word).try_into().ok()
    }

    /// Where in the file a section's header says that it begins, how long it is, and the section that it is linked to.
    fn section(&self, at: usize) -> Option<(usize, usize, usize)> {
        let header = self.number(0x28, 8)? + 64 * at;
        Some((self.number(header + 24, 8)?, self.number(header + 32, 8)?, self.number(header + 40, 4)?))
    }

    /// Where in the file the variable of this name is, and how long it is.
    fn symbol(&self, name: &str) -> Option<(usize, usize)> {
        const SYMTAB: usize = 2;
        const BYTES: usize = 24;
        let (headers, count) = (self.number(0x28, 8)?, self.number(0x3c, 2)?);
        let table = (0..count).find(|at| self.number(headers + 64 * at + 4, 4) == Some(SYMTAB))?;
        let (begin, size, strings) = self.section(table)?;
        let (strings, ..) = self.section(strings)?;
        (begin..begin + size).step_by(BYTES).find_map(|entry| {
            let text = self.0.get(strings + self.number(entry, 4)?..)?;
            let found = text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0);
            let (section, ..) = self.section(self.number(entry + 6, 2)?).filter(|_| found)?;
            Some((section + self.number(entry + 8, 8)?, self.number(entry + 16, 8)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_name_are_written_where_the_kernel_reads_them() {
        for name in names() {
            let (_, plain) = OBJECTS.iter().find(|(known, _)| *known == name).unwrap();
            let (at, size) = File(plain).symbol("wanted").unwrap();
            let parameters: Vec<u8> = (0..size).map(|k| k as u8 | 1).collect();
            let made = object(name, "sg_eth0", &parameters).unwrap();
            assert_eq!(made.len(), plain.len());
            assert_eq!(made[at..at + size], parameters);
            let (id, _) = File(plain).symbol("sluicegate").unwrap();
            assert_eq!(&made[id..id + 16], b"sg_eth0\0\0\0\0\0\0\0\0\0");
            let others = |bytes: &[u8]| {
                let mut rest = bytes.to_vec();
                rest[at..at + size].fill(0);
                rest[id..id + 16].fill(0);
                rest
            };
            assert_eq!(others(&made), others(plain), "nothing else has changed");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(object("codel", "x", &[]), Err("codel: there is no object".to_owned()));
        assert!(object("red", "sixteen_letters_", &[]).unwrap_err().contains("1 to 15 letters"));
        assert!(object("red", "x", &[0; 3]).unwrap_err().starts_with("red: parameters of 3 bytes, the object has "));
    }
}
