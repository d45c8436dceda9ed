/* SPDX-License-Identifier: MIT OR GPL-2.0
 * What a queue discipline in BPF needs of the kernel's types and functions. libbpf finds members by their names (CO-RE), so that
 * an object fits every kernel from 6.16 on, and no vmlinux.h is needed.
 */
#ifndef SG_KERNEL_H
#define SG_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define NULL ((void *)0)
#define true 1
#define false 0

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1 };
enum { NET_XMIT_SUCCESS = 0, NET_XMIT_DROP = 1, NET_XMIT_CN = 2 };
enum { EBUSY = 16 };

#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __ksym __attribute__((section(".ksyms")))
#define __uint(name, value) int (*name)[value]
#define __type(name, type) typeof(type) *name

#define CORE __attribute__((preserve_access_index))
struct sk_buff {
	unsigned int len;
	__be16 protocol;
	__u16 network_header;
	unsigned char *head;
	unsigned char *data;
} CORE;
struct qdisc_skb_head {
	__u32 qlen;
} CORE;
struct gnet_stats_queue {
	__u32 backlog;
	__u32 drops;
} CORE;
struct Qdisc {
	__u32 limit;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} CORE;
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};
struct nlattr;
struct netlink_ext_ack;
struct __sk_buff {
	__u32 len;
};
struct bpf_dynptr {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

/* The members that are set. */
struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *, struct Qdisc *, struct sk_buff **);
	struct sk_buff *(*dequeue)(struct Qdisc *);
	int (*init)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
	void (*reset)(struct Qdisc *);
	void (*destroy)(struct Qdisc *);
};

/* Helpers, by their numbers in the kernel's interface. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static __u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static __u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static long (*const bpf_for_each_map_elem)(void *map, void *visit, void *ctx, __u64 flags) = (void *)164;
static void *(*const bpf_kptr_xchg)(void *place, void *value) = (void *)194;
static long (*const bpf_dynptr_read)(void *into, __u32 n, const struct bpf_dynptr *from, __u32 at, __u64 flags) = (void *)201;

extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *s, __u64 flags, struct bpf_dynptr *ptr__uninit) __ksym;

struct bpf_iter_num {
	__u64 __opaque[1];
} __attribute__((aligned(8)));
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

/* k = 0, 1, …, n - 1, by an iterator of the kernel's: an ordinary loop would be walked by the verifier along each of its ways. */
#define FOR(k, n) \
	for (struct bpf_iter_num it_ __attribute__((cleanup(bpf_iter_num_destroy))), *new_ = (bpf_iter_num_new(&it_, 0, (n)), (void)bpf_iter_num_destroy, (void *)0); \
	     ({ int *next_ = bpf_iter_num_next(&it_); (void)new_; next_ && ((k) = *next_, (k) < (n)); });)

#include "flow.h"

/* Where the packet's IP header begins; in front of it are the link's own headers, whose bytes no discipline counts. */
static __always_inline __u32 network_offset(const struct sk_buff *skb)
{
	return skb->network_header - (__u32)((__u64)skb->data - (__u64)skb->head);
}

static __always_inline __u32 bytes_of(const struct sk_buff *skb)
{
	return skb->len - network_offset(skb);
}

struct reader {
	struct bpf_dynptr packet;
	__u32 at;
};

static __always_inline bool load(struct reader *r, __u32 at, void *into, __u32 n)
{
	return !bpf_dynptr_read(into, n, &r->packet, r->at + at, 0);
}

static __noinline __u64 flow_of(struct sk_buff *skb, struct key *key)
{
	struct reader r = { .at = network_offset(skb) };
	if (bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &r.packet))
		return 0;
	return hash_of(key, &r, skb->protocol);
}

static __always_inline __u64 secret_bits(void)
{
	__u64 high = bpf_get_prandom_u32();
	return high << 32 | bpf_get_prandom_u32();
}

#define NOTE_DROP(skb, reason)
#ifndef SG_TRACE
#define random_bits secret_bits
#define TRACE_CALL(now, flow, bytes, what, result)
#else
#include "trace.h"
#endif

#endif
