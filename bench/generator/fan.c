#include <stdio.h>
#include <stdlib.h>

#include "connection.h"
#include "meter.h"
#include "modes.h"
#include "protocol.h"

#define SUBSCRIBE_TIMEOUT_SECONDS 30
#define PROBE_EVERY_SECONDS 0.2
#define QUIET_SECONDS 0.1

static Template publication;
static uint64_t published, deliveries;
static int reached;

static void handle_delivery(Connection *connection, const char *message, size_t length) {
  if (!connection->subscribes || !is_delivery(message, length)) return;
  deliveries++;
  if (connection->delivered) return;
  connection->delivered = true;
  reached++;
}

static void publish(void) {
  send_bytes(&connections[0], publication.bytes, publication.length);
  published++;
}

static void receive_for(double seconds) {
  uint64_t end = now_ns() + seconds_to_ns(seconds);
  while (now_ns() < end) poll_connections(10, NULL);
}

// Not every protocol confirms a subscription, so messages are published until each subscriber has received one.
static void await_subscriptions(void) {
  uint64_t deadline = now_ns() + seconds_to_ns(SUBSCRIBE_TIMEOUT_SECONDS);
  while (reached < options.connections) {
    if (now_ns() > deadline) {
      fprintf(stderr, "wsload: only %d of %d subscribers received a message within %d s\n", reached,
              options.connections, SUBSCRIBE_TIMEOUT_SECONDS);
      exit(3);
    }
    publish();
    receive_for(PROBE_EVERY_SECONDS);
  }
  // Messages that are still in flight do not count.
  uint64_t before;
  do {
    before = deliveries;
    receive_for(QUIET_SECONDS);
  } while (deliveries != before);
  published = deliveries = 0;
}

static void publish_for(double seconds) {
  uint64_t subscribers = (uint64_t)options.connections;
  uint64_t window = (uint64_t)options.window;
  uint64_t end = now_ns() + seconds_to_ns(seconds);
  while (now_ns() < end) {
    while (published * subscribers < deliveries + window * subscribers) publish();
    poll_connections(100, NULL);
  }
}

void run_fan(void) {
  publication = make_publication();
  open_connections(options.connections + 1, 1, handle_delivery);
  await_subscriptions();
  publish_for(options.warm_seconds);

  uint64_t deliveries_before = deliveries;
  Meter meter = start_meter();
  publish_for(options.measured_seconds);
  Reading reading = read_meter(&meter);
  double count = (double)(deliveries - deliveries_before);
  if (count == 0) {
    fprintf(stderr, "wsload: the server delivered nothing\n");
    exit(3);
  }

  printf("{\"mode\":\"fan\",\"subs\":%d,\"window\":%d,\"deliveries_s\":%.0f,\"msgs_s\":%.1f,\"client_cpu\":%.2f,"
         "\"server_cpu\":%.2f,\"server_us_per_delivery\":%.4f}\n",
         options.connections, options.window, count / reading.seconds,
         count / reading.seconds / options.connections, reading.own_cpu_seconds / reading.seconds,
         reading.server_cpu_seconds / reading.seconds, reading.server_cpu_seconds * 1e6 / count);
}
