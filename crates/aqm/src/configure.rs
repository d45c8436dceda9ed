//! Parameters changed while a queue is in use: one mechanism for all disciplines of the registry.

use crate::discipline::{Ctx, Discipline, FlowKey};
use crate::fifo::Buffer;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use sluicegate_base::params::{DefaultValue, Given, Problem, Raw, changed};
use sluicegate_base::{Declared, Field, Link, Params, Time};

/// A discipline whose parameters may change while it is in use.
pub trait Configure<P>: Discipline<P> + Declared {
    /// Applies new parameters; fields that are [`fixed`](Field::fixed) have not changed. What a smaller limit leaves no room for
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
    let mut derived = Vec::new();
    let mut at_default = |at: usize| {
        let value = given(at);
        let follows = |default| matches!(default, DefaultValue::Derived(..));
        if value.is_none() && !fields::<D>()[at].fixed && follows(fields::<D>()[at].default) {
            derived.push(at);
        }
        value
    };
    let params = D::Params::build(&mut at_default, link)?;
    Ok(Box::new(Configured { discipline: new(params.clone()), params, derived }))
}

fn fields<D: Declared>() -> &'static [Field] {
    D::Params::FIELDS
}

/// A discipline with the parameters that it has at present.
struct Configured<D: Declared> {
    discipline: D,
    params: D::Params,
    /// Fields that follow the link: derived from it, and not given.
    derived: Vec<usize>,
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
        let (at, params) = changed(&self.params, name, value)?;
        self.params = params.clone();
        self.derived.retain(|follows| *follows != at);
        self.discipline.configure(params, ctx);
        Ok(())
    }

    fn link_changed(&mut self, link: &Link, ctx: &mut Ctx<'_, P>) {
        self.discipline.link_changed(link, ctx);
        let mut values = self.params.values();
        self.derived.iter().for_each(|&at| values[at] = fields::<D>()[at].default_for(link));
        if values == self.params.values() {
            return;
        }
        // Where the values derived from the link break a rule with those that were given, they stay as they are.
        if let Ok(params) = D::Params::from_values(&mut |at| values[at].clone()) {
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
