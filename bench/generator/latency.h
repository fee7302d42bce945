// Response times.
#ifndef LATENCY_H
#define LATENCY_H

#include <stdint.h>

void record_latency(uint64_t ns);

// The latency that `share` of all recorded responses did not exceed.
int percentile_us(double share);

#endif
