// The messages of each protocol: handshake, request, subscription, publish.
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "options.h"

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

// The message that subscribes to the published ones.
const char *subscription(void);

// Whether the protocol has its own handshake after the upgrade.
bool has_greeting(void);

// The answer to a message of that handshake. NULL when there is none.
const char *greeting_answer(const char *message, size_t length);

// Whether a message is the last of that handshake.
bool ends_greeting(const char *message, size_t length);

// The answer to a heartbeat of the protocol. NULL when the message is not a heartbeat.
const char *heartbeat_answer(const char *message, size_t length);

#endif
