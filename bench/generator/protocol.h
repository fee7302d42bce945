// The messages of each protocol: handshake, request, subscription, publish.
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "connection.h"
#include "frame.h"

// Ids have eight digits, so that one can be overwritten with another.
#define FIRST_ID 10000000u
#define ID_LENGTH 8

// A frame that is sent repeatedly.
typedef struct {
  char bytes[MAX_FRAME];
  size_t length;
  // Offset of its id. -1 when it has none.
  ptrdiff_t id_offset;
} Template;

Template make_request(void);
Template make_publication(void);

// The request of an endless stream with this much credit, and the frame that returns credit for `items`.
Template make_stream_request(int credit);
Template make_credit(int items);

// Whether a message is an item of a stream.
bool is_item(const char *message, size_t length);
void write_id(char *output, uint32_t id);

// Whether a message is the response to the request `id`: it has the id and the same payload.
bool is_answer(const char *message, size_t length, uint32_t id);

// Whether a message is a published one.
bool is_delivery(const char *message, size_t length);

void subscribe(Connection *connection);

// Whether the protocol has its own handshake after the upgrade.
bool has_greeting(void);

// Handles one message of that handshake. True when it was the last.
bool greet(Connection *connection, const char *message, size_t length);

// Answers a heartbeat of the protocol. False when the message is not a heartbeat.
bool answer_heartbeat(Connection *connection, const char *message, size_t length);

#endif
