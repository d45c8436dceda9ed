// SPDX-License-Identifier: MIT OR GPL-2.0
// AFD (Pan, Breslau, Prabhakar & Shenker 2003, after DCN 2004): crates/aqm/src/afd.rs.
//
// m_fair is off by at most 2^-39 packets for each sample so far, times b/(N·n) where gains are derived (below), whose n is off by at most
// 2^-40·w packets.
#include "sluicegate.h"

#define PLACES_MAX 65536

struct parameters {
	struct link link;
	gain alpha, beta;	/* where they are derived, gain·(1 - gain/4) and gain */
	part sampled;		/* 1/s */
	part weight;		/* of the present arrivals in their mean: 1/w */
	__u64 period;		/* ns: 1/w */
	__u32 b, q_ref;
	__u32 derived, pad;
	__u64 generation;
};

#include "queue.h"

/* The shadow buffer: the flows of a sample of recent arrivals. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES_MAX);
	__type(key, __u32);
	__type(value, __u64);
} shadow SEC(".maps");

/* How many packets of each flow it holds. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PLACES_MAX + 1);	/* one more than places, for a flow that comes before another goes */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, __u32);
} counts SEC(".maps");

/* How many flows have so many packets in it, from which the largest number follows without a search. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES_MAX + 2);
	__type(key, __u32);
	__type(value, __u32);
} flows_with SEC(".maps");

struct {
	fix m_fair;
	fix arrivals_mean;	/* between samples, over the last second in which the queue was sampled */
	__u64 arrivals;		/* since the last sample */
	struct timer samples;
	__u64 q_old;
	__u32 held, flows;	/* packets in the shadow buffer, and different flows */
	__u32 largest, pad;
} afd;

static __always_inline void note(__u32 packets, __s32 flows)
{
	__u32 *with = bpf_map_lookup_elem(&flows_with, &packets);
	if (with)
		*with += flows;
}

static __always_inline void count_up(__u32 *packets)
{
	note(*packets, -1);
	*packets += 1;
	note(*packets, 1);
	if (*packets > afd.largest)
		afd.largest = *packets;
}

static __always_inline void count_down(__u32 *packets)
{
	__u32 was = *packets, *with = bpf_map_lookup_elem(&flows_with, &was);
	if (with && --*with == 0 && was == afd.largest)
		afd.largest--;
	*packets -= 1;
	note(*packets, 1);
}

static __always_inline void move_m_fair(fix by)
{
	fix most = (fix)live.b << PLACES;
	afd.m_fair += by;
	if (afd.m_fair < 0)
		afd.m_fair = 0;
	if (afd.m_fair > most)
		afd.m_fair = most;
}

/* alpha·before - beta·now; derived gains are times b/(N·n), for b packets of N flows in the buffer and n arrivals between samples. */
static __always_inline fix step(__s64 before, __s64 now)
{
	fix moved = scaled(before, live.alpha) - scaled(now, live.beta), size = moved < 0 ? -moved : moved;
	if (!live.derived)
		return moved;
	size = ratio(size, ONE, afd.arrivals_mean > ONE ? afd.arrivals_mean : ONE);
	size = ratio(size, afd.held ? afd.held : 1, afd.flows ? afd.flows : 1);
	if (size > MOST / 2)
		size = MOST / 2;
	return moved < 0 ? -size : size;
}

static __always_inline void sample(void)
{
	fix more = ((fix)afd.arrivals << PLACES) - afd.arrivals_mean;
	part weight = afd.arrivals_mean ? live.weight : ~0ULL;
	afd.arrivals_mean += more < 0 ? -(fix)times(-more, weight) : (fix)times(more, weight);
	afd.arrivals = 0;
	if (q.packets > live.q_ref && afd.m_fair > (fix)afd.largest << PLACES)
		afd.m_fair = (fix)afd.largest << PLACES;
	move_m_fair(step((__s64)afd.q_old - live.q_ref, (__s64)q.packets - live.q_ref));
	afd.q_old = q.packets;
}

static __always_inline void advance(__u64 now)
{
	__u32 k;
	FOR(k, STEPS) {
		if (now < afd.samples.due)
			break;
		/* Samples of a queue that stays empty raise m_fair by the same amount each time. */
		if (!q.packets && !afd.q_old) {
			__u64 missed = timer_skip(&afd.samples, now);
			fix by = step(-(__s64)live.q_ref, -(__s64)live.q_ref);
			move_m_fair(by > 0 && missed > (__u64)(MOST / 2) / by ? MOST / 2 : (fix)missed * by);
			break;
		}
		sample();
		afd.samples.due += afd.samples.period;
	}
}

static long forget(void *map, __u64 *flow, __u32 *packets, void *ctx)
{
	bpf_map_delete_elem(map, flow);
	return 0;
}

static __always_inline void restart(__u64 now)
{
	__u32 k;
	bpf_for_each_map_elem(&counts, forget, NULL, 0);
	FOR(k, PLACES_MAX + 2) {
		__u32 *with = bpf_map_lookup_elem(&flows_with, &k);
		if (with)
			*with = 0;
	}
	afd.m_fair = (fix)live.b << PLACES;
	afd.arrivals_mean = afd.arrivals = afd.q_old = afd.held = afd.flows = afd.largest = 0;
	timer_start(&afd.samples, now, live.period);
}

static __always_inline void configured(__u64 now, const struct parameters *old)
{
	timer_change(&afd.samples, now, live.period);
}

/* A packet of this flow takes a random place of the shadow buffer. */
static __noinline int take_place(__u64 flow)
{
	__u32 none = 0, at = afd.held, *packets = bpf_map_lookup_elem(&counts, &flow);
	bool full = afd.held >= live.b;
	__u64 *place, old;
	if (!packets) {
		if (bpf_map_update_elem(&counts, &flow, &none, BPF_NOEXIST))
			return 0;	/* no memory: it is not sampled */
		packets = bpf_map_lookup_elem(&counts, &flow);
		afd.flows++;
	}
	if (!packets)
		return 0;
	count_up(packets);
	if (full)
		at = below(live.b);
	place = bpf_map_lookup_elem(&shadow, &at);
	if (!place)
		return 0;
	old = *place;
	*place = flow;
	if (!full) {
		afd.held++;
		return 0;
	}
	packets = bpf_map_lookup_elem(&counts, &old);
	if (!packets)
		return 0;
	count_down(packets);
	if (!*packets && !bpf_map_delete_elem(&counts, &old))
		afd.flows--;
	return 0;
}

static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes)
{
	__u32 *packets = bpf_map_lookup_elem(&counts, &flow);
	fix m_i = packets ? (fix)*packets << PLACES : 0;
	bool early = false;

	afd.arrivals++;
	if (m_i > afd.m_fair) {
		/* R < 1 - m_fair/m_i  <=>  R·m_i < m_i - m_fair. */
		__u64 r = random_bits() & ~0x7ffULL;
		early = mul_high(r, m_i) < (__u64)(m_i - afd.m_fair);
	}
	if (chance(live.sampled))
		take_place(flow);
	return early ? EARLY : has_room(bytes) ? QUEUED : TAIL;
}
