// Clocks and the counters of /proc: the resources used by the servers and this program.
#ifndef METER_H
#define METER_H

#include <stdint.h>

uint64_t now_ns(void);
uint64_t seconds_to_ns(double seconds);

// CPU time of the servers so far, user and system, all threads.
double server_cpu_seconds(void);

// CPU time of this program so far. Near one core, this program is the bottleneck and not the server.
double own_cpu_seconds(void);

// Resident memory of the (first) server, in kB.
long server_rss_kb(void);

// One measured interval: `start_meter` at its beginning, `read_meter` at its end.
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
