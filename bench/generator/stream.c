#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "connection.h"
#include "meter.h"
#include "modes.h"
#include "protocol.h"

// As the client of wire does it.
#define CREDIT 64
#define BATCH 32
// One item in this many is checked.
#define CHECK_EVERY 64

static Template credit;
static uint64_t items;

// `in_flight` counts the items since the last credit.
static void handle_item(Connection *connection, const char *message, size_t length) {
  if (items % CHECK_EVERY == 0 && !is_item(message, length)) {
    fprintf(stderr, "wsload: expected an item, got %.*s\n", (int)(length < 300 ? length : 300), message);
    exit(2);
  }
  items++;
  if (++connection->in_flight < BATCH) return;
  connection->in_flight = 0;
  send_bytes(connection, credit.bytes, credit.length);
}

static void receive_for(double seconds) {
  uint64_t end = now_ns() + seconds_to_ns(seconds);
  while (now_ns() < end) poll_connections(100, NULL);
}

void run_stream(void) {
  credit = make_credit(BATCH);
  Template request = make_stream_request(CREDIT);
  open_connections(options.connections, options.connections, handle_item);
  for (int i = 0; i < connection_count; i++) send_bytes(&connections[i], request.bytes, request.length);
  receive_for(options.warm_seconds);

  uint64_t before = items;
  Meter meter = start_meter();
  receive_for(options.measured_seconds);
  Reading reading = read_meter(&meter);
  double count = (double)(items - before);
  if (count == 0) {
    fprintf(stderr, "wsload: the server sent no item\n");
    exit(3);
  }

  printf("{\"mode\":\"stream\",\"n\":%d,\"items_s\":%.0f,\"client_cpu\":%.2f,\"server_cpu\":%.2f,"
         "\"server_us_per_item\":%.4f}\n",
         options.connections, count / reading.seconds, reading.own_cpu_seconds / reading.seconds,
         reading.server_cpu_seconds / reading.seconds, reading.server_cpu_seconds * 1e6 / count);
}
