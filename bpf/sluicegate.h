/* SPDX-License-Identifier: MIT OR GPL-2.0
 * What every discipline needs before its parameters: the kernel, or a host that stands for it; numbers; the link.
 */
#ifndef SG_SLUICEGATE_H
#define SG_SLUICEGATE_H

#ifdef SG_HOST
#include "host.h"
#else
#include "kernel.h"
#endif
#include "fixed.h"

char _license[] SEC("license") = "Dual MIT/GPL";	/* the kernel's queue functions are for GPL programs only */

/* What becomes of an arrival, and why a packet is dropped: the names of Sluicegate's tables. */
enum reason { QUEUED, TAIL, EARLY, FORCED, MATCH, RECONFIGURED };

enum cells { NO_CELLS, ATM, PTM };

/* The link behind the queue, which the queue shapes by itself: a BPF queue stands at the root, where no other can hold it back. */
struct link {
	__u64 rate;			/* bit/s; 0: the device's own */
	__u32 framing, least, cells;	/* bytes around an IP packet; the least frame; enum cells */
	__u32 pad;
	__u64 limit_packets, limit_bytes;	/* of the queue */
};

static __always_inline __u64 on_wire(const struct link *l, __u32 bytes)
{
	__u64 frame = (__u64)bytes + l->framing;
	if (frame < l->least)
		frame = l->least;
	return l->cells == ATM ? (frame + 47) / 48 * 53 : l->cells == PTM ? frame + (frame + 63) / 64 : frame;
}

/* What the queue holds, and what its link does. Positions are counted on; a packet's slot is at its position modulo SLOTS. */
struct queue {
	__u32 head, tail, packets, pad;
	__u64 bytes;
	__u64 free_at;		/* when the link has sent what it is sending */
	__u64 remainder;	/* of that, in bits times 10^9 below a nanosecond's */
	__u64 idle_since;	/* when the link found nothing to send */
	__u64 idle;		/* whether it did */
	__u64 owner;		/* the queue whose state this is; 0: none */
	struct key secret;
} q;

struct counters {
	__u64 arrivals, departures, departed_bytes;
	__u64 drops[8];		/* by enum reason */
	__u64 max_packets, watchdogs, no_slot;
} count;

/* True with probability p. */
static __always_inline bool chance(part p)
{
	return (random_bits() & ~0x7ffULL) < p;
}

/* 0, 1, …, n - 1, each as likely. */
static __always_inline __u64 below(__u64 n)
{
	__u64 bits = random_bits();
	/* Lemire's product; what it rejects, once in 2^64/n, is drawn again. */
	if (bits * n < n && bits * n < -n % n)
		bits = random_bits();
	return mul_high(bits, n);
}

/* A sampling clock. Between two calls the queue does not change, so that what was due meanwhile sees what it would have seen. */
struct timer {
	__u64 period, due;
};

static __always_inline void timer_start(struct timer *t, __u64 now, __u64 period)
{
	t->period = period ? period : 1;
	t->due = now + t->period;
}

/* The same period changes nothing. */
static __always_inline void timer_change(struct timer *t, __u64 now, __u64 period)
{
	if (period != t->period)
		timer_start(t, now, period);
}

/* Passes over what has come; returns how many. */
static __always_inline __u64 timer_skip(struct timer *t, __u64 now)
{
	__u64 missed = 0;
	if (now >= t->due) {
		missed = (now - t->due) / (t->period ? t->period : 1) + 1;
		t->due += missed * t->period;
	}
	return missed;
}

#endif
