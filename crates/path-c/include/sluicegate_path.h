/* A path of links and delays, without clock, sockets or threads: for tests of a transport in C.
 *
 * Times are nanoseconds from the start of the run, and never run backwards: a time before that of the last call counts as
 * that. A path may be used by one thread at a time. The same description and seed give the same run.
 */
#ifndef SLUICEGATE_PATH_H
#define SLUICEGATE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Links and delays in a row. */
typedef struct sluicegate_path sluicegate_path;

/* A packet: what the path looks at, and what the caller knows it by. */
typedef struct sluicegate_packet {
    void *user;     /* the caller's own: the path does not look at it */
    uint64_t flow;  /* packets of one flow have the same number */
    uint32_t bytes; /* its length, IP header included */
    uint8_t ecn;    /* the ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced */
} sluicegate_packet;

/* How a packet ends. */
enum { SLUICEGATE_DELIVERED = 0, SLUICEGATE_DROPPED = 1 };

/* What has become of a packet. */
typedef struct sluicegate_event {
    uint64_t time;            /* when */
    sluicegate_packet packet; /* the packet, with its ECN field as it is at the end */
    uint8_t what;             /* SLUICEGATE_DELIVERED or SLUICEGATE_DROPPED */
    bool marked;              /* whether anything on its way has marked it */
    uint32_t hop;             /* of one that was dropped, the number of the link, from 0 */
    const char *reason;       /* of one that was dropped: "tail", "early", "lost" and so on; else NULL */
} sluicegate_event;

/* There is nothing to come. */
#define SLUICEGATE_NEVER UINT64_MAX

/* A path as a scenario describes it: `scenario` holds the tables [network] and [queue] in TOML, as "sluicegate shell --link"
 * and the manual have them; its traffic does not matter. Packets cross the forward direction of the dumbbell or, with
 * `reverse`, the opposite one. Returns NULL where the description breaks a rule, and writes the rule to `error`, which holds
 * `size` bytes and may be NULL. */
sluicegate_path *sluicegate_path_new(const char *scenario, bool reverse, uint64_t seed, char *error, size_t size);

/* Ends a path, with the packets that are on it. NULL is ignored. */
void sluicegate_path_free(sluicegate_path *path);

/* A packet enters now. It is copied. */
void sluicegate_path_send(sluicegate_path *path, const sluicegate_packet *packet, uint64_t now);

/* When sluicegate_path_advance is to be called next; SLUICEGATE_NEVER if nothing is to come. */
uint64_t sluicegate_path_next_deadline(const sluicegate_path *path);

/* Does all that is due until now, and writes to `event` what has become of one packet, in the order of time; false when there
 * is nothing more to tell. To be called until it returns false. */
bool sluicegate_path_advance(sluicegate_path *path, uint64_t now, sluicegate_event *event);

/* How many packets are on the path: neither delivered nor dropped. */
uint64_t sluicegate_path_inside(const sluicegate_path *path);

#ifdef __cplusplus
}
#endif

#endif
