// Connections of one epoll loop: opened, upgraded, read frame by frame.
#ifndef CONNECTION_H
#define CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

typedef enum { UPGRADING, GREETING, READY } Stage;

typedef struct {
  int socket;
  Stage stage;

  // Received bytes of an incomplete frame.
  char *rest;
  size_t rest_length, rest_capacity;

  // rpc: ids increase, and the server answers in order.
  uint32_t next_id, expected_id;
  unsigned in_flight;
  uint64_t sent_ns[MAX_DEPTH];
  unsigned sent, answered;

  // fan
  bool subscribes;
  bool delivered;
} Connection;

// Handles each application message in a mode.
typedef void MessageHandler(Connection *connection, const char *message, size_t length);

extern Connection *connections;
extern int connection_count;

// Opens `count` connections, of which those from `first_subscriber` on subscribe. Returns when all are ready.
void open_connections(int count, int first_subscriber, MessageHandler *on_message);

// Waits at most `timeout_ms` for events and handles them. `after_read`, if any, runs for each connection that was read.
void poll_connections(int timeout_ms, void (*after_read)(Connection *connection));

// Sends bytes that are already frames.
void send_bytes(Connection *connection, const char *bytes, size_t length);
void send_text(Connection *connection, const char *text);

#endif
