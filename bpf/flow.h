/* SPDX-License-Identifier: MIT OR GPL-2.0
 * Which flow a packet belongs to: a keyed hash of its addresses, protocol and ports, so that nobody who does not know the key can
 * choose flows that collide. (The kernel's own hash of a packet will not do: where the sender is on the same machine, TCP changes
 * it at each timeout.) VLAN tags are skipped, and IPv6's extension headers. Fragments have no ports: those of two addresses and a
 * protocol are one flow. What is not IP is a flow for each ether type.
 *
 * The includer has `struct reader` and `bool load(struct reader *, __u32 at, void *into, __u32 n)`.
 */
#ifndef SG_FLOW_H
#define SG_FLOW_H

struct reader;
static bool load(struct reader *r, __u32 at, void *into, __u32 n);

struct key {
	__u64 a, b;
};

/* SipHash-1-3 (Aumasson & Bernstein 2012), of whole words. */
struct sip {
	__u64 v0, v1, v2, v3;
};

static __always_inline __u64 rotated(__u64 x, __u32 by)
{
	return x << by | x >> (64 - by);
}

static __always_inline void sip_round(struct sip *s)
{
	s->v0 += s->v1, s->v1 = rotated(s->v1, 13) ^ s->v0, s->v0 = rotated(s->v0, 32);
	s->v2 += s->v3, s->v3 = rotated(s->v3, 16) ^ s->v2;
	s->v0 += s->v3, s->v3 = rotated(s->v3, 21) ^ s->v0;
	s->v2 += s->v1, s->v1 = rotated(s->v1, 17) ^ s->v2, s->v2 = rotated(s->v2, 32);
}

static __always_inline void sip_add(struct sip *s, __u64 word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

static __always_inline __u64 sip_end(struct sip *s)
{
	s->v2 ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Numbers of the network's byte order, as a little-endian machine reads them. */
enum { IPV4 = 0x0008, ARP = 0x0608, IPV6 = 0xdd86, VLAN = 0x0081, PROVIDER_VLAN = 0xa888, IPV4_FRAGMENT = 0xff3f, IPV6_FRAGMENT = 0xf9ff };
enum { HOP_BY_HOP = 0, TCP = 6, UDP = 17, DCCP = 33, ROUTING = 43, FRAGMENT = 44, AUTHENTICATION = 51, DESTINATION = 60, SCTP = 132, UDPLITE = 136 };

static __always_inline __u64 hash_of(const struct key *key, struct reader *r, __u16 protocol)
{
	struct sip s = { key->a ^ 0x736f6d6570736575ULL, key->b ^ 0x646f72616e646f6dULL,
			 key->a ^ 0x6c7967656e657261ULL, key->b ^ 0x7465646279746573ULL };
	__u32 at = 0, ports = 0, k;
	bool fragment = false;
	__u8 next;

	FOR(k, 2) {
		struct { __u16 tag, protocol; } vlan;
		if ((protocol != VLAN && protocol != PROVIDER_VLAN) || !load(r, at, &vlan, sizeof vlan))
			break;
		/* AF_PACKET and macvtap have the network's header behind the tags, the type still before them. Then this is IP: its
		 * second word is a length, less than types are, or a label. */
		if ((vlan.tag & 0xf0) == 0x40 && (vlan.protocol & 0xff) < 6) {
			protocol = IPV4;
			break;
		}
		if ((vlan.tag & 0xf0) == 0x60 && vlan.protocol != IPV4 && vlan.protocol != IPV6 && vlan.protocol != ARP &&
		    vlan.protocol != VLAN && vlan.protocol != PROVIDER_VLAN) {
			protocol = IPV6;
			break;
		}
		protocol = vlan.protocol;
		at += sizeof vlan;
	}
	if (protocol == IPV4) {
		struct { __u8 words, tos; __u16 length, id, fragment; __u8 ttl, next; __u16 check; __u32 from, to; } ip;
		if (!load(r, at, &ip, sizeof ip))
			return 0;
		sip_add(&s, (__u64)ip.from << 32 | ip.to);
		fragment = ip.fragment & IPV4_FRAGMENT;
		next = ip.next;
		at += 4 * (ip.words & 15);
	} else if (protocol == IPV6) {
		struct { __u32 first; __u16 length; __u8 next, hops; __u64 from[2], to[2]; } ip;
		if (!load(r, at, &ip, sizeof ip))
			return 0;
		sip_add(&s, ip.from[0]);
		sip_add(&s, ip.from[1]);
		sip_add(&s, ip.to[0]);
		sip_add(&s, ip.to[1]);
		next = ip.next;
		at += sizeof ip;
		FOR(k, 8) {
			struct { __u8 next, length; __u16 fragment; } more;
			if (next != HOP_BY_HOP && next != ROUTING && next != FRAGMENT && next != AUTHENTICATION && next != DESTINATION)
				break;
			if (!load(r, at, &more, sizeof more))
				break;
			if (next == FRAGMENT && more.fragment & IPV6_FRAGMENT) {
				/* What follows is a piece of anything; all pieces name the same header. */
				fragment = true;
				next = more.next;
				break;
			}
			at += next == FRAGMENT ? 8 : next == AUTHENTICATION ? 4 * (more.length + 2) : 8 * (more.length + 1);
			next = more.next;
		}
	} else {
		sip_add(&s, protocol);
		return sip_end(&s);
	}
	if (!fragment && (next == TCP || next == UDP || next == SCTP || next == UDPLITE || next == DCCP))
		load(r, at, &ports, sizeof ports);
	sip_add(&s, (__u64)ports << 8 | next);
	return sip_end(&s);
}

#endif
