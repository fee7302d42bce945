#include "frame.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINAL 0x80
#define MASKED 0x80
#define MASK_LENGTH 4

size_t write_frame(char *output, int opcode, const char *payload, size_t length) {
  if (length > MAX_FRAME - 8) {
    fprintf(stderr, "wsload: a frame of %zu bytes is longer than any this program sends\n", length);
    exit(70);
  }
  size_t header = 0;
  output[header++] = (char)(FINAL | opcode);
  if (length < 126) {
    output[header++] = (char)(MASKED | length);
  } else {
    output[header++] = (char)(MASKED | 126);
    output[header++] = (char)(length >> 8);
    output[header++] = (char)(length & 255);
  }
  // A mask of zeros does not change the payload: the server still unmasks, and this program saves the time.
  memset(output + header, 0, MASK_LENGTH);
  header += MASK_LENGTH;
  memcpy(output + header, payload, length);
  return header + length;
}

static uint64_t read_length(const char *bytes, int count) {
  uint64_t length = 0;
  for (int i = 0; i < count; i++) length = length << 8 | (unsigned char)bytes[i];
  return length;
}

size_t read_frame(const char *bytes, size_t length, Frame *frame) {
  if (length < 2) return 0;
  size_t header = 2;
  uint64_t payload = bytes[1] & 127;
  if (payload >= 126) {
    int extended = payload == 126 ? 2 : 8;
    header += (size_t)extended;
    if (length < header) return 0;
    payload = read_length(bytes + 2, extended);
  }
  if (length - header < payload) return 0;
  *frame = (Frame){bytes[0] & 15, bytes + header, payload};
  return header + payload;
}
