// SPDX-License-Identifier: MIT OR GPL-2.0
// SRED (Ott, Lakshman & Wong 1999): crates/aqm/src/sred.rs.
//
// P is off by 2^-62 for each arrival of the last 1/alpha or so; p_zap by 2^-45.
#include "sluicegate.h"

#define ZOMBIES 16384
#define P_PLACES 62

struct parameters {
	struct link link;
	part overwrite, alpha, max_p;
	__u32 zombies, hits;		/* flows in the list; whether a hit raises the probability */
	__u64 generation;
};

#include "queue.h"

/* The list: flows that were seen of late. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ZOMBIES);
	__type(key, __u32);
	__type(value, __u64);
} zombies SEC(".maps");

struct {
	__u64 frequency;	/* of hits, P: 62 binary places */
	__u32 listed, pad;
} sred;

static __always_inline void restart(__u64 now)
{
	sred.frequency = sred.listed = 0;
}

static __always_inline void advance(__u64 now)
{
}

static __always_inline void configured(__u64 now, const struct parameters *old)
{
}

/* Compares a flow with a zombie. */
static __always_inline bool hits(__u64 flow)
{
	bool full = sred.listed >= live.zombies, hit;
	__u32 at = full ? below(live.zombies) : sred.listed;
	__u64 *zombie = bpf_map_lookup_elem(&zombies, &at);
	if (!zombie)
		return false;
	hit = full && *zombie == flow;
	if (!full)
		sred.listed++;
	if (!full || (!hit && chance(live.overwrite)))
		*zombie = flow;
	return hit;
}

/* Whether R < p_sred·min(1, 1/(256·P)^2)·(1 + hit/P): R·max(1, (256·P)^2) < p_sred, and with a hit, times P on both sides. */
static __always_inline bool zapped(part p_sred, bool hit)
{
	enum { PLACES_HERE = 46 };
	__u64 r = random_bits() & ~0x7ffULL, p = p_sred >> (64 - PLACES_HERE), by_64 = sred.frequency << (64 - P_PLACES);
	__u64 few = mul_high(sred.frequency << 1, sred.frequency << 1);	/* (256·P)^2, with 46 places: P^2 with 62 */
	bool many = few <= 1ULL << PLACES_HERE;
	if (!hit)
		return many ? r < p_sred : mul_high(r, few) < p;
	return mul_high(many ? r >> (64 - PLACES_HERE) : mul_high(r, few), by_64) < p + mul_high(p, by_64);
}

static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes)
{
	bool in_bytes = live.link.limit_bytes != ~0ULL, hit = hits(flow);
	__u64 length = in_bytes ? q.bytes : q.packets, limit = in_bytes ? live.link.limit_bytes : live.link.limit_packets;
	part p_sred = 3 * length >= limit ? live.max_p : 6 * length >= limit ? live.max_p / 4 : 0;

	if (hit)
		sred.frequency += times((1ULL << P_PLACES) - 1 - sred.frequency, live.alpha);
	else
		sred.frequency -= times(sred.frequency, live.alpha);
	if (zapped(p_sred, hit && live.hits))
		return EARLY;
	return has_room(bytes) ? QUEUED : TAIL;
}
