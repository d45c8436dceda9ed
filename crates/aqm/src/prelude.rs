//! What a discipline is written with: packets, the context, drop reasons, the trait, buffers and parameters.

pub use crate::configure::Configure;
pub use crate::discipline::{Ctx, Discipline, DropReason, FlowKey, Packet};
pub use crate::fifo::{Buffer, Fifo, Limit};
pub(crate) use crate::registry::discipline;
pub use sluicegate_base::{Range, Rate, Size, Span, Stream, Time, choices};
