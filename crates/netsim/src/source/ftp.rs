//! What a TCP transfer can say of its data.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | ns-2: `Application/FTP` sends without end (`start`) or a number of packets (`produce`) | `size` in packets or bytes; without it there is no end | as ns-2; bytes let the last packet be short, as a file's is |

use sluicegate_base::{About, Declared, Range, Size, params};

params! {
    /// What a TCP transfer can say of its data.
    pub struct FtpParams {
        /// How much data each transfer sends, without headers: full packets, or bytes.
        size: Option<Size> = optional("without end"), unit("packets"), range(Range::from(1.0)),
            source("ns-2, Application/FTP, produce");
    }
}

/// The data of a TCP transfer, as a declared thing.
pub struct Ftp;

impl Declared for Ftp {
    type Params = FtpParams;
    const ABOUT: About = About {
        name: "ftp",
        class: "Ftp",
        title: "Data of a TCP transfer",
        source: "ns-2, Application/FTP",
        tc: "",
        module: include_str!("ftp.rs"),
    };
}

impl FtpParams {
    /// The bytes of data, when a full packet carries `mss` of them; none for a transfer without end.
    #[must_use]
    pub fn bytes(&self, mss: u32) -> Option<u64> {
        self.size.map(|size| match size {
            Size::Packets(n) => n.saturating_mul(u64::from(mss)),
            Size::Bytes(n) => n,
        })
    }
}
