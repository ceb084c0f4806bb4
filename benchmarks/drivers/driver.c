/* The driver of the benchmarks: sends pre-encoded request frames, counts the answers, and reads the clock.
 *
 *   driver run WINDOW WARM_MS RUN_MS MAX_ANSWERS ERROR_AT TARGET...
 *       TARGET is HOST,PORT,CONNECTIONS,FILE: the file holds whole frames of one size, sent again and again. WINDOW
 *       requests are in flight per connection. Ends after RUN_MS or MAX_ANSWERS, then waits for what is in flight.
 *   driver park TIMEOUT_MS RATE CONNECTIONS ERROR_AT ERROR HOST,PORT,1,FILE
 *       One connection per request, RATE requests a second. Every answer must come TIMEOUT_MS later with ERROR.
 *       Prints "connected" and waits for a line, prints "parked" when all are sent.
 *   driver sink ANSWER_BYTES
 *       The other side of a driver that measures itself: prints its port, answers each frame with that many bytes.
 *
 * ERROR_AT is the place of the error code in an answer, its length included; an answer with another error ends the run.
 * Every mode prints one line of JSON at its end. python_driver.py does the same where there is no compiler.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BUFFER (1 << 18)
#define PATIENCE_MS 30000
#define PARTS 64
#define SAMPLES (1 << 21)

struct target {
    struct sockaddr_in address;
    int connections;
    char *frames;
    size_t size, frame; /* of the file, of one frame */
};

struct connection {
    struct target *target;
    int fd, blocked;
    long allowed, answered; /* requests */
    size_t sent;            /* bytes, since ever */
    size_t kept;            /* bytes of an answer that is not whole */
    size_t skip;            /* bytes of a large answer that are still to come, and not looked at */
    char rest[512];
    long sent_at; /* ns, of the last send */
};

static long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "driver: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static uint32_t length_at(const char *data) {
    uint32_t size;
    memcpy(&size, data, 4);
    return ntohl(size);
}

static double cpu_s(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static struct target parse(char *text) {
    struct target target = {0};
    char *host = strtok(text, ","), *port = strtok(NULL, ","), *connections = strtok(NULL, ","), *path = strtok(NULL, "");
    if (!host || !port || !connections || !path) fail("a target is HOST,PORT,CONNECTIONS,FILE");
    target.address.sin_family = AF_INET;
    target.address.sin_port = htons(atoi(port));
    if (inet_pton(AF_INET, host, &target.address.sin_addr) != 1) fail("the host must be an IPv4 address");
    target.connections = atoi(connections);
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    target.size = ftell(file);
    rewind(file);
    target.frames = malloc(target.size);
    if (fread(target.frames, 1, target.size, file) != target.size) fail(path);
    fclose(file);
    errno = 0;
    target.frame = 4 + length_at(target.frames);
    for (size_t at = 0; at < target.size; at += target.frame)
        if (4 + length_at(target.frames + at) != target.frame) fail("the frames of a file must be of one size");
    return target;
}

static int dial(struct target *target) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&target->address, sizeof target->address)) fail("cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    errno = 0;
    return fd;
}

static void watch(int poll, int how, int fd, void *whose, int writable) {
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = whose};
    if (epoll_ctl(poll, how, fd, &event)) fail("epoll_ctl");
}

/* Send what the window allows. */
static void push(int poll, struct connection *c) {
    struct target *t = c->target;
    size_t end = (size_t)c->allowed * t->frame;
    while (c->sent < end) {
        struct iovec parts[PARTS];
        int count = 0;
        for (size_t at = c->sent; at < end && count < PARTS; count++) {
            size_t from = at % t->size, left = end - at, whole = t->size - from;
            parts[count].iov_base = t->frames + from;
            parts[count].iov_len = left < whole ? left : whole;
            at += parts[count].iov_len;
        }
        ssize_t done = writev(c->fd, parts, count);
        if (done < 0 && errno != EAGAIN) fail("send");
        if (done > 0) c->sent += done;
        if (done < 0) break;
    }
    errno = 0;
    int blocked = c->sent < end;
    if (blocked != c->blocked) watch(poll, EPOLL_CTL_MOD, c->fd, c, blocked);
    c->blocked = blocked;
}

