// What is said in each protocol: greeting, request, subscription, publication.
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "connection.h"
#include "frame.h"

// Ids have eight digits, so that one can be written over another.
#define FIRST_ID 10000000u
#define ID_LENGTH 8

// A frame to send again and again.
typedef struct {
  char bytes[MAX_FRAME];
  size_t length;
  // Where its id is; -1 when it has none.
  ptrdiff_t id_offset;
} Template;

Template make_request(void);
Template make_publication(void);
void write_id(char *output, uint32_t id);

// Whether a message is the answer to the request `id`: it has the id, and the payload came back.
bool is_answer(const char *message, size_t length, uint32_t id);

// Whether a message is a published one.
bool is_delivery(const char *message, size_t length);

void subscribe(Connection *connection);

// Whether peers talk after the upgrade and before the first message.
bool has_greeting(void);

// Takes one message of the greeting; true when it was the last.
bool greet(Connection *connection, const char *message, size_t length);

// Answers a heartbeat of the protocol's own; false when the message is none.
bool answer_heartbeat(Connection *connection, const char *message, size_t length);

#endif
