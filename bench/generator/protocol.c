#define _GNU_SOURCE
#include "protocol.h"

#include <stdio.h>
#include <string.h>

#define PAYLOAD                                                                                  \
  "{\"room\":\"general\",\"user\":\"u-123456\",\"text\":\"hello world, a typical chat line\"," \
  "\"seq\":12345,\"ok\":true}"
#define USER "u-123456"
#define ROOM "general"
#define ID "10000000"

static const char *const requests[] = {
    [PROTOCOL_JSON] = "{\"type\":\"ECHO\",\"meta\":{\"correlationId\":\"" ID "\"},\"payload\":" PAYLOAD "}",
    [PROTOCOL_RAW] = ID PAYLOAD,
    [PROTOCOL_SOCKET_IO] = "42" ID "[\"echo\"," PAYLOAD "]",
    [PROTOCOL_TRPC] = "{\"id\":" ID ",\"method\":\"mutation\",\"params\":{\"path\":\"echo\",\"input\":" PAYLOAD "}}",
};

static const char *const publications[] = {
    [PROTOCOL_JSON] = "{\"type\":\"PUB\",\"meta\":{},\"payload\":" PAYLOAD "}",
    [PROTOCOL_RAW] = "PUB" PAYLOAD,
    [PROTOCOL_SOCKET_IO] = "42[\"pub\"," PAYLOAD "]",
    [PROTOCOL_TRPC] = "{\"id\":7,\"method\":\"mutation\",\"params\":{\"path\":\"pub\",\"input\":" PAYLOAD "}}",
};

static const char *const subscriptions[] = {
    [PROTOCOL_JSON] = "{\"type\":\"SUB\",\"meta\":{}}",
    [PROTOCOL_RAW] = "{\"type\":\"SUB\",\"meta\":{}}",
    [PROTOCOL_SOCKET_IO] = "42[\"sub\"]",
    [PROTOCOL_TRPC] = "{\"id\":1,\"method\":\"subscription\",\"params\":{\"path\":\"feed\"}}",
};

static bool contains(const char *message, size_t length, const char *part, size_t part_length) {
  return memmem(message, length, part, part_length) != NULL;
}

// --- messages ---

static Template make_template(const char *text) {
  Template made;
  made.length = write_frame(made.bytes, OPCODE_TEXT, text, strlen(text));
  const char *id = memmem(made.bytes, made.length, ID, ID_LENGTH);
  made.id_offset = id ? id - made.bytes : -1;
  return made;
}

Template make_request(void) {
  return make_template(requests[options.protocol]);
}

Template make_publication(void) {
  return make_template(publications[options.protocol]);
}

Template make_stream_request(int credit) {
  char text[MAX_FRAME];
  snprintf(text, sizeof text,
           "{\"type\":\"STREAM\",\"meta\":{\"correlationId\":\"" ID "\",\"timeoutMs\":300000,\"$c\":%d},"
           "\"payload\":" PAYLOAD "}",
           credit);
  return make_template(text);
}

Template make_credit(int items) {
  char text[MAX_FRAME];
  snprintf(text, sizeof text,
           "{\"type\":\"$ws:credit\",\"meta\":{\"correlationId\":\"" ID "\"},\"payload\":{\"n\":%d}}", items);
  return make_template(text);
}

bool is_item(const char *message, size_t length) {
  return contains(message, length, "rpc-progress", strlen("rpc-progress")) &&
         contains(message, length, USER, strlen(USER));
}

void write_id(char *output, uint32_t id) {
  for (int i = ID_LENGTH - 1; i >= 0; i--) {
    output[i] = (char)('0' + id % 10);
    id /= 10;
  }
}

bool is_answer(const char *message, size_t length, uint32_t id) {
  char text[ID_LENGTH];
  write_id(text, id);
  // An error response has the id too, but not the payload.
  return contains(message, length, text, ID_LENGTH) && contains(message, length, USER, strlen(USER));
}

bool is_delivery(const char *message, size_t length) {
  return contains(message, length, ROOM, strlen(ROOM));
}

const char *subscription(void) {
  return subscriptions[options.protocol];
}

// --- Socket.IO's own messages: 0 open, 2 ping, 3 pong, 40 connect ---

bool has_greeting(void) {
  return options.protocol == PROTOCOL_SOCKET_IO;
}

const char *greeting_answer(const char *message, size_t length) {
  return length >= 1 && message[0] == '0' ? "40" : NULL;
}

bool ends_greeting(const char *message, size_t length) {
  return length >= 2 && message[0] == '4' && message[1] == '0';
}

const char *heartbeat_answer(const char *message, size_t length) {
  return options.protocol == PROTOCOL_SOCKET_IO && length == 1 && message[0] == '2' ? "3" : NULL;
}
