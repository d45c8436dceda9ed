// SPDX-License-Identifier: MIT OR GPL-2.0
// CHOKe (Pan & Prabhakar 1999; front and back: Tang, Wang & Low 2004): crates/aqm/src/choke.rs.
#include "sluicegate.h"
#include "red.h"

#define CANDIDATES 64

struct parameters {
	struct link link;
	struct red red;
	__u32 candidates;
	__u32 draw;		/* enum draw */
	__u64 generation;
};

#include "queue.h"

enum draw { RANDOM, FRONT, BACK };

/* Positions of the candidates that are of the arrival's flow, and how many were compared. In memory: a number in a register that
 * bounds a loop would be followed by the verifier through all of its values. */
struct {
	__u32 at[CANDIDATES], n, compared;
} matches;

static __always_inline void restart(__u64 now)
{
	red_restart();
}

static __always_inline void advance(__u64 now)
{
}

static __always_inline void configured(__u64 now, const struct parameters *old)
{
	red_configured(&live.red, &old->red);
}

/* A packet of the queue, each as likely; there is one. A draw that hits a hole is repeated: 500 holes one after another, where at
 * most half of the slots and 8 more are holes, do not come. */
static __always_inline __u32 drawn(void)
{
	__u32 at = q.head, k;
	FOR(k, 500) {
		__u32 position = q.head + below(q.tail - q.head);
		struct slot *s = slot_at(position);
		if (s && s->held) {
			at = position;
			break;
		}
	}
	return at;
}

/* The slot is a candidate: noted if it is of this flow. */
static __always_inline void compare(struct slot *s, __u32 position, __u64 flow)
{
	if (s->flow == flow)
		matches.at[matches.n++ & (CANDIDATES - 1)] = position;
}

static __always_inline void draw_candidates(__u64 flow)
{
	__u32 k;
	matches.n = matches.compared = 0;
	if (live.draw == RANDOM) {
		FOR(k, live.candidates) {
			__u32 position;
			struct slot *s;
			if (!q.packets)
				break;
			position = drawn();
			s = slot_at(position);
			if (s)
				compare(s, position, flow);
		}
		return;
	}
	/* The first packets, or the last, each once. */
	FOR(k, SLOTS) {
		__u32 position = live.draw == FRONT ? q.head + k : q.tail - 1 - k;
		struct slot *s = slot_at(position);
		if (!s || k >= q.tail - q.head || matches.compared >= live.candidates)
			break;
		if (!s->held)
			continue;
		matches.compared++;
		compare(s, position, flow);
	}
}

/* Drops the candidates that match. */
static __always_inline void drop_matches(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	__u32 k;
	FOR(k, CANDIDATES) {
		struct slot *s = slot_at(matches.at[k & (CANDIDATES - 1)]);
		if (!s || k >= matches.n)
			break;
		if (s->held)	/* not drawn twice */
			remove_at(sch, to_free, s, MATCH);
	}
	if (live.draw == BACK)
		trim_tail();
	compact();
}

static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes)
{
	const struct red *p = &live.red;
	enum reason signal;
	update_avg(p, now);
	/* min_th <= avg < max_th: packets of one flow that meet are both dropped. */
	if (red.avg >= p->min_th && red.avg < p->max_th) {
		draw_candidates(flow);
		if (matches.n) {
			drop_matches(sch, to_free);
			return MATCH;
		}
	}
	signal = red_judge(p);
	return signal != QUEUED ? signal : has_room(bytes) ? QUEUED : TAIL;
}
