//! Frames as they were on the wire: the kernel delivers them without their outer VLAN tag, and from virtual devices
//! without a checksum.

use nix::sys::socket::{ControlMessageOwned, RecvMsg};

/// A virtio header, which precedes each frame on the socket and says what the kernel left undone.
pub const PREFIX: usize = 10;
/// A VLAN tag.
pub const TAG: usize = 4;

/// The VLAN tag that the kernel removed from a frame, from its auxiliary data.
pub fn tag(message: &RecvMsg<'_, '_, ()>) -> Option<[u8; TAG]> {
    let auxiliary = message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::Unknown(control) => Some(control.data_bytes),
        _ => None,
    })?;
    let status = u32::from_ne_bytes(*auxiliary.first_chunk()?);
    let field = |at: usize| auxiliary.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes));
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 { 0x8100 } else { field(18)? };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), field(16)?.to_be_bytes());
    Some([a, b, c, d])
}

/// The frame as it was on the wire, from a virtio header with what the kernel delivered; None for a merged packet.
pub fn restore(slot: &mut [u8], tag: Option<[u8; TAG]>) -> Option<&[u8]> {
    const NEEDS_CHECKSUM: u8 = 1;
    const MACS: usize = 12;
    let (prefix, frame) = slot.split_first_chunk_mut::<PREFIX>()?;
    let [flags, merged, _, _, _, _, start @ .., o1, o2] = *prefix;
    if merged != 0 {
        return None;
    }
    if flags & NEEDS_CHECKSUM != 0 {
        let start = usize::from(u16::from_ne_bytes(start));
        complete_checksum(frame.get_mut(start..)?, usize::from(u16::from_ne_bytes([o1, o2])));
    }
    // The prefix has served its purpose and makes room for the tag.
    let Some(tag) = tag else { return Some(&slot[PREFIX..]) };
    if slot.len() < PREFIX + MACS {
        return None;
    }
    slot.copy_within(PREFIX..PREFIX + MACS, PREFIX - TAG);
    slot[PREFIX - TAG + MACS..PREFIX + MACS].copy_from_slice(&tag);
    Some(&slot[PREFIX - TAG..])
}

/// Does what the sender left to its device, for any protocol with the Internet checksum. The field holds the sum over
/// the pseudo header, so the sum over everything from the transport header on completes it.
fn complete_checksum(segment: &mut [u8], offset: usize) {
    // In the order of the machine: the sum comes out in the same order.
    let words = segment.chunks_exact(4);
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    let word = |bytes: &[u8]| u64::from(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let mut sum = word(&last) + words.map(word).sum::<u64>();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    // UDP sends zero as its equal; zero itself would mean no checksum.
    let checksum = if sum == 0xffff { 0xffff } else { !(sum as u16) };
    if let Some(field) = segment.get_mut(offset..offset + 2) {
        field.copy_from_slice(&checksum.to_ne_bytes());
    }
}
