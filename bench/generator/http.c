#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "answer.h"
#include "latency.h"
#include "meter.h"
#include "modes.h"
#include "options.h"

// One response in this many is checked. Checking each would make this program the bottleneck.
#define CHECK_EVERY 64
#define MAX_EVENTS 256
#define MAX_ANSWER (1 << 20)
#define FINISH_SECONDS 10
#define SHOWN_WRONG 3
#define SHOWN_BYTES 300

// The request, and a part of its response.
typedef struct {
  const char *bytes;
  size_t length;
  const char *expected;
  size_t expected_length;
} Exchange;

typedef struct {
  // -1 when it is closed. It is then opened again for the next request.
  int socket;
  bool is_waiting;
  const Exchange *exchange;
  uint64_t due_ns;
  char *received;
  size_t received_length;
} Line;

static Exchange *exchanges;
static size_t exchange_count;
static Line *lines;
// The connections without a request, the last used one last.
static Line **idle;
static int idle_count;
static int epoll, timer;
static bool measuring;
// Requests per second. 0 for as many as are answered.
static double rate;
// Nothing is sent beyond this number of requests.
static uint64_t limit = UINT64_MAX;
static uint64_t sent, answers, wrong, late;
// When the first request at `rate` was due, and its number.
static uint64_t started_ns, first_paced;

static void fail_with_errno(const char *action) {
  fprintf(stderr, "wsload: %s: %s\n", action, strerror(errno));
  exit(1);
}

// --- the file ---

// Each request as two lengths on one line, the request, and the text that its response must contain.
static void read_exchanges(void) {
  FILE *file = fopen(options.requests, "r");
  if (!file) fail_with_errno("cannot read the requests");
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(size + 1);
  if (!bytes || fread(bytes, 1, size, file) != size) fail_with_errno("cannot read the requests");
  fclose(file);
  bytes[size] = '\0';
  size_t capacity = 0;
  for (char *at = bytes; at < bytes + size;) {
    if (exchange_count == capacity) {
      capacity = capacity ? capacity * 2 : 1024;
      exchanges = realloc(exchanges, capacity * sizeof *exchanges);
      if (!exchanges) fail_with_errno("cannot keep the requests");
    }
    Exchange exchange;
    exchange.length = strtoul(at, &at, 10);
    exchange.expected_length = strtoul(at, &at, 10);
    exchange.bytes = at + 1;
    exchange.expected = exchange.bytes + exchange.length;
    at = (char *)exchange.expected + exchange.expected_length;
    exchanges[exchange_count++] = exchange;
  }
  if (exchange_count == 0) {
    fprintf(stderr, "wsload: there are no requests in %s\n", options.requests);
    exit(64);
  }
}

// --- connections ---

static void open_line(Line *line) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  line->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (line->socket < 0 || connect(line->socket, (struct sockaddr *)&address, sizeof address)) {
    fail_with_errno("cannot connect");
  }
  int on = 1;
  setsockopt(line->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = line};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, line->socket, &event)) fail_with_errno("cannot watch a connection");
}

static void close_line(Line *line) {
  close(line->socket);
  line->socket = -1;
  line->received_length = 0;
}

static void send_on(Line *line) {
  if (line->socket < 0) open_line(line);
  const char *bytes = line->exchange->bytes;
  for (size_t left = line->exchange->length; left > 0;) {
    ssize_t count = send(line->socket, bytes, left, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno != EPIPE && errno != ECONNRESET) fail_with_errno("cannot send");
      // The server closed it while it was idle.
      close_line(line);
      open_line(line);
      bytes = line->exchange->bytes;
      left = line->exchange->length;
      continue;
    }
    bytes += count;
    left -= (size_t)count;
  }
}

static void ask(Line *line, uint64_t due_ns) {
  line->exchange = &exchanges[sent++ % exchange_count];
  line->due_ns = due_ns;
  line->is_waiting = true;
  send_on(line);
}

// --- responses ---

static void complain(const Line *line, size_t length) {
  if (wrong++ >= SHOWN_WRONG) return;
  fprintf(stderr, "wsload: asked %.*s\ngot %.*s\n", (int)line->exchange->length, line->exchange->bytes,
          (int)(length < SHOWN_BYTES ? length : SHOWN_BYTES), line->received);
}

static void check(const Line *line, const Answer *answer) {
  if (answer->status != 200) {
    complain(line, answer->length);
    return;
  }
  if (answers % CHECK_EVERY != 0) return;
  const char *body = line->received + answer->body_offset;
  size_t length = answer->length - answer->body_offset;
  if (!memmem(body, length, line->exchange->expected, line->exchange->expected_length)) {
    complain(line, answer->length);
  }
}