/* Read what has come; returns the number of whole answers. Any error code but `error` ends the process. */
static long pull(struct connection *c, long error_at, int error) {
    static char buffer[BUFFER + sizeof c->rest];
    memcpy(buffer, c->rest, c->kept);
    ssize_t got = recv(c->fd, buffer + c->kept, BUFFER, 0);
    if (got == 0) fail("the broker closed the connection");
    if (got < 0 && errno == EAGAIN) return errno = 0;
    if (got < 0) fail("receive");
    size_t have = c->kept + got, at = 0;
    long answers = 0;
    if (c->skip) {
        at = have < c->skip ? have : c->skip;
        c->skip -= at;
        if (!c->skip) answers++;
    }
    while (have - at >= 4) {
        size_t whole = 4 + (size_t)length_at(buffer + at);
        int is_large = have - at < whole && have - at > sizeof c->rest;
        if (have - at < whole && !is_large) break;
        if (error_at) {
            int code = (unsigned char)buffer[at + error_at] << 8 | (unsigned char)buffer[at + error_at + 1];
            if (code != error) {
                fprintf(stderr, "driver: an answer has error code %d instead of %d\n", (int16_t)code, error);
                exit(1);
            }
        }
        if (is_large) {
            c->skip = whole - (have - at);
            at = have;
        } else {
            at += whole;
            answers++;
        }
    }
    c->kept = have - at;
    memcpy(c->rest, buffer + at, c->kept);
    return answers;
}

