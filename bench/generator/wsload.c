// A load generator for WebSockets and HTTP in one thread, so that the core it is pinned to is all it can take from the server.
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
  }
  return 0;
}
