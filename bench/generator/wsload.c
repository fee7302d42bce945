// A single-threaded load generator for WebSockets and HTTP, so that it uses only the core that it is pinned to.
#include "modes.h"
#include "options.h"

int main(int count, char **arguments) {
  parse_options(count, arguments);
  switch (options.mode) {
    case MODE_RPC:
      run_rpc();
      break;
    case MODE_FAN:
      run_fan();
      break;
    case MODE_IDLE:
      run_idle();
      break;
    case MODE_HTTP:
      run_http();
      break;
    case MODE_STREAM:
      run_stream();
      break;
  }
  return 0;
}
