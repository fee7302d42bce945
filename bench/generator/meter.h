// Clocks and the counters of /proc: what the servers and this program used.
#ifndef METER_H
#define METER_H

#include <stdint.h>

uint64_t now_ns(void);
uint64_t seconds_to_ns(double seconds);

// CPU time of the servers so far, user and system, all threads.
double server_cpu_seconds(void);

// CPU time of this program so far: near one core, it and not the server is the bottleneck.
double own_cpu_seconds(void);

// Memory of the (first) server that is in RAM, in kB.
long server_rss_kb(void);

// One stretch of measured time: `start_meter` at its beginning, `read_meter` at its end.
typedef struct {
  uint64_t started_ns;
  double server_cpu;
  double own_cpu;
} Meter;

typedef struct {
  double seconds;
  double server_cpu_seconds;
  double own_cpu_seconds;
} Reading;

Meter start_meter(void);
Reading read_meter(const Meter *meter);

#endif
