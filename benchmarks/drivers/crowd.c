/* Neighbours and a prober, for the benchmark of fairness: two processes beside one broker.
 *
 *   crowd flood WINDOW CONNECTIONS ERROR_AT HOST PORT FILE
 *       Neighbours that pipeline: each sends the frames of the file (all of one size) again and again, WINDOW ahead of
 *       the answers, or with WINDOW 0 as fast as the socket takes them. WINDOW -1: there are no answers (acks=0), and
 *       what the socket took counts. Prints "connected", begins at the first line of its standard input, and answers
 *       each further line with a line of JSON of what was done since the line before. Ends with its standard input.
 *   crowd probe RUN_MS PERIOD_US PATIENCE_MS PROBE...
 *       PROBE is NAME,HOST,PORT,CONNECTIONS,TIMEOUT_MS,ERROR_AT,ERROR,FILE. Every PERIOD_US one request of each probe is
 *       due, whether or not the one before was answered; it goes out on the connection that has been idle for longest,
 *       and is left out if none is. A sample is the time from when it was due to its answer, less the timeout. What is
 *       not answered PATIENCE_MS after the end counts with the time that it has waited. Prints "connected", begins at a
 *       line of its standard input, prints one line of JSON. A connection that the broker closes is told, not an error.
 *
 * The prober asks for a real-time priority, which root gets, so that it waits for no processor itself. How late it was
 * all the same is in its line: "own" is from when a request was due to when it was sent.
 * ERROR_AT is the place of the error code in an answer, its length included, 0 for none; other errors are counted.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
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

#define BUFFER (1 << 20)
#define PARTS 64
#define HEAD 128
#define SEND_BUFFER (256 * 1024)
#define PRIORITY 20
#define DIAL_PAUSE_US 400 /* the mock lets few wait to be accepted, and who does not fit tries again after a second */
#define PROBES 4

struct frames {
    char *data;
    size_t size, each; /* of the file, of one frame */
};

struct connection {
    int fd, blocked, closed;
    size_t sent, allowed;   /* bytes since ever, of requests */
    size_t got, length;     /* of the answer that is coming */
    unsigned char head[HEAD];
    long due; /* ns; 0 while idle */
    struct probe *probe;
    struct connection *next; /* idle ones, the longest first */
};

struct probe {
    char *name;
    struct frames frames;
    struct connection *all, *idle, *idle_end;
    long connections, timeout, error_at, error, waiting, samples, room, left_out, errors, unanswered, lost;
    long *late;
};

static long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "crowd: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static double cpu_s(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static size_t length_at(const void *data) {
    uint32_t size;
    memcpy(&size, data, 4);
    return ntohl(size);
}

static struct frames load(const char *path) {
    struct frames frames;
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    frames.size = ftell(file);
    rewind(file);
    frames.data = malloc(frames.size);
    if (fread(frames.data, 1, frames.size, file) != frames.size) fail(path);
    fclose(file);
    errno = 0;
    frames.each = 4 + length_at(frames.data);
    return frames;
}

static int dial(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("the host must be an IPv4 address");
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1, room = SEND_BUFFER;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) fail("cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    usleep(DIAL_PAUSE_US);
    errno = 0;
    return fd;
}

static void watch(int poll, int how, int fd, void *whose, int writable) {
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = whose};
    if (epoll_ctl(poll, how, fd, &event)) fail("epoll_ctl");
}

