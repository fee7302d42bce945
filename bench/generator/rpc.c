#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "latency.h"
#include "meter.h"
#include "modes.h"
#include "protocol.h"

// One response in this many is checked. Checking each would make this program the bottleneck.
#define CHECK_EVERY 64
#define SHOWN_MISMATCHES 3
#define SHOWN_BYTES 300

static Template request;
static uint64_t answers, mismatches;
static bool measuring;

static void send_requests(Connection *connection) {
  if (connection->in_flight == (unsigned)options.depth) return;
  static char buffer[MAX_DEPTH * MAX_FRAME];
  size_t length = 0;
  uint64_t now = now_ns();
  while (connection->in_flight < (unsigned)options.depth) {
    memcpy(buffer + length, request.bytes, request.length);
    write_id(buffer + length + request.id_offset, connection->next_id++);
    length += request.length;
    connection->sent_ns[connection->sent++ % MAX_DEPTH] = now;
    connection->in_flight++;
  }
  send_bytes(connection, buffer, length);
}

static void check_answer(const Connection *connection, const char *message, size_t length) {
  if (is_answer(message, length, connection->expected_id)) return;
  if (mismatches++ >= SHOWN_MISMATCHES) return;
  fprintf(stderr, "wsload: expected the response to %" PRIu32 ", got %.*s\n", connection->expected_id,
          (int)(length < SHOWN_BYTES ? length : SHOWN_BYTES), message);
}

static void handle_answer(Connection *connection, const char *message, size_t length) {
  if (connection->in_flight == 0) {
    fprintf(stderr, "wsload: a response without a request\n");
    exit(2);
  }
  if (answers % CHECK_EVERY == 0) check_answer(connection, message, length);
  answers++;
  connection->expected_id++;
  connection->in_flight--;
  uint64_t sent_ns = connection->sent_ns[connection->answered++ % MAX_DEPTH];
  if (measuring) record_latency(now_ns() - sent_ns);
}

static void exchange_for(double seconds) {
  uint64_t end = now_ns() + seconds_to_ns(seconds);
  while (now_ns() < end) poll_connections(100, send_requests);
}

void run_rpc(void) {
  request = make_request();
  open_connections(options.connections, options.connections, handle_answer);
  for (int i = 0; i < connection_count; i++) send_requests(&connections[i]);
  exchange_for(options.warm_seconds);

  uint64_t answers_before = answers;
  Meter meter = start_meter();
  measuring = true;
  exchange_for(options.measured_seconds);
  Reading reading = read_meter(&meter);
  double count = (double)(answers - answers_before);
  if (count == 0) {
    fprintf(stderr, "wsload: the server sent no response\n");
    exit(3);
  }

  printf("{\"mode\":\"rpc\",\"n\":%d,\"depth\":%d,\"rps\":%.0f,\"p50_us\":%d,\"p99_us\":%d,\"p999_us\":%d,"
         "\"mismatch\":%" PRIu64 ",\"client_cpu\":%.2f,\"server_cpu\":%.2f,\"server_us_per_req\":%.3f}\n",
         options.connections, options.depth, count / reading.seconds, percentile_us(0.5), percentile_us(0.99),
         percentile_us(0.999), mismatches, reading.own_cpu_seconds / reading.seconds,
         reading.server_cpu_seconds / reading.seconds, reading.server_cpu_seconds * 1e6 / count);
}
