// SPDX-License-Identifier: MIT OR GPL-2.0
// RED (Floyd & Jacobson 1993), in packets: crates/aqm/src/red.rs.
#include "sluicegate.h"
#include "red.h"

struct parameters {
	struct link link;
	struct red red;
	__u64 generation;
};

#include "queue.h"

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

static __always_inline enum reason judge(struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free, __u64 now, __u64 flow, __u32 bytes)
{
	enum reason signal;
	update_avg(&live.red, now);
	signal = red_judge(&live.red);
	return signal != QUEUED ? signal : has_room(bytes) ? QUEUED : TAIL;
}
