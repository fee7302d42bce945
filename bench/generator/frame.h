// WebSocket frames (RFC 6455): written masked, as a client must; read unmasked, as a server sends them.
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stddef.h>

enum { OPCODE_TEXT = 1, OPCODE_BINARY = 2, OPCODE_CLOSE = 8, OPCODE_PING = 9, OPCODE_PONG = 10 };

// Header, mask and payload of the longest frame sent here.
#define MAX_FRAME 2048

typedef struct {
  int opcode;
  const char *payload;
  size_t length;
} Frame;

// Writes a frame of at most MAX_FRAME bytes to `output` and returns its length.
size_t write_frame(char *output, int opcode, const char *payload, size_t length);

// Reads the frame at the start of `bytes` and returns its whole length. 0 when more bytes are needed.
size_t read_frame(const char *bytes, size_t length, Frame *frame);

#endif
