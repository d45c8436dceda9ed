//! State that most connections never need.

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};

/// What a value is before anything is written to it.
pub(super) trait Initial: Sized + 'static {
    const INITIAL: &'static Self;
}

/// A value in memory of its own, which it has from the first time on that it is written to.
#[derive(Clone, Debug)]
pub(super) struct Lazy<T>(Option<Box<T>>);

impl<T> Default for Lazy<T> {
    fn default() -> Lazy<T> {
        Lazy(None)
    }
}

impl<T: Initial> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::INITIAL)
    }
}

impl<T: Initial + Clone> DerefMut for Lazy<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(T::INITIAL.clone()))
    }
}
