// SPDX-License-Identifier: MIT OR GPL-2.0
// PI (Hollot, Misra, Towsley & Gong 2001), in packets: crates/aqm/src/pi.rs.
//
// p is off by what a and b are, 2^-64, for each packet and sample so far.
#include "sluicegate.h"

struct parameters {
	struct link link;
	part a, b;		/* for a packet */
	__u64 period;		/* ns: 1/w */
	part p_0;
	__u64 q_ref;
	__u64 generation;
};

#include "queue.h"

struct {
	part p;
	__u64 q_old;
	struct timer samples;
} pi;

static __always_inline void sample(void)
{
	__s64 now = q.packets - live.q_ref, before = pi.q_old - live.q_ref;
	pi.p = within_0_and_1((wide)pi.p + weighed(now, live.a) - weighed(before, live.b));
	pi.q_old = q.packets;
}

static __always_inline void advance(__u64 now)
{
	__u32 k;
	FOR(k, STEPS) {
		if (now < pi.samples.due)
			break;
		/* Samples of a queue that stays empty lower p by the same amount each time. */
		if (!q.packets && !pi.q_old) {
			__u64 missed = timer_skip(&pi.samples, now);
			pi.p = within_0_and_1((wide)pi.p - weighed(missed * live.q_ref, live.a - live.b));
			break;
		}
		sample();
		pi.samples.due += pi.samples.period;
	}
}

static __always_inline void restart(__u64 now)
{
	pi.p = live.p_0;
	pi.q_old = 0;
	timer_start(&pi.samples, now, live.period);
}

static __always_inline void configured(__u64 now, const struct parameters *old)
{
	timer_change(&pi.samples, now, live.period);
}

static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes)
{
	if (!has_room(bytes))
		return TAIL;
	return chance(pi.p) ? EARLY : QUEUED;
}
