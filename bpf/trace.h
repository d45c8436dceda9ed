/* SPDX-License-Identifier: MIT OR GPL-2.0
 * With -DSG_TRACE the program keeps its first calls and the random numbers that they draw, so that a host can repeat them
 * (tools/kernel.py). What a discipline does is the same.
 */
#ifndef SG_TRACE_H
#define SG_TRACE_H

#define KEPT 16384

enum { BEGINS, CHANGES, ARRIVES, DEPARTS };	/* as host.h has them */

struct call {
	__u64 now, flow;
	__u32 bytes, draws;
	__u32 what, result;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KEPT);
	__type(key, __u32);
	__type(value, struct call);
} sg_calls SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KEPT);
	__type(key, __u32);
	__type(value, __u64);
} sg_bits SEC(".maps");

struct {
	__u32 calls, bits, draws, pad;	/* draws: of this call */
} trace;

static __noinline __u64 random_bits(void)
{
	__u32 at = trace.bits;
	__u64 *kept = bpf_map_lookup_elem(&sg_bits, &at), bits = secret_bits();
	trace.draws++;
	if (kept) {
		*kept = bits;
		trace.bits++;
	}
	return bits;
}

static __noinline int trace_call(__u64 now, __u64 flow, __u32 bytes, __u32 what, __u32 result)
{
	__u32 at = trace.calls;
	struct call *call = bpf_map_lookup_elem(&sg_calls, &at);
	if (call) {
		call->now = now;
		call->flow = flow;
		call->bytes = bytes;
		call->draws = trace.draws;
		call->what = what;
		call->result = result;
		trace.calls++;
	}
	trace.draws = 0;
	return 0;
}
#define TRACE_CALL(now, flow, bytes, what, result) trace_call(now, flow, bytes, what, result)

#endif
