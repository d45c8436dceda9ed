/* SPDX-License-Identifier: MIT OR GPL-2.0
 * RED's rule without a queue, as crates/aqm/src/red/rule.rs: the average, the law of gaps. CHOKe builds on it.
 *
 * The average is off by at most 2^-40/w_q packets, 4.6e-10 for w_q = 0.002; p_b by that times max_p/(max_th - min_th), and 2^-51.
 */
#ifndef SG_RED_H
#define SG_RED_H

struct red {
	part w_q;
	fix min_th, max_th;
	part c_1;		/* Fig. 17's: max_p/(max_th - min_th) */
	struct halving decay;	/* of the average, for each nanosecond of an idle link: (1 - w_q)^(1/s) */
	__s32 after_signal;	/* count then: -1, gaps of 1 … 1/p_b (Sec. VII); 0, as Fig. 2 prints it */
	__u32 geometric;	/* Sec. VII's method 1 */
};

struct red_state {
	fix avg;
	__s64 count;		/* packets since the last signal; incremented before it is used */
} red;

static __always_inline void red_restart(void)
{
	red.avg = 0;
	red.count = -1;
}

/* Laws of gaps count differently. */
static __always_inline void red_configured(const struct red *p, const struct red *old)
{
	if (p->after_signal != old->after_signal)
		red.count = -1;
}

/* A packet arrives: calculates the new average queue size avg. */
static __always_inline void update_avg(const struct red *p, __u64 now)
{
	if (q.idle) {
		q.idle = 0;
		red.avg = times((__u64)red.avg << 1, halved(now - q.idle_since, &p->decay));
	} else {
		fix above = ((fix)q.packets << PLACES) - red.avg;
		red.avg += above < 0 ? -(fix)times(-above, p->w_q) : (fix)times(above, p->w_q);
	}
}

/* Judges an arrival by the average. */
static __always_inline enum reason red_judge(const struct red *p)
{
	if (red.avg < p->min_th) {
		red.count = -1;
		return QUEUED;
	}
	if (red.avg >= p->max_th) {
		red.count = p->after_signal;
		return FORCED;
	}
	red.count++;
	/* p_b = c_1·(avg - min_th);  R < p_b/(1 - count·p_b)  <=>  R·(1 - count·p_b) < p_b. */
	__u64 above = red.avg - p->min_th, n = p->geometric ? 0 : red.count;
	part p_b = mul_high(above, p->c_1) << (64 - PLACES) | above * p->c_1 >> PLACES;
	__u64 r = random_bits() & ~0x7ffULL;
	if (n ? mul_high(n, p_b) || mul_high(r, -(n * p_b)) < p_b : r < p_b) {
		red.count = p->after_signal;
		return EARLY;
	}
	return QUEUED;
}

#endif
