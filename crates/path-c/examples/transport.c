/* 100 packets of 1250 bytes, twice as fast as a link of 10 Mbit/s sends them, cross CoDel; packet 30 is lost on the wire. */
#include "sluicegate_path.h"
#include <stdio.h>

static const char *scenario =
    "network = { rate = \"10 Mbit/s\", delay = \"10 ms\", drop = \"30\" }\n"
    "[queue]\n"
    "discipline = \"codel\"\n"
    "codel = { interval = \"20 ms\", ecn = true }\n";

int main(void) {
    char error[200];
    sluicegate_path *path = sluicegate_path_new(scenario, false, 1, error, sizeof error);
    if (path == NULL) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    int numbers[100], sent = 0, delivered = 0, marked = 0;
    uint64_t last = 0;
    for (;;) {
        /* What happens next: the sender's turn, every 0.5 ms, or something on the path. */
        uint64_t turn = sent < 100 ? (uint64_t)sent * 500000 : SLUICEGATE_NEVER;
        uint64_t now = sluicegate_path_next_deadline(path);
        now = turn < now ? turn : now;
        if (now == SLUICEGATE_NEVER)
            break;
        sluicegate_event event;
        while (sluicegate_path_advance(path, now, &event)) {
            if (event.what == SLUICEGATE_DROPPED) {
                printf("packet %d: %s\n", *(int *)event.packet.user, event.reason);
                continue;
            }
            delivered += 1;
            marked += event.marked;
            last = event.time;
        }
        if (now == turn) {
            numbers[sent] = sent + 1;
            sluicegate_packet packet = {.user = &numbers[sent], .flow = 1, .bytes = 1250, .ecn = 2};
            sluicegate_path_send(path, &packet, now);
            sent += 1;
        }
    }
    printf("%d delivered, %d of them marked, the last after %.1f ms\n", delivered, marked, last / 1e6);
    sluicegate_path_free(path);
    return 0;
}
