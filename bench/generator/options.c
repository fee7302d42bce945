#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Options options = {
    .mode = MODE_RPC,
    .protocol = PROTOCOL_JSON,
    .path = "/ws",
    .connections = 50,
    .depth = 1,
    .window = 8,
    .warm_seconds = 2,
    .measured_seconds = 8,
};

static const char *const mode_names[] = {"rpc", "fan", "idle", "http", "stream", NULL};
static const char *const protocol_names[] = {"json", "raw", "sio", "trpc", NULL};

static const char usage[] =
    "usage: wsload --mode rpc|fan|idle|http|stream --port P --pid SERVER_PID [options]\n"
    "  --proto json|raw|sio|trpc   the server's protocol (json)\n"
    "  --path PATH                 path of its WebSockets (/ws)\n"
    "  --n N                       connections; subscribers with --mode fan (50)\n"
    "  --depth D                   rpc: requests in flight per connection, at most 256 (1)\n"
    "  --window W                  fan: published messages that are not yet fully delivered (8)\n"
    "  --requests FILE             http: requests to send, in order and repeatedly\n"
    "  --rate R                    http: requests per second, 0 for as many as are answered (0)\n"
    "  --laps N                    http: how often all are sent before, as fast as possible (0)\n"
    "  --warm S --secs S           rpc, fan, http, stream: seconds before measuring, and measured (2, 8)\n"
    "                              idle: --warm is the time before memory is read\n"
    "  --port2 P --pid2 PID        fan: a second server, for every other subscriber\n";

static void fail(const char *problem, const char *subject) {
  fprintf(stderr, "wsload: %s: %s\n%s", problem, subject, usage);
  exit(64);
}

static int parse_name(const char *option, const char *value, const char *const *names) {
  for (int i = 0; names[i]; i++) {
    if (!strcmp(value, names[i])) return i;
  }
  fail("invalid value of option", option);
  return 0;
}

static double parse_number(const char *option, const char *value, double min) {
  char *end;
  double number = strtod(value, &end);
  if (end == value || *end != '\0' || !(number >= min)) fail("invalid number for option", option);
  return number;
}

static int parse_count(const char *option, const char *value) {
  return (int)parse_number(option, value, 1);
}

static void parse_option(const char *option, const char *value) {
  if (!strcmp(option, "--mode")) options.mode = parse_name(option, value, mode_names);
  else if (!strcmp(option, "--proto")) options.protocol = parse_name(option, value, protocol_names);
  else if (!strcmp(option, "--path")) options.path = value;
  else if (!strcmp(option, "--port")) options.port = parse_count(option, value);
  else if (!strcmp(option, "--pid")) options.server = parse_count(option, value);
  else if (!strcmp(option, "--port2")) options.second_port = parse_count(option, value);
  else if (!strcmp(option, "--pid2")) options.second_server = parse_count(option, value);
  else if (!strcmp(option, "--n")) options.connections = parse_count(option, value);
  else if (!strcmp(option, "--depth")) options.depth = parse_count(option, value);
  else if (!strcmp(option, "--window")) options.window = parse_count(option, value);
  else if (!strcmp(option, "--requests")) options.requests = value;
  else if (!strcmp(option, "--rate")) options.rate = parse_number(option, value, 0);
  else if (!strcmp(option, "--laps")) options.laps = (int)parse_number(option, value, 0);
  else if (!strcmp(option, "--warm")) options.warm_seconds = parse_number(option, value, 0);
  else if (!strcmp(option, "--secs")) options.measured_seconds = parse_number(option, value, 0.01);
  else fail("unknown option", option);
}

void parse_options(int count, char **arguments) {
  for (int i = 1; i < count; i += 2) {
    if (i + 1 == count) fail("value missing", arguments[i]);
    parse_option(arguments[i], arguments[i + 1]);
  }
  if (options.port == 0) fail("option missing", "--port");
  // Without the process there is no CPU time to read, and a signal to 0 would reach this process group.
  if (options.server == 0) fail("option missing", "--pid");
  if (options.mode == MODE_HTTP && !options.requests) fail("option missing", "--requests");
  if (options.depth > MAX_DEPTH) fail("larger than 256", "--depth");
}
