// The options of the command line.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <sys/types.h>

// Maximum number of requests in flight on one connection.
#define MAX_DEPTH 256

typedef enum { MODE_RPC, MODE_FAN, MODE_IDLE, MODE_HTTP, MODE_STREAM } Mode;
typedef enum { PROTOCOL_JSON, PROTOCOL_RAW, PROTOCOL_SOCKET_IO, PROTOCOL_TRPC } Protocol;

typedef struct {
  Mode mode;
  Protocol protocol;
  const char *path;
  int port;
  pid_t server;
  // Fan-out across two servers: every other subscriber connects to this one. 0 when there is only one.
  int second_port;
  pid_t second_server;
  int connections;
  int depth;
  int window;
  // http: a file of requests, and their rate per second. 0 for as many as are answered.
  const char *requests;
  double rate;
  // http: how often every request is sent before anything else, as fast as possible.
  int laps;
  double warm_seconds;
  double measured_seconds;
} Options;

extern Options options;

// Fills `options`. Ends the program with the usage when an argument is invalid.
void parse_options(int count, char **arguments);

#endif
