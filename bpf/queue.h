/* SPDX-License-Identifier: MIT OR GPL-2.0
 * The queue itself: a ring of packets with holes, the link's shaper, counters, and the kernel's entry points. The includer has
 *
 *	struct parameters { struct link link; …; __u64 generation; };
 *
 * and defines what `Discipline` of crates/aqm has:
 *
 *	void restart(now)			an empty queue
 *	void advance(now)			what was due up to now
 *	enum reason judge(sch, to_free, now, flow, bytes)
 *	void configured(now, old)		parameters have changed
 */
#ifndef SG_QUEUE_H
#define SG_QUEUE_H

#define SLOTS 16384
#define LATE 20000000ULL	/* ns by which a late timer is made up for */
#define STEPS 4096		/* steps of a clock that one call makes up for; what is left follows with the next */

/* As the loader wrote them, or whoever changes them while the queue is in use: with a generation of 0 meanwhile, at which nobody
 * looks (bpf/README.md). */
struct parameters wanted SEC(".data") = {};
/* Those in force, and those that may be next. */
struct parameters live, next;

struct slot {
	__u64 flow;
	__u32 bytes;
	__u32 held;		/* 0: a hole */
	struct sk_buff __kptr *skb;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} ring SEC(".maps");

static __always_inline struct slot *slot_at(__u32 position)
{
	__u32 at = position & (SLOTS - 1);
	return bpf_map_lookup_elem(&ring, &at);
}

static __always_inline bool has_room(__u32 bytes)
{
	return q.packets < live.link.limit_packets && q.bytes + bytes <= live.link.limit_bytes;
}

static __always_inline void drop(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, struct sk_buff *skb, enum reason reason)
{
	count.drops[reason & 7]++;
	sch->qstats.drops++;
	NOTE_DROP(skb, reason);
	bpf_qdisc_skb_drop(skb, to_free);
}

/* Makes a hole of a slot. */
static __always_inline void remove_at(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, struct slot *s, enum reason reason)
{
	struct sk_buff *skb = bpf_kptr_xchg(&s->skb, NULL);
	s->held = 0;
	q.packets--;
	q.bytes -= s->bytes;
	sch->q.qlen--;
	sch->qstats.backlog -= s->bytes;
	if (skb)
		drop(sch, to_free, skb, reason);
}

static __always_inline void skip_holes(void)
{
	__u32 k;
	FOR(k, SLOTS) {
		struct slot *s = slot_at(q.head);
		if (q.head == q.tail || !s || s->held)
			break;
		q.head++;
	}
}

static __always_inline void trim_tail(void)
{
	__u32 k;
	FOR(k, SLOTS) {
		struct slot *s = slot_at(q.tail - 1);
		if (q.head == q.tail || !s || s->held)
			break;
		q.tail--;
	}
}

static __noinline int close_holes(void)
{
	__u32 from = q.head, span = q.tail - from, k;
	q.tail = from;
	FOR(k, span) {
		struct slot *old = slot_at(from + k), *new = slot_at(q.tail);
		struct sk_buff *skb;
		if (!old || !new || !old->held)
			continue;
		if (old != new) {
			skb = bpf_kptr_xchg(&old->skb, NULL);
			new->flow = old->flow;
			new->bytes = old->bytes;
			new->held = 1;
			old->held = 0;
			if (skb)
				skb = bpf_kptr_xchg(&new->skb, skb);
			if (skb)
				bpf_kfree_skb(skb);
		}
		q.tail++;
	}
	return 0;
}

/* Skips holes at the head, and closes all when more than half of the slots, and 8 more, are holes. */
static __always_inline void compact(void)
{
	__u32 span;
	skip_holes();
	span = q.tail - q.head;
	if (2 * (span - q.packets) > span + 16)
		close_holes();
}

static __always_inline void restart(__u64 now);
static __always_inline void advance(__u64 now);
static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes);
static __always_inline void configured(__u64 now, const struct parameters *old);

/* What is left of the packet in transmission goes at the new rate. */
static __always_inline void change_rate(__u64 old, __u64 rate, __u64 now)
{
	__u64 work = q.remainder;
	if (q.free_at > now) {
		work += (q.free_at - now) * old;
		q.free_at = now;
	}
	q.free_at += work / rate;
	q.remainder = work % rate;
}

/* Other parameters are there, as a whole. */
static __always_inline bool others_are_wanted(void)
{
	__u64 generation = *(volatile __u64 *)&wanted.generation;
	if (generation == live.generation || !generation)
		return false;
	next = wanted;
	return next.generation == generation && *(volatile __u64 *)&wanted.generation == generation;
}

/* Parameters have changed: what a smaller limit leaves no room for is dropped, the last first. */
static __always_inline void configure(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now)
{
	struct parameters old = live;
	__u32 k;
	live = next;
	if (old.link.rate && live.link.rate && old.link.rate != live.link.rate)
		change_rate(old.link.rate, live.link.rate, now);
	configured(now, &old);
	if (q.packets <= live.link.limit_packets && q.bytes <= live.link.limit_bytes)
		return;
	close_holes();
	FOR(k, SLOTS) {
		struct slot *s = slot_at(q.tail - 1);
		if (!s || !q.packets || (q.packets <= live.link.limit_packets && q.bytes <= live.link.limit_bytes))
			break;
		remove_at(sch, to_free, s, RECONFIGURED);
		q.tail--;
	}
}

