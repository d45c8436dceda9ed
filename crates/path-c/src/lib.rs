//! The functions of a [`Path`] that programs in C call: translation only. `include/sluicegate_path.h` says what each function does, and a test
//! compares the two.
//!
//! A panic would be a bug in Sluicegate; at the border to C it ends the process.

use sluicegate_aqm::{DropReason, FlowKey};
use sluicegate_base::{Ecn, Time};
use sluicegate_lab::path_of;
use sluicegate_port::{Path, Reason, What};
use std::ffi::{CStr, c_char};

/// A packet as C has it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The caller's pointer, as a number: nothing here follows it.
    pub user: usize,
    /// The number of its flow.
    pub flow: u64,
    /// Its length.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: u8,
}

/// The code points of the ECN field, by their numbers.
const CODE_POINTS: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced];

impl sluicegate_aqm::Packet for Packet {
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn bytes(&self) -> u64 {
        self.bytes.into()
    }
    fn ecn(&self) -> Ecn {
        CODE_POINTS[usize::from(self.ecn & 3)]
    }
    fn mark(&mut self) -> bool {
        let capable = self.ecn().mark();
        if capable {
            self.ecn = 3;
        }
        capable
    }
}

/// What has become of a packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When.
    pub time: u64,
    /// The packet.
    pub packet: Packet,
    /// Whether it was delivered (0) or dropped (1).
    pub what: u8,
    /// Whether anything has marked it.
    pub marked: bool,
    /// Where it was dropped.
    pub hop: u32,
    /// Why, in a word; null for one that was delivered.
    pub reason: *const c_char,
}

fn word(reason: Reason) -> &'static CStr {
    match reason {
        Reason::Wire => c"lost",
        Reason::Queue(reason) => match reason {
            DropReason::Tail => c"tail",
            DropReason::Early => c"early",
            DropReason::Forced => c"forced",
            DropReason::Match => c"match",
            DropReason::Policed => c"policed",
            DropReason::Reconfigured => c"reconfigured",
        },
    }
}

/// Writes a message and a zero into this memory, as far as it goes.
///
/// # Safety
///
/// `error` is null, or `size` bytes may be written there.
unsafe fn tell(message: &str, error: *mut c_char, size: usize) {
    if error.is_null() || size == 0 {
        return;
    }
    let mut length = message.len().min(size - 1);
    while !message.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: the caller says that `size` bytes may be written there, and `length` is below that. A message that is here has
    // no part in memory that C writes.
    unsafe {
        std::ptr::copy_nonoverlapping(message.as_ptr(), error.cast(), length);
        *error.add(length) = 0;
    }
}

/// See the header.
///
/// # Safety
///
/// `scenario` is null or a text that ends with a zero; `error` is null or has room for `size` bytes.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluicegate_path_new(
    scenario: *const c_char,
    reverse: bool,
    seed: u64,
    error: *mut c_char,
    size: usize,
) -> *mut Path<Packet> {
    // SAFETY: by the contract it is a text that ends with a zero, where it is not null.
    let text = (!scenario.is_null()).then(|| unsafe { CStr::from_ptr(scenario) });
    let text =
        text.ok_or("scenario: must not be NULL").and_then(|text| text.to_str().map_err(|_| "scenario: must be UTF-8"));
    match text.map_err(str::to_owned).and_then(|text| path_of(text, "scenario", reverse, seed).map_err(|error| error.0))
    {
        Ok(path) => Box::into_raw(Box::new(path)),
        Err(message) => {
            // SAFETY: by the contract.
            unsafe { tell(&message, error, size) };
            std::ptr::null_mut()
        }
    }
}

/// See the header.
///
/// # Safety
///
/// `path` is null or comes from [`sluicegate_path_new`], and is not used afterwards.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluicegate_path_free(path: *mut Path<Packet>) {
    if !path.is_null() {
        // SAFETY: by the contract it comes from `Box::into_raw` and is given up only here.
        drop(unsafe { Box::from_raw(path) });
    }
}

/// See the header.
///
/// # Safety
///
/// `path` is null or comes from [`sluicegate_path_new`] and is used by nobody else now; `packet` is null or points to one.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluicegate_path_send(path: *mut Path<Packet>, packet: *const Packet, now: u64) {
    // SAFETY: by the contract both are null or point to what they are said to, and nobody else has the path now.
    if let (Some(path), Some(packet)) = unsafe { (path.as_mut(), packet.as_ref()) } {
        path.send(*packet, Time(now));
    }
}

/// See the header.
///
/// # Safety
///
/// `path` is null or comes from [`sluicegate_path_new`], and nobody changes it now.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluicegate_path_next_deadline(path: *const Path<Packet>) -> u64 {
    // SAFETY: by the contract.
    let path = unsafe { path.as_ref() };
    path.and_then(Path::next_deadline).unwrap_or(Time::NEVER).0
}

/// See the header.
///
/// # Safety
///
/// `path` is null or comes from [`sluicegate_path_new`] and is used by nobody else now; an event may be written to `event`,
/// unless it is null.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluicegate_path_advance(path: *mut Path<Packet>, now: u64, event: *mut Event) -> bool {
    // SAFETY: by the contract.
    let Some(path) = (unsafe { path.as_mut() }) else { return false };
    if event.is_null() {
        return false;
    }
    let Some(happened) = path.poll(Time(now)) else { return false };
    let (what, hop, reason) = match happened.what {
        What::Delivered => (0, 0, std::ptr::null()),
        What::Dropped { hop, reason } => (1, hop as u32, word(reason).as_ptr()),
    };
    let told = Event { time: happened.time.0, packet: happened.packet, what, marked: happened.marked, hop, reason };
    // SAFETY: by the contract an event may be written there; what C has there before is not read.
    unsafe { event.write(told) };
    true
}

/// See the header.
///
/// # Safety
///
/// `path` is null or comes from [`sluicegate_path_new`], and nobody changes it now.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluicegate_path_inside(path: *const Path<Packet>) -> u64 {
    // SAFETY: by the contract.
    unsafe { path.as_ref() }.map_or(0, Path::inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_results() {
        for reason in DropReason::ALL {
            assert_eq!(word(Reason::Queue(*reason)).to_str(), Ok(reason.word()));
        }
        assert_eq!(word(Reason::Wire).to_str(), Ok(Reason::Wire.word()));
    }
}
