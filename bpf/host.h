/* SPDX-License-Identifier: MIT OR GPL-2.0
 * The same source as a program of this machine: maps are arrays, the kernel's functions are lists, and clock and random numbers
 * come from a trace that it replays. It reads the trace from its standard input (`struct event`), and compares each decision.
 */
#ifndef SG_HOST_H
#define SG_HOST_H
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef unsigned long long __u64;
typedef int32_t __s32;
typedef long long __s64;
enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1 };
enum { NET_XMIT_SUCCESS = 0, NET_XMIT_DROP = 1, NET_XMIT_CN = 2 };
#define SEC(name)
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define __kptr
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define FOR(k, n) for (k = 0; k < (n); k++)

struct sk_buff {
	__u64 serial, flow;
	__u32 bytes;
};
struct Qdisc {
	__u32 limit;
	struct { __u32 qlen; } q;
	struct { __u32 backlog, drops; } qstats;
};
struct bpf_sk_buff_ptr { struct sk_buff *skb; };
struct Qdisc_ops { void *enqueue, *dequeue, *init, *reset, *destroy; char id[16]; };
struct key { __u64 a, b; };

/* One call, with what is expected of it: random numbers follow, then the packets that it drops as serial·8 + reason. */
struct event {
	__u64 now, flow, serial;	/* ns; of a departure, the packet that is sent; of WAIT, when the timer is to fire */
	__u32 bytes, draws, drops;
	__u8 kind, result, late, pad;	/* result: an arrival's enum reason, or whether a packet was sent; late: timers may be */
};
enum { START, CHANGE, ARRIVE, DEPART, WAIT };	/* the first two are followed by struct parameters */
enum { UNKNOWN = 0xffffffff };		/* of drops, in a trace of the kernel's */

static __u64 host_now, host_bits[1 << 16], host_drops[1 << 16];
static __u64 host_timer;
static __u32 host_drawn, host_dropped;

static __u64 random_bits(void) { return host_bits[host_drawn++ & 0xffff]; }
static __u64 secret_bits(void) { return 0; }
static __u64 bpf_ktime_get_ns(void) { return host_now; }
static __u64 flow_of(struct sk_buff *skb, struct key *key) { return skb->flow; }
static __u32 bytes_of(struct sk_buff *skb) { return skb->bytes; }
static void bpf_kfree_skb(struct sk_buff *skb) { free(skb); }
static void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) { free(skb); }
static void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 at, __u64 slack) { host_timer = at; }
static void bpf_qdisc_bstats_update(struct Qdisc *sch, struct sk_buff *skb) {}
#define bpf_kptr_xchg(place, value) ({ typeof(*(place)) old_ = *(place); *(place) = (value); old_; })
#define NOTE_DROP(skb, reason) (host_drops[host_dropped++ & 0xffff] = (skb)->serial << 3 | (reason))
#define TRACE_CALL(now, flow, bytes, what, result)

/* A map. Of a hash, the first n entries are in use, chained by a hash of their keys, which are 64-bit numbers. */
struct host_map {
	const void *id;
	__u32 max, bytes, n, *heads, *next;
	__u64 *keys;
	char *values;
};
static struct host_map host_maps[8];

static struct host_map *host_map(const void *id, __u32 max, __u32 bytes)
{
	struct host_map *m = host_maps;
	while (m->id && m->id != id)
		m++;
	if (!m->id)
		*m = (struct host_map){ id, max, bytes, 0, calloc(65536, 4), calloc(max + 1, 4), calloc(max + 1, 8), calloc(max + 1, bytes) };
	return m;
}

/* Entries are counted from 1. */
static __u32 *host_chain(struct host_map *m, __u64 key)
{
	__u32 *at = &m->heads[key * 0x9e3779b97f4a7c15ULL >> 48];
	while (*at && m->keys[*at] != key)
		at = &m->next[*at];
	return at;
}

static void *host_lookup(struct host_map *m, bool hash, const void *key)
{
	__u32 at = hash ? *host_chain(m, *(__u64 *)key) : *(__u32 *)key < m->max ? *(__u32 *)key + 1 : 0;
	return at ? m->values + (size_t)at * m->bytes : NULL;
}

static int host_update(struct host_map *m, const void *key, const void *value)
{
	__u32 *at = host_chain(m, *(__u64 *)key);
	if (*at || m->n == m->max)
		return -E2BIG;
	*at = ++m->n;
	m->next[m->n] = 0;
	m->keys[m->n] = *(__u64 *)key;
	memcpy(m->values + (size_t)m->n * m->bytes, value, m->bytes);
	return 0;
}

/* The last entry takes the place of the one that goes. */
static int host_delete(const void *id, const void *key)
{
	struct host_map *m = host_map(id, 0, 0);
	__u32 *at = host_chain(m, *(__u64 *)key), gone = *at;
	if (!gone)
		return -ENOENT;
	*at = m->next[gone];
	if (gone != m->n) {
		*host_chain(m, m->keys[m->n]) = gone;
		m->next[gone] = m->next[m->n];
		m->keys[gone] = m->keys[m->n];
		memcpy(m->values + (size_t)gone * m->bytes, m->values + (size_t)m->n * m->bytes, m->bytes);
	}
	m->n--;
	return 0;
}

static long host_walk(struct host_map *m, long (*visit)(void *, __u64 *, void *, void *))
{
	__u32 k;
	for (k = m->n; k; k--) {
		__u64 key = m->keys[k];
		visit((void *)m->id, &key, m->values + (size_t)k * m->bytes, NULL);
	}
	return 0;
}

#define HOST_MAP(m) ({ static struct host_map *map_; map_ ? map_ : (map_ = host_map((m), sizeof *(m)->max_entries / sizeof(int), sizeof *(m)->value)); })
#define HOST_HASH(m) (sizeof *(m)->type / sizeof(int) == BPF_MAP_TYPE_HASH)
#define bpf_map_lookup_elem(m, k) ((typeof((m)->value))host_lookup(HOST_MAP(m), HOST_HASH(m), (k)))
#define bpf_map_update_elem(m, k, v, flags) host_update(HOST_MAP(m), (k), (v))
#define bpf_map_delete_elem(m, k) host_delete((m), (k))
#define bpf_for_each_map_elem(m, visit, ctx, flags) host_walk(HOST_MAP(m), (long (*)(void *, __u64 *, void *, void *))(visit))

#endif
