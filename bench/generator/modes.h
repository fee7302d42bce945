// The loads. Each opens its connections, measures, and prints one line of JSON.
#ifndef MODES_H
#define MODES_H

// Each connection keeps `depth` requests in flight. Every response is counted and timed.
void run_rpc(void);

// One connection publishes, all others receive. At most `window` messages are in flight.
void run_fan(void);

// Connections that subscribe and stay idle, and their memory in the server.
void run_idle(void);

// Requests of a file over HTTP/1.1, at a fixed rate or one after the other on each connection.
void run_http(void);

// One endless stream of items on each connection, paced by credit.
void run_stream(void);

#endif
