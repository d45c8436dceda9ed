// SPDX-License-Identifier: MIT OR GPL-2.0
// DCN (Le, Aikat, Jeffay & Smith 2004): crates/aqm/src/dcn.rs and dcn/tables.rs.
//
// p_ref is off by at most 2^-39 packets for each update so far.
#include "sluicegate.h"

#define SB 16384
#define HB 8192
#define STANDING 100000000ULL	/* ns: a queue that is above q_ref for so long is no burst */
#define UNBOUNDED 0x7fffffffffffffffLL	/* p_ref has no value yet; once it has, it is at most 4 million */

enum law { CORRECTED, PRINTED };
enum count_what { FORWARDED, ARRIVED };

struct parameters {
	struct link link;
	gain a, b;
	__u64 t_update, t_dec, clearing;	/* ns */
	fix p_ref_min, p_ref_max;
	__u32 q_ref, threshold;
	__u32 sb_entries, hb_flows;
	__u32 law, count;
	__u32 for_each_flow;	/* the gains are those for one flow in HB, to be divided by their number */
	__u32 pad;
	__u64 generation;
};

#include "queue.h"

/* An entry of SB. */
struct score {
	__u64 flow, last;
	__u32 count, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SB);
	__type(key, __u32);
	__type(value, struct score);
} sb SEC(".maps");

/* The flows that count as high-bandwidth, each with its pktcount. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HB);
	__type(key, __u64);
	__type(value, fix);
} hb SEC(".maps");

struct {
	fix p_ref;
	fix largest[2];		/* pktcount of this T_dec, and of the one before */
	struct timer updates, sweeps;
	__u64 above, above_since;	/* whether the queue was above q_ref, and since when */
	__u64 q_old, hb_flows;
	__u64 hb_arrivals, hb_entries;
} dcn;

static __always_inline fix larger(fix a, fix b)
{
	return a > b ? a : b;
}

static __always_inline void bound_p_ref(void)
{
	fix most = live.p_ref_max == UNBOUNDED ? MOST : live.p_ref_max;
	if (dcn.p_ref == UNBOUNDED && live.p_ref_max == UNBOUNDED)
		return;
	if (dcn.p_ref > most)
		dcn.p_ref = most;
	if (dcn.p_ref < live.p_ref_min)
		dcn.p_ref = live.p_ref_min;
}

/* a·before - b·now, with the gains of the moment. */
static __always_inline fix step(__s64 before, __s64 now)
{
	fix moved = scaled(before, live.a) - scaled(now, live.b);
	return divided(moved, live.for_each_flow && dcn.hb_flows ? dcn.hb_flows : 1);
}

/* The control law, at one of its instants. */
static __always_inline void update(__u64 at)
{
	__s64 now = (__s64)q.packets - live.q_ref, before = (__s64)dcn.q_old - live.q_ref;
	if (now > 0 && !dcn.above)
		dcn.above_since = at;
	dcn.above = now > 0;
	if (dcn.above && at - dcn.above_since >= STANDING) {
		fix largest = larger(dcn.largest[0], dcn.largest[1]);
		if (largest > 0 && dcn.p_ref > largest)
			dcn.p_ref = largest;
	}
	if (dcn.p_ref != UNBOUNDED)
		dcn.p_ref += live.law == CORRECTED ? step(before, now) : step(now, before);
	bound_p_ref();
	dcn.q_old = q.packets;
}

/* The end of T_dec: a flow at 0 or below leaves HB. */
static long lower(void *map, __u64 *flow, fix *pktcount, void *ctx)
{
	*pktcount -= dcn.p_ref;
	if (*pktcount > 0)
		dcn.largest[0] = larger(dcn.largest[0], *pktcount);
	else if (!bpf_map_delete_elem(map, flow))
		dcn.hb_flows--;
	return 0;
}

static long forget(void *map, __u64 *flow, fix *pktcount, void *ctx)
{
	bpf_map_delete_elem(map, flow);
	return 0;
}

static __always_inline void sweep(void)
{
	dcn.largest[1] = dcn.largest[0];
	dcn.largest[0] = 0;
	bpf_for_each_map_elem(&hb, lower, NULL, 0);
}

