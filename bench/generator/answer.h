// HTTP/1.1 responses: their length and content.
#ifndef ANSWER_H
#define ANSWER_H

#include <stddef.h>

typedef struct {
  int status;
  // Of the whole response. 0 when more bytes are needed.
  size_t length;
  size_t body_offset;
} Answer;

// Ends the program when the bytes are not a valid response.
Answer read_answer(const char *bytes, size_t length);

#endif
