#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "connection.h"
#include "meter.h"
#include "modes.h"

static void ignore_message(Connection *connection, const char *message, size_t length) {
  (void)connection;
  (void)message;
  (void)length;
}

// The server's remaining work and the release of its pages cannot be observed from here, so both get time.
static void settle(void) {
  uint64_t end = now_ns() + seconds_to_ns(options.warm_seconds);
  while (now_ns() < end) {
    if (connection_count > 0) {
      poll_connections(50, NULL);
    } else {
      nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
  }
}

// Memory without garbage: a server program collects it on this signal.
static long collected_rss_kb(void) {
  kill(options.server, SIGUSR2);
  settle();
  return server_rss_kb();
}

void run_idle(void) {
  long empty = collected_rss_kb();
  open_connections(options.connections, 0, ignore_message);
  settle();
  long full = collected_rss_kb();

  printf("{\"mode\":\"idle\",\"n\":%d,\"empty_kb\":%ld,\"full_kb\":%ld,\"kb_per_conn\":%.3f}\n", options.connections,
         empty, full, (double)(full - empty) / options.connections);
}
