/* SPDX-License-Identifier: MIT OR GPL-2.0
 * Arithmetic in whole numbers, for the kernel has no floating point and BPF no 128-bit numbers.
 *
 *	fix     a number of packets, an average, a probability that is moved: 40 binary places, up to 8 million
 *	part    a probability or a factor between 0 and 1: 64 binary places, 1 being all ones
 *	gain    a factor: 55 binary places, up to 512
 *
 * Parameters are cut off behind their last place (crates/bpf/src/layout.rs). What is computed here is rounded, off by half of the last
 * place, 4.5e-13 of a fix, or cut off where it says so; each discipline says what that comes to.
 */
#ifndef SG_FIXED_H
#define SG_FIXED_H

typedef __s64 fix;
typedef __u64 part;
typedef __u64 gain;

#define PLACES 40
#define ONE (1LL << PLACES)
#define MOST ((fix)1 << 62)	/* more than any number that is reached */

/* The upper half of a product, cut off. */
static __always_inline __u64 mul_high(__u64 a, __u64 b)
{
	__u64 a0 = (__u32)a, a1 = a >> 32, b0 = (__u32)b, b1 = b >> 32;
	__u64 middle = a1 * b0 + (a0 * b0 >> 32);
	asm volatile("" : "+r"(middle));	/* clang 22 knows the idiom, and would call __multi3 */
	return a1 * b1 + (middle >> 32) + (((middle & 0xffffffff) + a0 * b1) >> 32);
}

/* a·p, rounded. */
static __always_inline __u64 times(__u64 a, part p)
{
	return mul_high(a, p) + (a * p >> 63);
}

/* n·g for a whole number, |n| < 2^15, rounded. */
static __always_inline fix scaled(__s64 n, gain g)
{
	return n < 0 ? -(fix)times((__u64)-n << 49, g) : (fix)times((__u64)n << 49, g);
}

/* A probability that is moved by whole numbers of packets times a part: 64 binary places below its sign, without any error. */
typedef __int128 wide;

static __always_inline wide weighed(__s64 n, part p)
{
	__u64 size = n < 0 ? -n : n;
	wide product = (wide)mul_high(size, p) << 64 | size * p;
	return n < 0 ? -product : product;
}

static __always_inline part within_0_and_1(wide x)
{
	return x < 0 ? 0 : x >> 64 ? ~0ULL : (part)x;
}

/* x/n, rounded; n is not zero. */
static __always_inline fix divided(fix x, __u64 n)
{
	__u64 size = x < 0 ? -x : x, quotient = (size + n / 2) / n;
	return x < 0 ? -(fix)quotient : (fix)quotient;
}

/* a·b/c, rounded down, at most MOST; c is not zero. By long division, for what is computed some hundred times in a second. In
 * memory, where the verifier does not follow each value. */
struct {
	__u64 rest, low, quotient;
} division;

static __noinline __u64 ratio(__u64 a, __u64 b, __u64 c)
{
	__u32 k;
	division.rest = mul_high(a, b);
	division.low = a * b;
	division.quotient = 0;
	if (division.rest >= c)
		return MOST;
	FOR(k, 64) {
		bool carry = division.rest >> 63;
		division.rest = division.rest << 1 | division.low >> 63;
		division.low <<= 1;
		division.quotient <<= 1;
		if (carry || division.rest >= c) {
			division.rest -= c;
			division.quotient |= 1;
		}
	}
	return division.quotient < MOST ? division.quotient : MOST;
}

/* 2^(-f/2^64) with 63 binary places, by Taylor's series: terms (ln 2)^k/k!, of which the first that is left out is below 2^-57. */
static __always_inline __u64 exp2_minus(part f)
{
#define MINUS(term, rest) (term - mul_high(f, rest))
	return MINUS(0x8000000000000000ULL, MINUS(0x58b90bfbe8e7bcd6ULL, MINUS(0x1ebfbdff82c58ea8ULL, MINUS(0x71ac235c1282fe3ULL,
		MINUS(0x13b2ab6fba4e773ULL, MINUS(0x2bb0ffcf14ce62ULL, MINUS(0x50c244be1b1e2ULL, MINUS(0x7ff2ff1622c3ULL,
		MINUS(0xb160111d2e4ULL, MINUS(0xda929e9cafULL, MINUS(0xf267a8ac6ULL, MINUS(0xf465639bULL, MINUS(0xe1deb28ULL,
		MINUS(0xc0b0caULL, MINUS(0x98a4bULL, MINUS(0x70dcULL, 0x4e4ULL))))))))))))))));
#undef MINUS
}

/* A rate of halving: n of them are n·m/2^(64+e) powers of 2. */
struct halving {
	__u64 m;	/* all ones, with e = 0: at once */
	__u32 e, pad;
};

/* 2^-(n·h) with 63 binary places, off by 2^-56. */
static __noinline __u64 halved(__u64 n, const struct halving *h)
{
	__u64 high = mul_high(n, h->m), low = n * h->m;
	__u32 e = h->e & 63;
	__u64 whole = high >> e;
	if (whole >= 63)
		return 0;
	return exp2_minus(e ? high << (64 - e) | low >> e : low) >> whole;
}

#endif