static int by_value(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static double quantile(long *sorted, long count, double q) {
    return count ? sorted[(long)((count - 1) * q + 0.5)] / 1e6 : 0;
}

static int run(int argc, char **argv) {
    if (argc < 6) fail("run WINDOW WARM_MS RUN_MS MAX_ANSWERS ERROR_AT TARGET...");
    long window = atol(argv[0]), warm = atol(argv[1]) * 1000000, length = atol(argv[2]) * 1000000, most = atol(argv[3]);
    long error_at = atol(argv[4]), total = 0, answered = 0, before = 0, samples = 0;
    int targets = argc - 5, poll = epoll_create1(0), measuring = 0;
    struct target *target = calloc(targets, sizeof *target);
    for (int n = 0; n < targets; n++) total += (target[n] = parse(argv[5 + n])).connections;
    struct connection *all = calloc(total, sizeof *all);
    long *took = window == 1 ? malloc(SAMPLES * sizeof *took) : NULL, open = 0;
    for (int n = 0; n < targets; n++)
        for (int k = 0; k < target[n].connections; k++, open++) {
            all[open].target = &target[n];
            all[open].fd = dial(&target[n]);
            watch(poll, EPOLL_CTL_ADD, all[open].fd, &all[open], 0);
        }
    long began = now_ns(), start = began;
    double cpu = cpu_s();
    for (long n = 0; n < total; n++) {
        all[n].allowed = window;
        all[n].sent_at = now_ns();
        push(poll, &all[n]);
    }
    long end = 0, now = began, in_flight = total * window, ended_answered = 0;
    double ended_cpu = 0;
    while (in_flight) {
        struct epoll_event events[256];
        int count = epoll_wait(poll, events, 256, PATIENCE_MS);
        if (count == 0) fail("no answer within 30 s");
        for (int n = 0; n < count; n++) {
            struct connection *c = events[n].data.ptr;
            if (events[n].events & EPOLLIN) {
                long answers = pull(c, error_at, 0);
                answered += answers;
                in_flight -= answers;
                if (took && answers) {
                    now = now_ns();
                    if (measuring && !end && samples < SAMPLES) took[samples++] = now - c->sent_at;
                    c->sent_at = now;
                }
                if (!end) {
                    c->allowed += answers;
                    in_flight += answers;
                }
            }
            push(poll, c);
        }
        now = now_ns();
        if (!measuring && now - began >= warm) {
            measuring = 1;
            start = now;
            before = answered;
            cpu = cpu_s();
        } else if (measuring && !end && (now - start >= length || answered - before >= most)) {
            end = now;
            ended_answered = answered;
            ended_cpu = cpu_s();
        }
    }
    double seconds = (end - start) / 1e9;
    if (took) qsort(took, samples, sizeof *took, by_value);
    printf("{\"answers\": %ld, \"seconds\": %.6f, \"cpu_s\": %.6f, \"frame_bytes\": %zu, \"all_answers\": %ld",
           ended_answered - before, seconds, ended_cpu - cpu, target[0].frame, answered);
    if (took) printf(", \"p50_ms\": %.6f, \"p99_ms\": %.6f", quantile(took, samples, 0.5), quantile(took, samples, 0.99));
    printf("}\n");
    return 0;
}

static int park(int argc, char **argv) {
    if (argc != 6) fail("park TIMEOUT_MS RATE CONNECTIONS ERROR_AT ERROR TARGET");
    long timeout = atol(argv[0]) * 1000000, pause = 1000000000L / atol(argv[1]), total = atol(argv[2]);
    long error_at = atol(argv[3]), sent = 0, answered = 0;
    int error = atoi(argv[4]), poll = epoll_create1(0);
    struct target target = parse(argv[5]);
    struct connection *all = calloc(total, sizeof *all);
    long *late = malloc(total * sizeof *late);
    for (long n = 0; n < total; n++) {
        all[n].target = &target;
        all[n].fd = dial(&target);
        watch(poll, EPOLL_CTL_ADD, all[n].fd, &all[n], 0);
    }
    printf("connected\n");
    fflush(stdout);
    char line[16];
    if (!fgets(line, sizeof line, stdin)) return 1;
    long began = now_ns();
    while (answered < total) {
        for (long now = now_ns(); sent < total && began + sent * pause <= now; now = now_ns()) {
            struct connection *c = &all[sent++];
            c->allowed = 1;
            c->sent_at = now;
            push(poll, c);
            if (sent == total) {
                printf("parked\n");
                fflush(stdout);
            }
        }
        struct epoll_event events[256];
        int count = epoll_wait(poll, events, 256, sent < total ? 1 : (int)(timeout / 1000000) + 30000);
        if (count == 0 && sent == total) fail("answers are missing");
        for (int n = 0; n < count; n++) {
            struct connection *c = events[n].data.ptr;
            long answers = pull(c, error_at, error);
            if (answers) late[answered++] = now_ns() - c->sent_at - timeout;
        }
    }
    struct linger reset = {1, 0}; /* no TIME_WAIT for thousands of ports */
    for (long n = 0; n < total; n++) {
        setsockopt(all[n].fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(all[n].fd);
    }
    qsort(late, total, sizeof *late, by_value);
    printf("{\"answers\": %ld, \"min_ms\": %.3f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}\n", answered,
           late[0] / 1e6, quantile(late, total, 0.5), quantile(late, total, 0.99), late[total - 1] / 1e6);
    return 0;
}

struct reader {
    int fd;
    size_t skip, head; /* bytes of the frame to come; bytes of its length that are there */
    char length[4];
};

static int sink(int argc, char **argv) {
    if (argc != 1) fail("sink ANSWER_BYTES");
    size_t answer = atol(argv[0]), room = 64 * 1024;
    int listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0), yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("{\"port\": %d}\n", ntohs(address.sin_port));
    fflush(stdout);
    static char buffer[BUFFER];
    char *answers = calloc(room, answer);
    for (size_t n = 0; n < room; n++) {
        uint32_t length = htonl(answer - 4);
        memcpy(answers + n * answer, &length, 4);
    }
    struct reader ends = {.fd = 0}, accepts = {.fd = listener};
    watch(poll, EPOLL_CTL_ADD, 0, &ends, 0);
    watch(poll, EPOLL_CTL_ADD, listener, &accepts, 0);
    for (;;) {
        struct epoll_event events[256];
        int count = epoll_wait(poll, events, 256, -1);
        for (int n = 0; n < count; n++) {
            struct reader *r = events[n].data.ptr;
            if (r == &ends) return 0; /* whoever started us has gone */
            if (r == &accepts) {
                struct reader *fresh = calloc(1, sizeof *fresh);
                fresh->fd = accept(listener, NULL, NULL);
                setsockopt(fresh->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                watch(poll, EPOLL_CTL_ADD, fresh->fd, fresh, 0);
                continue;
            }
            ssize_t got = recv(r->fd, buffer, BUFFER, 0);
            if (got <= 0) {
                close(r->fd);
                free(r);
                continue;
            }
            size_t whole = 0;
            for (ssize_t at = 0; at < got;) {
                if (r->head < 4) {
                    r->length[r->head++] = buffer[at++];
                    if (r->head == 4) r->skip = length_at(r->length);
                } else {
                    size_t step = r->skip < (size_t)(got - at) ? r->skip : (size_t)(got - at);
                    r->skip -= step;
                    at += step;
                }
                if (r->head == 4 && r->skip == 0) r->head = 0, whole++;
            }
            if (whole && send(r->fd, answers, whole * answer, MSG_NOSIGNAL) < 0) fail("sink: send");
        }
    }
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    if (argc > 2 && !strcmp(argv[1], "run")) return run(argc - 2, argv + 2);
    if (argc > 2 && !strcmp(argv[1], "park")) return park(argc - 2, argv + 2);
    if (argc > 2 && !strcmp(argv[1], "sink")) return sink(argc - 2, argv + 2);
    fail("run, park or sink");
}