SEC("struct_ops")
int sg_enqueue(unsigned long long *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	struct Qdisc *sch = (struct Qdisc *)ctx[1];
	struct bpf_sk_buff_ptr *to_free = (struct bpf_sk_buff_ptr *)ctx[2];
	__u64 now = bpf_ktime_get_ns(), flow = flow_of(skb, &q.secret);
	__u32 bytes = bytes_of(skb);
	enum reason reason;
	struct slot *s;

	/* A link that was free with nothing to send is idle since then; it starts anew. */
	if (live.link.rate && !q.packets && now >= q.free_at) {
		q.idle = 1;
		q.idle_since = q.free_at;
		q.free_at = now;
		q.remainder = 0;
	}
	advance(now);
	if (others_are_wanted())
		configure(sch, to_free, now);
	count.arrivals++;
	reason = judge(sch, to_free, now, flow, bytes);
	if (reason == QUEUED) {
		s = slot_at(q.tail);
		if (!s || q.tail - q.head >= SLOTS) {
			count.no_slot++;
			reason = TAIL;
		}
	}
	TRACE_CALL(now, flow, bytes, ARRIVES, reason);
	if (reason != QUEUED) {
		drop(sch, to_free, skb, reason);
		return reason == TAIL ? NET_XMIT_DROP : NET_XMIT_CN;
	}
	s->flow = flow;
	s->bytes = bytes;
	s->held = 1;
	skb = bpf_kptr_xchg(&s->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	q.tail++;
	q.packets++;
	q.bytes += bytes;
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	if (q.packets > count.max_packets)
		count.max_packets = q.packets;
	return NET_XMIT_SUCCESS;
}

SEC("struct_ops")
struct sk_buff *sg_dequeue(unsigned long long *ctx)
{
	struct Qdisc *sch = (struct Qdisc *)ctx[0];
	__u64 now = bpf_ktime_get_ns(), rate = live.link.rate;
	struct sk_buff *skb;
	struct slot *s;

	if (!q.packets) {
		if (!rate && !q.idle) {
			q.idle = 1;
			q.idle_since = now;
		}
		advance(now);
		TRACE_CALL(now, 0, 0, DEPARTS, 0);
		return NULL;
	}
	if (rate && now < q.free_at) {
		count.watchdogs++;
		bpf_qdisc_watchdog_schedule(sch, q.free_at, 0);
		return NULL;
	}
	advance(now);
	s = slot_at(q.head);
	if (!s)
		return NULL;
	skb = bpf_kptr_xchg(&s->skb, NULL);
	s->held = 0;
	q.head++;
	q.packets--;
	q.bytes -= s->bytes;
	sch->q.qlen--;
	sch->qstats.backlog -= s->bytes;
	TRACE_CALL(now, s->flow, s->bytes, DEPARTS, 1);
	if (rate) {
		__u64 work = on_wire(&live.link, s->bytes) * 8000000000ULL + q.remainder;
		if (now - q.free_at > LATE)
			q.free_at = now - LATE;
		q.free_at += work / rate;
		q.remainder = work % rate;
	}
	count.departures++;
	count.departed_bytes += s->bytes;
	compact();
	if (skb)
		bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

SEC("struct_ops")
int sg_init(unsigned long long *ctx)
{
	struct Qdisc *sch = (struct Qdisc *)ctx[0];
	struct counters none = {};
	__u64 now = bpf_ktime_get_ns();
	/* One queue for each loaded object: its maps hold the state. The kernel calls destroy for a refused one too, and reset
	 * where it makes a default queue. */
	if (q.owner)
		return -EBUSY;
	q.owner = (__u64)sch;
	q.secret.a = secret_bits();
	q.secret.b = secret_bits();
	q.idle = 1;
	q.idle_since = q.free_at = now;
	q.remainder = 0;
	count = none;
	live = wanted;
	sch->limit = live.link.limit_packets;
	restart(now);
	TRACE_CALL(now, 0, 0, BEGINS, 0);
	return 0;
}

SEC("struct_ops")
void sg_reset(unsigned long long *ctx)
{
	struct Qdisc *sch = (struct Qdisc *)ctx[0];
	__u32 k;
	/* A queue that was refused holds nothing: what is in the ring is the other's. */
	if (q.owner != (__u64)sch)
		return;
	FOR(k, SLOTS) {
		struct slot *s = slot_at(k);
		struct sk_buff *skb = s ? bpf_kptr_xchg(&s->skb, NULL) : NULL;
		if (s)
			s->held = 0;
		if (skb)
			bpf_kfree_skb(skb);
	}
	q.head = q.tail = q.packets = q.bytes = 0;
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

SEC("struct_ops")
void sg_destroy(unsigned long long *ctx)
{
	if (q.owner == (__u64)(struct Qdisc *)ctx[0])
		q.owner = 0;
}

/* Its name in tc is written over by whoever deploys it. */
SEC(".struct_ops.link")
struct Qdisc_ops sluicegate = {
	.enqueue = (void *)sg_enqueue,
	.dequeue = (void *)sg_dequeue,
	.init = (void *)sg_init,
	.reset = (void *)sg_reset,
	.destroy = (void *)sg_destroy,
	.id = "sluicegate",
};

#ifdef SG_HOST
#include "host_main.h"
#endif

#endif
