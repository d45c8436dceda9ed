/* SPDX-License-Identifier: MIT OR GPL-2.0
 * The program around a discipline on a host: replays the trace of its standard input, and compares. Exit code 1: they differ.
 */
static __u64 host_event, host_arrivals, host_departures, host_all_drops, host_all_draws;

#define HOST_DIFFERS(format, ...) ({ printf("event %llu at %llu ns: " format "\n", host_event, host_now, __VA_ARGS__); exit(1); })

static void host_read(void *into, size_t n)
{
	if (n && fread(into, n, 1, stdin) != 1) {
		printf("the trace ends within event %llu\n", host_event);
		exit(2);
	}
}

static void host_compare(const char *what, __u64 expected, __u64 got)
{
	if (expected != got)
		HOST_DIFFERS("%s: %llu expected, %llu here", what, expected, got);
}

int main(void)
{
	static struct Qdisc sch, other;
	static __u64 bits[1 << 16], drops[1 << 16];
	struct event e;
	for (; fread(&e, sizeof e, 1, stdin) == 1; host_event++) {
		unsigned long long ctx[3] = { (__u64)&sch };
		struct bpf_sk_buff_ptr to_free;
		host_now = e.now;
		host_drawn = host_dropped = 0;
		if (e.draws > 1 << 16 || (e.drops != UNKNOWN && e.drops > 1 << 16))
			host_read(NULL, 1);
		host_read(host_bits, e.draws * sizeof *bits);
		host_read(drops, e.drops == UNKNOWN ? 0 : e.drops * sizeof *drops);
		if (e.kind == START || e.kind == CHANGE)
			host_read(&wanted, sizeof wanted);
		if (e.kind == START) {
			sg_reset(ctx);
			sg_destroy(ctx);
			host_compare("init", 0, sg_init(ctx));
		} else if (e.kind == CHANGE) {
			/* A second queue is refused, and the first one's state survives that. */
			ctx[0] = (__u64)&other;
			host_compare("a second init", -EBUSY, sg_init(ctx));
			sg_reset(ctx);
			sg_destroy(ctx);
		} else if (e.kind == WAIT) {
			host_compare("packets sent", 0, sg_dequeue(ctx) != NULL);
			host_compare("timer in ns", e.serial, host_timer);
		} else if (e.kind == ARRIVE) {
			struct sk_buff *skb = malloc(sizeof *skb);
			*skb = (struct sk_buff){ host_arrivals++, e.flow, e.bytes };
			ctx[0] = (__u64)skb, ctx[1] = (__u64)&sch, ctx[2] = (__u64)&to_free;
			if (e.drops != UNKNOWN && !e.late && live.link.rate && q.packets && q.free_at <= host_now)
				HOST_DIFFERS("the link should have sent at %llu ns", q.free_at);
			int verdict = sg_enqueue(ctx);
			if (e.drops == UNKNOWN)
				host_compare("verdict", e.result == QUEUED ? NET_XMIT_SUCCESS : e.result == TAIL ? NET_XMIT_DROP : NET_XMIT_CN, verdict);
		} else if (e.kind == DEPART) {
			if (e.result && live.link.rate && !e.late && e.drops != UNKNOWN)
				host_compare("departure in ns", host_now, q.free_at);
			struct sk_buff *skb = (struct sk_buff *)sg_dequeue(ctx);
			host_compare("packets sent", e.result, skb != NULL);
			if (skb) {
				host_departures++;
				host_compare("flow sent", e.flow, skb->flow);
				host_compare("bytes sent", e.bytes, skb->bytes);
				if (e.drops != UNKNOWN)
					host_compare("packet sent", e.serial, skb->serial);
				free(skb);
			}
		}
		host_compare("random numbers", e.draws, host_drawn);
		if (e.drops != UNKNOWN) {
			host_compare("packets dropped", e.drops, host_dropped);
			for (__u32 k = 0; k < e.drops; k++)
				host_compare("packet and reason dropped", drops[k], host_drops[k]);
		}
		host_all_draws += host_drawn;
		host_all_drops += host_dropped;
	}
	printf("equal: %llu arrivals, %llu departures, %llu drops, %llu random numbers\n", host_arrivals, host_departures, host_all_drops, host_all_draws);
	return 0;
}
