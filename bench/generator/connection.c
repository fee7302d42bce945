#define _GNU_SOURCE
#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "frame.h"
#include "meter.h"
#include "protocol.h"

#define OPEN_TIMEOUT_SECONDS 30
// Small enough for any listen backlog.
#define MAX_UPGRADING 64
#define MAX_EVENTS 1024
#define SHOWN_BYTES 300

Connection *connections;
int connection_count;

static int epoll;
static int ready_count;
static MessageHandler *handle_message;

static void fail_with_errno(const char *action) {
  fprintf(stderr, "wsload: %s: %s\n", action, strerror(errno));
  exit(1);
}

static int shown(size_t length) {
  return (int)(length < SHOWN_BYTES ? length : SHOWN_BYTES);
}

// --- sending ---

void send_bytes(Connection *connection, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t sent = send(connection->socket, bytes, length, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN) fail_with_errno("cannot send");
      struct pollfd writable = {connection->socket, POLLOUT, 0};
      poll(&writable, 1, 1000);
      continue;
    }
    bytes += sent;
    length -= (size_t)sent;
  }
}

static void send_frame(Connection *connection, int opcode, const char *payload, size_t length) {
  char frame[MAX_FRAME];
  send_bytes(connection, frame, write_frame(frame, opcode, payload, length));
}

void send_text(Connection *connection, const char *text) {
  send_frame(connection, OPCODE_TEXT, text, strlen(text));
}

// --- receiving ---

static void mark_ready(Connection *connection) {
  connection->stage = READY;
  ready_count++;
  if (connection->subscribes) send_text(connection, subscription());
}

static void fail_closed(const Frame *frame) {
  const unsigned char *bytes = (const unsigned char *)frame->payload;
  int code = frame->length >= 2 ? bytes[0] << 8 | bytes[1] : 0;
  int reason = frame->length > 2 ? (int)frame->length - 2 : 0;
  fprintf(stderr, "wsload: the server closed a connection with code %d %.*s\n", code, reason, frame->payload + 2);
  exit(2);
}

static void handle_frame(Connection *connection, const Frame *frame) {
  switch (frame->opcode) {
    case OPCODE_PING:
      send_frame(connection, OPCODE_PONG, frame->payload, frame->length);
      return;
    case OPCODE_CLOSE:
      fail_closed(frame);
      return;
    case OPCODE_TEXT:
    case OPCODE_BINARY:
      break;
    default:
      return;
  }
  bool greets = connection->stage == GREETING;
  const char *answer = greets ? greeting_answer(frame->payload, frame->length)
                              : heartbeat_answer(frame->payload, frame->length);
  if (answer) send_text(connection, answer);
  if (greets) {
    if (ends_greeting(frame->payload, frame->length)) mark_ready(connection);
  } else if (!answer) {
    handle_message(connection, frame->payload, frame->length);
  }
}

// The length of the server's response to the upgrade. 0 when more bytes are needed.
static size_t read_upgrade(Connection *connection, const char *bytes, size_t length) {
  const char *end = memmem(bytes, length, "\r\n\r\n", 4);
  if (!end) return 0;
  if (strncmp(bytes, "HTTP/1.1 101", 12)) {
    fprintf(stderr, "wsload: the server refused the upgrade: %.*s\n", shown(length), bytes);
    exit(2);
  }
  connection->stage = GREETING;
  if (!has_greeting()) mark_ready(connection);
  return (size_t)(end + 4 - bytes);
}

static size_t handle_bytes(Connection *connection, const char *bytes, size_t length) {
  size_t handled = 0;
  if (connection->stage == UPGRADING) handled = read_upgrade(connection, bytes, length);
  if (connection->stage == UPGRADING) return 0;
  Frame frame;
  size_t frame_length;
  while ((frame_length = read_frame(bytes + handled, length - handled, &frame)) > 0) {
    handle_frame(connection, &frame);
    handled += frame_length;
  }
  return handled;
}

static void reserve_rest(Connection *connection, size_t capacity) {
  if (connection->rest_capacity >= capacity) return;
  connection->rest_capacity = capacity + 4096;
  connection->rest = realloc(connection->rest, connection->rest_capacity);
  if (!connection->rest) fail_with_errno("cannot allocate");
}

static void read_connection(Connection *connection) {
  static char buffer[1 << 17];
  ssize_t received = recv(connection->socket, buffer, sizeof buffer, 0);
  if (received < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    fail_with_errno("cannot receive");
  }
  if (received == 0) {
    fprintf(stderr, "wsload: the server ended a connection without a close frame\n");
    exit(2);
  }
  const char *bytes = buffer;
  size_t length = (size_t)received;
  // Most frames arrive complete and are read in place. Only a split one is assembled elsewhere.
  if (connection->rest_length > 0) {
    reserve_rest(connection, connection->rest_length + length);
    memcpy(connection->rest + connection->rest_length, buffer, length);
    bytes = connection->rest;
    length += connection->rest_length;
  }
  size_t handled = handle_bytes(connection, bytes, length);
  connection->rest_length = length - handled;
  if (connection->rest_length == 0) return;
  // When `bytes` are those of `rest` it is large enough already and does not move.
  reserve_rest(connection, connection->rest_length);
  memmove(connection->rest, bytes + handled, connection->rest_length);
}

void poll_connections(int timeout_ms, void (*after_read)(Connection *connection)) {
  struct epoll_event events[MAX_EVENTS];
  int count = epoll_wait(epoll, events, MAX_EVENTS, timeout_ms);
  for (int i = 0; i < count; i++) {
    Connection *connection = events[i].data.ptr;
    read_connection(connection);
    if (after_read) after_read(connection);
  }
}

// --- opening ---

// Thousands of connections are more than most shells allow by default, and fewer than the system allows.
static void raise_file_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static void dial(Connection *connection, int port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons((uint16_t)port),
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
  };
  connection->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->socket < 0) fail_with_errno("cannot open a socket");
  if (connect(connection->socket, (struct sockaddr *)&address, sizeof address) < 0) fail_with_errno("cannot connect");
  int on = 1;
  setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);

  char request[1024];
  int length = snprintf(request, sizeof request,
                        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                        options.path, port);
  send_bytes(connection, request, (size_t)length);
  fcntl(connection->socket, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, connection->socket, &event) < 0) fail_with_errno("cannot poll");
}

static void await_ready(int count, uint64_t deadline) {
  while (ready_count < count) {
    if (now_ns() > deadline) {
      fprintf(stderr, "wsload: only %d of %d connections were ready within %d s\n", ready_count, connection_count,
              OPEN_TIMEOUT_SECONDS);
      exit(3);
    }
    poll_connections(10, NULL);
  }
}

void open_connections(int count, int first_subscriber, MessageHandler *on_message) {
  raise_file_limit();
  handle_message = on_message;
  connection_count = count;
  connections = calloc((size_t)count, sizeof *connections);
  epoll = epoll_create1(0);
  if (!connections || epoll < 0) fail_with_errno("cannot prepare the connections");

  uint64_t deadline = now_ns() + seconds_to_ns(OPEN_TIMEOUT_SECONDS);
  for (int i = 0; i < count; i++) {
    Connection *connection = &connections[i];
    connection->next_id = connection->expected_id = FIRST_ID;
    connection->subscribes = i >= first_subscriber;
    bool second = options.second_port && connection->subscribes && i % 2 == 1;
    await_ready(i - MAX_UPGRADING, deadline);
    dial(connection, second ? options.second_port : options.port);
  }
  await_ready(count, deadline);
}
