// SPDX-License-Identifier: MIT OR GPL-2.0
// REM (Athuraliya, Li, Low & Yin 2001), in packets: crates/aqm/src/rem.rs.
//
// in_avg is off by at most 2^-40/inw, the price by 2^-40·(1 + gamma·(2 + 1/inw)) for each update so far, and p by that times ln(phi).
#include "sluicegate.h"

struct parameters {
	struct link link;
	part gamma, inw;
	gain alpha;
	struct halving phi;	/* of 1 - p, for each 2^-40 of the price */
	struct halving idle;	/* of in_avg, for each 2^-20 of an update without arrivals: 1 - inw */
	__u64 t_update;		/* ns */
	fix c;			/* packets that the link sends in that time */
	__u64 b_ref;
	__u64 generation;
};

#include "queue.h"

struct {
	fix price, in_avg;
	part p;			/* of the present price */
	__u64 arrived;		/* since the last update */
	struct timer updates;
} rem;

/* What the price would change by, over gamma. */
static __always_inline fix excess(void)
{
	return rem.in_avg + scaled((__s64)q.packets - live.b_ref, live.alpha) - live.c;
}

static __always_inline void move_price(__u64 updates)
{
	fix by = excess(), size = times(by < 0 ? -by : by, live.gamma);
	if (by >= 0)
		rem.price = size < MOST - rem.price ? rem.price + size : MOST;
	else
		rem.price = size && updates > (__u64)rem.price / size ? 0 : rem.price - (fix)updates * size;
}

static __always_inline void update(void)
{
	fix more = ((fix)rem.arrived << PLACES) - rem.in_avg;
	rem.in_avg += more < 0 ? -(fix)times(-more, live.inw) : (fix)times(more, live.inw);
	rem.arrived = 0;
	move_price(1);
}

/* 1 - phi^-price. */
static __always_inline void set_p(void)
{
	__u64 rest = halved(rem.price, &live.phi);
	rem.p = rest ? ((1ULL << 63) - rest) * 2 : ~0ULL;
}

static __always_inline void advance(__u64 now)
{
	__u32 k;
	if (now < rem.updates.due)
		return;
	FOR(k, STEPS) {
		if (now < rem.updates.due)
			break;
		/* Without packets and arrivals the price falls by the same amount each time, once in_avg is as good as 0, and a
		 * price of 0 stays. */
		if (!q.packets && !rem.arrived && (!times(rem.in_avg, live.inw) || (!rem.price && excess() <= 0))) {
			__u64 missed = timer_skip(&rem.updates, now);
			rem.in_avg = times((__u64)rem.in_avg << 1, missed >> 43 ? 0 : halved(missed << 20, &live.idle));
			move_price(missed);
			break;
		}
		update();
		rem.updates.due += rem.updates.period;
	}
	set_p();
}

static __always_inline void restart(__u64 now)
{
	rem.price = rem.in_avg = rem.p = rem.arrived = 0;
	timer_start(&rem.updates, now, live.t_update);
}

static __always_inline void configured(__u64 now, const struct parameters *old)
{
	timer_change(&rem.updates, now, live.t_update);
	set_p();
}

static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes)
{
	rem.arrived++;
	if (!has_room(bytes))
		return TAIL;
	return chance(rem.p) ? EARLY : QUEUED;
}
