//! Parameters changed while a queue is in use: one mechanism for all disciplines of the registry.

use crate::discipline::{Ctx, Discipline, FlowKey};
use crate::fifo::Buffer;
use alloc::boxed::Box;
use alloc::string::String;
use sluicegate_base::params::{Given, Indices, Problem, Raw};
use sluicegate_base::{Declared, Link, Params, Time};

/// A discipline whose parameters may change while it is in use.
pub trait Configure<P>: Discipline<P> + Declared {
    /// Applies new parameters; fields that are [`fixed`](sluicegate_base::Field::fixed) have not changed. What a smaller limit leaves no room for
    /// is dropped with the reason `reconfigured`.
    fn configure(&mut self, params: Self::Params, ctx: &mut Ctx<'_, P>);
}

/// A discipline that has been built, or why it could not be.
pub type Built<P> = Result<Box<dyn Discipline<P>>, Problem>;

/// Builds a discipline from given values; the rest are its defaults for the link.
pub(crate) fn build<P: 'static, D: Configure<P> + 'static>(
    given: Given<'_>,
    link: &Link,
    new: impl FnOnce(D::Params) -> D,
) -> Built<P> {
    let (params, following) = D::Params::build_following(given, link)?;
    Ok(Box::new(Configured { discipline: new(params.clone()), params, following }))
}

/// A field that has been given follows the link no more. Not generic, so that it is compiled once.
fn follows_no_more(following: &mut Indices, at: usize) {
    following.retain(|&follows| follows != at);
}

/// A discipline with the parameters that it has at present.
struct Configured<D: Declared> {
    discipline: D,
    params: D::Params,
    /// The fields that follow the link.
    following: Indices,
}

impl<P, D: Configure<P>> Discipline<P> for Configured<D> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.discipline.enqueue(packet, ctx);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.discipline.dequeue(ctx)
    }

    fn dequeue_in_class(&mut self, elsewhere: u64, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.discipline.dequeue_in_class(elsewhere, ctx)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self.discipline.buffer()
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.discipline.next_wakeup()
    }

    fn wakes(&self) -> bool {
        self.discipline.wakes()
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        self.discipline.wake(ctx);
    }

    fn set(&mut self, name: &str, value: &Raw, ctx: &mut Ctx<'_, P>) -> Result<(), String> {
        if name.contains('.') {
            return self.discipline.set(name, value, ctx); // of a class, if it holds classes
        }
        let (at, params) = self.params.changed(name, value)?;
        self.params = params.clone();
        follows_no_more(&mut self.following, at);
        self.discipline.configure(params, ctx);
        Ok(())
    }

    fn link_changed(&mut self, link: &Link, ctx: &mut Ctx<'_, P>) {
        self.discipline.link_changed(link, ctx);
        // Where the values derived from the link break a rule with those that were given, they stay as they are.
        if let Some(params) = self.params.followed(&self.following, link) {
            self.params = params.clone();
            self.discipline.configure(params, ctx);
        }
    }

    fn average(&self) -> Option<f64> {
        self.discipline.average()
    }

    fn compared(&self, visit: &mut dyn FnMut(&P)) {
        self.discipline.compared(visit);
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        self.discipline.state(visit);
    }
}
