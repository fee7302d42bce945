#include "latency.h"

// One bucket per µs. The last one holds everything slower.
#define BUCKETS 1000000

static uint64_t latencies[BUCKETS];

void record_latency(uint64_t ns) {
  uint64_t us = ns / 1000;
  latencies[us < BUCKETS ? us : BUCKETS - 1]++;
}

int percentile_us(double share) {
  uint64_t total = 0, seen = 0;
  for (int us = 0; us < BUCKETS; us++) total += latencies[us];
  for (int us = 0; us < BUCKETS; us++) {
    seen += latencies[us];
    if ((double)seen >= share * (double)total) return us;
  }
  return BUCKETS - 1;
}
