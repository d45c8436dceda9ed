// Traffic and measurements inside the emulated machine, one static program:
//   offload DEV                          segmentation offloads off
//   sink PORT SECONDS WARMUP             counts what TCP and UDP bring to this port
//   tcp ADDRESS PORT FLOWS SECONDS CC    greedy senders
//   udp ADDRESS PORT BYTES RATE SECONDS  packets of so many bytes of data, paced; rate of IP bits
//   blast ADDRESS PORT BYTES PACKETS FLOWS   how long a send takes
//   dump MAP ENTRIES                     a BPF array's values to standard output
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 18];

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static struct sockaddr_in address(const char *text, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, text, &a.sin_addr);
	return a;
}

static int offload(const char *dev)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), what[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
	for (int k = 0; k < 3; k++) {
		struct ethtool_value v = { .cmd = what[k] };
		struct ifreq r = {};
		strncpy(r.ifr_name, dev, IFNAMSIZ - 1);
		r.ifr_data = (void *)&v;
		if (ioctl(fd, SIOCETHTOOL, &r))
			perror(dev);
	}
	return 0;
}

static int sink(int port, double seconds, double warmup)
{
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int poll = epoll_create1(0), again = 1;
	struct sockaddr_in a = address("0.0.0.0", port);
	struct epoll_event ev = { .events = EPOLLIN };
	uint64_t start = now(), from = start + warmup * 1e9, end = start + seconds * 1e9, t, tcp_bytes = 0, udp_bytes = 0;
	setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
	if (bind(tcp, (void *)&a, sizeof a) || listen(tcp, 256) || bind(udp, (void *)&a, sizeof a))
		return perror("bind"), 1;
	ev.data.fd = tcp, epoll_ctl(poll, EPOLL_CTL_ADD, tcp, &ev);
	ev.data.fd = udp, epoll_ctl(poll, EPOLL_CTL_ADD, udp, &ev);
	while ((t = now()) < end) {
		struct epoll_event ready[64];
		int n = epoll_wait(poll, ready, 64, 100);
		t = now();
		for (int k = 0; k < n; k++) {
			int fd = ready[k].data.fd;
			ssize_t got;
			if (fd == tcp) {
				ev.data.fd = accept4(tcp, 0, 0, SOCK_NONBLOCK);
				if (ev.data.fd >= 0)
					epoll_ctl(poll, EPOLL_CTL_ADD, ev.data.fd, &ev);
				continue;
			}
			for (int j = 0; j < 32 && (got = recv(fd, buffer, sizeof buffer, 0)) > 0; j++)
				*(fd == udp ? &udp_bytes : &tcp_bytes) += t > from ? got : 0;
			if (got == 0 && fd != udp)
				close(fd);
		}
	}
	printf("RECEIVED tcp %llu udp %llu\n", (unsigned long long)tcp_bytes, (unsigned long long)udp_bytes);
	return 0;
}

static int tcp(const char *to, int port, int flows, double seconds, const char *cc)
{
	int poll = epoll_create1(0), low = 16384;
	struct sockaddr_in a = address(to, port);
	uint64_t end = now() + seconds * 1e9;
	for (int k = 0; k < flows; k++) {
		struct epoll_event ev = { .events = EPOLLOUT, .data.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) };
		if (setsockopt(ev.data.fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
			perror(cc);
		setsockopt(ev.data.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &low, sizeof low);
		connect(ev.data.fd, (void *)&a, sizeof a);
		epoll_ctl(poll, EPOLL_CTL_ADD, ev.data.fd, &ev);
	}
	while (now() < end) {
		struct epoll_event ready[64];
		int n = epoll_wait(poll, ready, 64, 100);
		for (int k = 0; k < n; k++)
			if (send(ready[k].data.fd, buffer, 65536, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
				close(ready[k].data.fd);
	}
	return 0;
}

static int udp(const char *to, int port, int bytes, double rate, double seconds)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in a = address(to, port);
	uint64_t start = now(), end = start + seconds * 1e9, due;
	double gap = (bytes + 28) * 8 / rate * 1e9;
	connect(fd, (void *)&a, sizeof a);
	for (uint64_t sent = 0; (due = start + sent * gap) < end; sent++) {
		struct timespec at = { due / 1000000000, due % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0);
		send(fd, buffer, bytes, 0);
	}
	return 0;
}

static int blast(const char *to, int port, int bytes, long packets, int flows)
{
	int fd[64], room = 1 << 26;	/* what waits in a queue must not block */
	for (int k = 0; k < flows; k++) {
		struct sockaddr_in a = address(to, port + k);
		fd[k] = socket(AF_INET, SOCK_DGRAM, 0);
		setsockopt(fd[k], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
		connect(fd[k], (void *)&a, sizeof a);
	}
	uint64_t start = now();
	for (long k = 0; k < packets; k++)
		send(fd[k % flows], buffer, bytes, 0);
	printf("%.0f\n", (double)(now() - start) / packets);
	return 0;
}

static int dump(const char *name, unsigned entries)
{
	union bpf_attr a;
	struct termios tty;
	unsigned id = 0;
	if (!tcgetattr(1, &tty))
		cfmakeraw(&tty), tcsetattr(1, TCSANOW, &tty);
	for (;;) {
		struct bpf_map_info info = {};
		memset(&a, 0, sizeof a), a.start_id = id;
		if (syscall(SYS_bpf, BPF_MAP_GET_NEXT_ID, &a, sizeof a))
			return 1;
		id = a.next_id;
		memset(&a, 0, sizeof a), a.map_id = id;
		int fd = syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &a, sizeof a);
		memset(&a, 0, sizeof a), a.info.bpf_fd = fd, a.info.info_len = sizeof info, a.info.info = (uint64_t)&info;
		syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof a);
		if (strcmp(info.name, name)) {
			close(fd);
			continue;
		}
		for (unsigned k = 0; k < entries; k++) {
			memset(&a, 0, sizeof a), a.map_fd = fd, a.key = (uint64_t)&k, a.value = (uint64_t)buffer;
			if (syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &a, sizeof a) || fwrite(buffer, info.value_size, 1, stdout) != 1)
				return 2;
		}
		return fflush(stdout), tcdrain(1), 0;
	}
}

int main(int n, char **v)
{
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_TIMERSLACK, 1);
	if (n > 2 && !strcmp(v[1], "offload"))
		return offload(v[2]);
	if (n > 4 && !strcmp(v[1], "sink"))
		return sink(atoi(v[2]), atof(v[3]), atof(v[4]));
	if (n > 6 && !strcmp(v[1], "tcp"))
		return tcp(v[2], atoi(v[3]), atoi(v[4]), atof(v[5]), v[6]);
	if (n > 6 && !strcmp(v[1], "udp"))
		return udp(v[2], atoi(v[3]), atoi(v[4]), atof(v[5]), atof(v[6]));
	if (n > 6 && !strcmp(v[1], "blast"))
		return blast(v[2], atoi(v[3]), atoi(v[4]), atol(v[5]), atoi(v[6]));
	if (n > 3 && !strcmp(v[1], "dump"))
		return dump(v[2], atoi(v[3]));
	return 2;
}