static void handle_closed(Line *line) {
  close_line(line);
  // Closed just when it was reused: send the request once more, as browsers do.
  if (line->is_waiting) send_on(line);
}

static void read_line(Line *line) {
  ssize_t count = recv(line->socket, line->received + line->received_length, MAX_ANSWER - line->received_length, 0);
  if (count <= 0) {
    handle_closed(line);
    return;
  }
  line->received_length += (size_t)count;
  Answer answer = read_answer(line->received, line->received_length);
  if (answer.length == 0) {
    if (line->received_length == MAX_ANSWER) {
      fprintf(stderr, "wsload: a response of over %d bytes\n", MAX_ANSWER);
      exit(2);
    }
    return;
  }
  check(line, &answer);
  answers++;
  if (measuring) record_latency(now_ns() - line->due_ns);
  line->received_length = 0;
  line->is_waiting = false;
  idle[idle_count++] = line;
}

// --- time ---

static uint64_t due_of(uint64_t number) {
  return started_ns + seconds_to_ns((double)(number - first_paced) / rate);
}

static void wake_at(uint64_t ns) {
  struct itimerspec spec = {.it_value = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

// Sends every due request for which a connection is free.
static void ask_due(void) {
  uint64_t now = now_ns();
  while (idle_count > 0 && sent < limit) {
    uint64_t due = rate > 0 ? due_of(sent) : now;
    if (due > now) break;
    // Over a millisecond late: this program or the server could not keep up.
    if (measuring && now - due > 1000000) late++;
    ask(idle[--idle_count], due);
  }
  if (rate > 0) wake_at(due_of(sent) > now ? due_of(sent) : now + 1000000);
}

static void exchange_once(void) {
  struct epoll_event events[MAX_EVENTS];
  ask_due();
  int count = epoll_wait(epoll, events, MAX_EVENTS, 100);
  for (int i = 0; i < count; i++) {
    if (events[i].data.ptr) {
      read_line(events[i].data.ptr);
      continue;
    }
    uint64_t expirations;
    if (read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) fail_with_errno("cannot wait");
  }
}

static void exchange_for(double seconds) {
  uint64_t end = now_ns() + seconds_to_ns(seconds);
  while (now_ns() < end) exchange_once();
}

static void exchange_laps(int laps) {
  limit = (uint64_t)laps * exchange_count;
  while (answers < limit) exchange_once();
  limit = UINT64_MAX;
}

// Waits for the responses in flight, so that abandoned requests do not count against the server.
static void finish(void) {
  uint64_t end = now_ns() + seconds_to_ns(FINISH_SECONDS);
  measuring = false;
  limit = sent;
  while (answers < sent && now_ns() < end) exchange_once();
}

static void open_all(void) {
  epoll = epoll_create1(0);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll < 0 || timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event)) fail_with_errno("cannot wait");
  lines = calloc((size_t)options.connections, sizeof *lines);
  idle = calloc((size_t)options.connections, sizeof *idle);
  if (!lines || !idle) fail_with_errno("cannot keep the connections");
  for (int i = 0; i < options.connections; i++) {
    lines[i].socket = -1;
    lines[i].received = malloc(MAX_ANSWER);
    if (!lines[i].received) fail_with_errno("cannot keep the connections");
    idle[idle_count++] = &lines[i];
  }
}

void run_http(void) {
  read_exchanges();
  open_all();
  exchange_laps(options.laps);
  started_ns = now_ns();
  first_paced = sent;
  rate = options.rate;
  exchange_for(options.warm_seconds);

  uint64_t answers_before = answers;
  Meter meter = start_meter();
  measuring = true;
  exchange_for(options.measured_seconds);
  Reading reading = read_meter(&meter);
  double count = (double)(answers - answers_before);
  finish();
  if (count == 0) {
    fprintf(stderr, "wsload: the server sent no response\n");
    exit(3);
  }
  printf("{\"mode\":\"http\",\"rps\":%.1f,\"p50_us\":%d,\"p95_us\":%d,\"p99_us\":%d,\"late\":%.4f,"
         "\"mismatch\":%" PRIu64 ",\"client_cpu\":%.2f,\"server_cpu\":%.3f,\"server_us_per_req\":%.3f}\n",
         count / reading.seconds, percentile_us(0.5), percentile_us(0.95), percentile_us(0.99), (double)late / count,
         wrong, reading.own_cpu_seconds / reading.seconds, reading.server_cpu_seconds / reading.seconds,
         reading.server_cpu_seconds * 1e6 / count);
}
