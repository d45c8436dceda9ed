// SPDX-License-Identifier: MIT OR GPL-2.0
// BLUE (Feng, Kandlur, Saha & Shin 1999): crates/aqm/src/blue.rs.
//
// p is off by 2^-64 for each change so far.
#include "sluicegate.h"

struct parameters {
	struct link link;
	part d1, d2;
	__u64 freeze_time;			/* ns */
	__u64 level_packets, level_bytes;	/* above which an arrival raises p */
	__u64 generation;
};

#include "queue.h"

struct {
	part p;
	__u64 last_update;
	__u64 idle_since;	/* the beginning of the last idle period that has lowered p */
} blue;

static __always_inline __u64 freeze_time(const struct parameters *p)
{
	return p->freeze_time ? p->freeze_time : 1;
}

/* How often now - last_update > freeze_time holds, if each time moves last_update by freeze_time. */
static __always_inline __u64 thawed(__u64 now, const struct parameters *p)
{
	/* An idle period begins before it if the timer of the last packet was late. */
	return now > blue.last_update ? (now - blue.last_update - 1) / freeze_time(p) : 0;
}

/* A packet was dropped, or the queue is long. */
static __always_inline void congested(__u64 now)
{
	if (thawed(now, &live)) {
		blue.p = within_0_and_1((wide)blue.p + live.d1);
		blue.last_update = now;
	}
}

/* The idle period up to now: one change when it began, and one after each freeze_time. */
static __always_inline void idle(__u64 now, const struct parameters *p)
{
	__u64 times;
	if (blue.idle_since != q.idle_since && thawed(q.idle_since, p)) {
		blue.p = within_0_and_1((wide)blue.p - p->d2);
		blue.last_update = q.idle_since;
	}
	blue.idle_since = q.idle_since;
	times = thawed(now, p);
	blue.p = within_0_and_1((wide)blue.p - weighed(times, p->d2));
	blue.last_update += times * freeze_time(p);
}

static __always_inline void restart(__u64 now)
{
	blue.p = 0;
	blue.last_update = now;
	blue.idle_since = now;
}

static __always_inline void advance(__u64 now)
{
}

static __always_inline void configured(__u64 now, const struct parameters *old)
{
	if (q.idle)
		idle(now, old);
}

static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes)
{
	bool room = has_room(bytes);
	if (q.idle)
		idle(now, &live);
	q.idle = 0;
	if (!room || q.packets > live.level_packets || q.bytes > live.level_bytes)
		congested(now);
	if (!room)
		return TAIL;
	return chance(blue.p) ? EARLY : QUEUED;
}