static void lose(int poll, struct connection *c) {
    epoll_ctl(poll, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    c->closed = 1;
    errno = 0;
}

/* Send up to `allowed`. */
static void push(int poll, struct connection *c, struct frames *f) {
    while (!c->closed && c->sent < c->allowed) {
        struct iovec parts[PARTS];
        int count = 0;
        for (size_t at = c->sent; at < c->allowed && count < PARTS; count++) {
            size_t from = at % f->size, left = c->allowed - at, whole = f->size - from;
            parts[count].iov_base = f->data + from;
            parts[count].iov_len = left < whole ? left : whole;
            at += parts[count].iov_len;
        }
        ssize_t done = writev(c->fd, parts, count);
        if (done < 0 && errno != EAGAIN) return lose(poll, c);
        if (done < 0) break;
        c->sent += done;
    }
    errno = 0;
    int blocked = !c->closed && c->sent < c->allowed;
    if (blocked != c->blocked) watch(poll, EPOLL_CTL_MOD, c->fd, c, blocked);
    c->blocked = blocked;
}

/* Read what has come; the number of answers that it ends, and how many of them have another error. */
static long pull(int poll, struct connection *c, long error_at, long error, long *errors) {
    static char buffer[BUFFER];
    ssize_t got = recv(c->fd, buffer, BUFFER, 0);
    if (got < 0 && errno == EAGAIN) return errno = 0;
    if (got <= 0) return lose(poll, c), 0;
    long answers = 0;
    for (size_t at = 0; at < (size_t)got;) {
        size_t want = c->got < 4 ? 4 : c->length, step = want - c->got, have = got - at;
        if (step > have) step = have;
        if (c->got < HEAD) memcpy(c->head + c->got, buffer + at, step < HEAD - c->got ? step : HEAD - c->got);
        c->got += step;
        at += step;
        if (c->got == 4) c->length = 4 + length_at(c->head);
        if (c->got < 4 || c->got < c->length) continue;
        if (error_at && (int16_t)(c->head[error_at] << 8 | c->head[error_at + 1]) != error) ++*errors;
        c->got = 0;
        answers++;
    }
    return answers;
}

static int flood(int argc, char **argv) {
    if (argc != 6) fail("flood WINDOW CONNECTIONS ERROR_AT HOST PORT FILE");
    long window = atol(argv[0]), total = atol(argv[1]), error_at = atol(argv[2]), answered = 0, errors = 0, lost = 0;
    struct frames frames = load(argv[5]);
    int poll = epoll_create1(0), going = 0;
    struct connection *all = calloc(total, sizeof *all);
    for (long n = 0; n < total; n++) {
        all[n].fd = dial(argv[3], atoi(argv[4]));
        watch(poll, EPOLL_CTL_ADD, all[n].fd, &all[n], 0);
    }
    watch(poll, EPOLL_CTL_ADD, 0, NULL, 0);
    printf("connected\n");
    fflush(stdout);
    long since = 0, before = 0;
    double cpu = 0;
    for (;;) {
        struct epoll_event events[256];
        int count = epoll_wait(poll, events, 256, -1);
        for (int n = 0; n < count; n++) {
            struct connection *c = events[n].data.ptr;
            if (!c) {
                char newline; // one at a time: two may have come
                if (read(0, &newline, 1) <= 0) return 0;
                if (going) {
                    size_t sent = 0;
                    for (long k = 0; k < total; k++) sent += all[k].sent;
                    long done = window < 0 ? (long)(sent / frames.each) : answered, now = now_ns();
                    printf("{\"requests\": %ld, \"seconds\": %.6f, \"cpu_s\": %.6f, \"errors\": %ld, \"lost\": %ld}\n",
                           done - before, (now - since) / 1e9, cpu_s() - cpu, errors, lost);
                    fflush(stdout);
                    before = done, since = now, cpu = cpu_s();
                    continue;
                }
                going = 1, since = now_ns(), cpu = cpu_s();
                for (long k = 0; k < total; k++) {
                    all[k].allowed = window > 0 ? window * frames.each : SIZE_MAX / frames.each * frames.each;
                    push(poll, &all[k], &frames);
                }
                continue;
            }
            if (c->closed) continue;
            if (events[n].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
                long answers = pull(poll, c, error_at, 0, &errors);
                answered += answers;
                if (window > 0) c->allowed += answers * frames.each;
            }
            push(poll, c, &frames);
            lost += c->closed;
        }
    }
}

static struct probe parse(char *text, long room, int poll) {
    struct probe p = {0};
    p.name = strtok(text, ",");
    char *host = strtok(NULL, ","), *port = strtok(NULL, ","), *connections = strtok(NULL, ",");
    char *timeout = strtok(NULL, ","), *error_at = strtok(NULL, ","), *error = strtok(NULL, ","), *path = strtok(NULL, "");
    if (!path) fail("a probe is NAME,HOST,PORT,CONNECTIONS,TIMEOUT_MS,ERROR_AT,ERROR,FILE");
    p.frames = load(path);
    p.connections = atol(connections), p.timeout = atol(timeout) * 1000000;
    p.error_at = atol(error_at), p.error = atol(error);
    p.room = room;
    p.late = malloc(room * sizeof *p.late);
    p.all = calloc(p.connections, sizeof *p.all);
    for (long n = 0; n < p.connections; n++) {
        p.all[n].fd = dial(host, atoi(port));
        p.all[n].next = n + 1 < p.connections ? &p.all[n + 1] : NULL;
        watch(poll, EPOLL_CTL_ADD, p.all[n].fd, &p.all[n], 0);
    }
    p.idle = p.all;
    p.idle_end = &p.all[p.connections - 1];
    return p;
}

static int by_value(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static double quantile(long *sorted, long count, double q) {
    return count ? sorted[(long)((count - 1) * q + 0.5)] / 1e6 : 0;
}

static void tell(const char *name, long *late, long count) {
    qsort(late, count, sizeof *late, by_value);
    printf("\"%s\": {\"samples\": %ld, \"min_ms\": %.3f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f", name, count,
           quantile(late, count, 0), quantile(late, count, 0.5), quantile(late, count, 0.99), quantile(late, count, 1));
}

static int probe(int argc, char **argv) {
    if (argc < 4 || argc > 3 + PROBES) fail("probe RUN_MS PERIOD_US PATIENCE_MS PROBE...");
    long run = atol(argv[0]) * 1000000, period = atol(argv[1]) * 1000, patience = atol(argv[2]) * 1000000;
    long count = argc - 3, room = run / period + 2, ticks = 0;
    int poll = epoll_create1(0);
    struct probe probes[PROBES];
    long *own = malloc(room * sizeof *own), waiting = 0;
    for (long n = 0; n < count; n++) probes[n] = parse(argv[3 + n], room, poll);
    for (long n = 0; n < count; n++)
        for (long k = 0; k < probes[n].connections; k++) probes[n].all[k].probe = &probes[n];
    struct sched_param priority = {.sched_priority = PRIORITY};
    int realtime = sched_setscheduler(0, SCHED_RR, &priority) == 0;
    errno = 0;
    printf("connected\n");
    fflush(stdout);
    char line[64];
    if (!fgets(line, sizeof line, stdin)) return 1;
    long began = now_ns(), now = began;
    while (now - began < run || (waiting && now - began < run + patience)) {
        for (; now - began < run && began + ticks * period <= now; ticks++) {
            own[ticks] = now_ns() - (began + ticks * period);
            for (long n = 0; n < count; n++) {
                struct probe *p = &probes[n];
                struct connection *c = p->idle;
                while (c && c->closed) c = c->next;
                p->idle = c ? c->next : NULL;
                if (!c) {
                    p->left_out++;
                    continue;
                }
                c->due = began + ticks * period;
                c->allowed += p->frames.each;
                push(poll, c, &p->frames);
                p->waiting++, waiting++;
            }
        }
        struct epoll_event events[256];
        now = now_ns();
        long next = now - began < run ? began + ticks * period : began + run + patience;
        struct timespec wait = {0, 0};
        if (next > now) wait.tv_sec = (next - now) / 1000000000, wait.tv_nsec = (next - now) % 1000000000;
        struct pollfd any = {.fd = poll, .events = POLLIN};
        int had = ppoll(&any, 1, &wait, NULL) > 0 ? epoll_wait(poll, events, 256, 0) : 0;
        now = now_ns();
        for (int n = 0; n < had; n++) {
            struct connection *c = events[n].data.ptr;
            struct probe *p = c->probe;
            if (c->closed) continue;
            if (events[n].events & EPOLLOUT) push(poll, c, &p->frames);
            if (!c->closed && pull(poll, c, p->error_at, p->error, &p->errors)) {
                p->late[p->samples++] = now - c->due - p->timeout;
                p->waiting--, waiting--;
                c->due = 0;
                c->next = NULL;
                if (p->idle) p->idle_end->next = c;
                else p->idle = c;
                p->idle_end = c;
            }
            if (c->closed) {
                p->lost++;
                if (c->due) waiting--;
            }
        }
    }
    printf("{");
    for (long n = 0; n < count; n++) {
        struct probe *p = &probes[n];
        for (long k = 0; k < p->connections; k++)
            if (p->all[k].due && p->samples < p->room) {
                p->unanswered++;
                long late = now - p->all[k].due - p->timeout;
                p->late[p->samples++] = late > 0 ? late : 0;
            }
        tell(p->name, p->late, p->samples);
        printf(", \"left_out\": %ld, \"errors\": %ld, \"unanswered\": %ld, \"lost\": %ld}, ", p->left_out, p->errors,
               p->unanswered, p->lost);
    }
    tell("own", own, ticks);
    printf("}, \"realtime\": %d}\n", realtime);
    return 0;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    if (argc > 2 && !strcmp(argv[1], "flood")) return flood(argc - 2, argv + 2);
    if (argc > 2 && !strcmp(argv[1], "probe")) return probe(argc - 2, argv + 2);
    fail("flood or probe");
}