/* The updates of an empty queue are all alike: they are made up for in one step. */
static __always_inline void make_up(__u64 until)
{
	__u64 missed = timer_skip(&dcn.updates, until);
	if (missed && dcn.p_ref != UNBOUNDED) {
		fix by = step(-(__s64)live.q_ref, -(__s64)live.q_ref), room = MOST - dcn.p_ref;
		dcn.p_ref = by > 0 && missed > (__u64)room / by ? MOST : dcn.p_ref + (fix)missed * by;
		bound_p_ref();
	}
}

static __always_inline void advance(__u64 now)
{
	__u32 k;
	FOR(k, STEPS) {
		__u64 at = dcn.updates.due < dcn.sweeps.due ? dcn.updates.due : dcn.sweeps.due;
		if (at > now)
			break;
		if (!q.packets && !dcn.q_old && !dcn.hb_flows) {
			make_up(now);
			timer_skip(&dcn.sweeps, now);
			break;
		}
		if (!q.packets && !dcn.q_old) {
			at = dcn.sweeps.due < now ? dcn.sweeps.due : now;
			make_up(at);
		} else if (dcn.updates.due == at) {
			update(at);
			dcn.updates.due += dcn.updates.period;
		}
		if (dcn.sweeps.due == at) {
			sweep();
			dcn.sweeps.due += dcn.sweeps.period;
		}
	}
}

static __always_inline void restart(__u64 now)
{
	__u32 k;
	FOR(k, SB) {
		struct score *score = bpf_map_lookup_elem(&sb, &k);
		if (score)
			score->count = 0;
	}
	bpf_for_each_map_elem(&hb, forget, NULL, 0);
	dcn.p_ref = live.p_ref_max;
	dcn.largest[0] = dcn.largest[1] = 0;
	dcn.above = dcn.q_old = dcn.hb_flows = dcn.hb_arrivals = dcn.hb_entries = 0;
	timer_start(&dcn.updates, now, live.t_update);
	timer_start(&dcn.sweeps, now, live.t_dec);
}

static __always_inline void configured(__u64 now, const struct parameters *old)
{
	timer_change(&dcn.updates, now, live.t_update);
	timer_change(&dcn.sweeps, now, live.t_dec);
	bound_p_ref();
}

static __always_inline void count_packet(fix *pktcount)
{
	*pktcount += ONE;
	dcn.largest[0] = larger(dcn.largest[0], *pktcount);
}

/* A packet of a flow in HB. */
static __always_inline enum reason judge_fast(fix *pktcount, __u32 bytes)
{
	dcn.hb_arrivals++;
	if (live.count == ARRIVED)
		count_packet(pktcount);
	if (q.packets) {
		/* R < 1 - p_ref/pktcount  <=>  R·pktcount < pktcount - p_ref. */
		__u64 r = random_bits() & ~0x7ffULL;
		if (*pktcount > dcn.p_ref && mul_high(r, *pktcount) < (__u64)(*pktcount - dcn.p_ref))
			return EARLY;
	}
	if (!has_room(bytes))
		return TAIL;
	if (live.count == FORWARDED)
		count_packet(pktcount);
	return QUEUED;
}

/* A packet of a flow that is not in HB is counted in SB, and the flow moves to HB with the next one above the threshold. */
static __always_inline void score(__u64 now, __u64 flow)
{
	__u32 bucket = mul_high(flow, live.sb_entries);
	struct score *score = bpf_map_lookup_elem(&sb, &bucket);
	fix pktcount = ((fix)live.threshold + 1) << PLACES;
	if (!score)
		return;
	if (score->flow != flow || now - score->last > live.clearing)
		score->count = 0;
	score->flow = flow;
	score->last = now;
	score->count += score->count != ~0U;
	if (score->count > live.threshold && dcn.hb_flows < live.hb_flows && !bpf_map_update_elem(&hb, &flow, &pktcount, BPF_NOEXIST)) {
		score->count = 0;
		dcn.hb_flows++;
		dcn.hb_entries++;
		dcn.largest[0] = larger(dcn.largest[0], pktcount);
	}
}

static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes)
{
	fix *pktcount = bpf_map_lookup_elem(&hb, &flow);
	if (pktcount)
		return judge_fast(pktcount, bytes);
	score(now, flow);
	return has_room(bytes) ? QUEUED : TAIL;
}
