#include "meter.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "options.h"

uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

uint64_t seconds_to_ns(double seconds) {
  return (uint64_t)(seconds * 1e9);
}

static FILE *open_proc(pid_t process, const char *file) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)process, file);
  FILE *opened = fopen(path, "r");
  if (!opened) {
    fprintf(stderr, "wsload: cannot read %s: the server has ended\n", path);
    exit(2);
  }
  return opened;
}

// The clock of the process, because /proc/PID/stat counts in hundredths of a second.
static double process_cpu_seconds(pid_t process) {
  clockid_t clock;
  struct timespec time;
  if (clock_getcpuclockid(process, &clock) || clock_gettime(clock, &time)) {
    fprintf(stderr, "wsload: cannot read the CPU time of process %d: the server has ended\n", (int)process);
    exit(2);
  }
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double server_cpu_seconds(void) {
  double seconds = process_cpu_seconds(options.server);
  if (options.second_server) seconds += process_cpu_seconds(options.second_server);
  return seconds;
}

static double to_seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

double own_cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime);
}

long server_rss_kb(void) {
  char line[256];
  long kb = -1;
  FILE *file = open_proc(options.server, "status");
  while (kb < 0 && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &kb);
  fclose(file);
  return kb;
}

Meter start_meter(void) {
  return (Meter){now_ns(), server_cpu_seconds(), own_cpu_seconds()};
}

Reading read_meter(const Meter *meter) {
  return (Reading){
      .seconds = (double)(now_ns() - meter->started_ns) / 1e9,
      .server_cpu_seconds = server_cpu_seconds() - meter->server_cpu,
      .own_cpu_seconds = own_cpu_seconds() - meter->own_cpu,
  };
}
