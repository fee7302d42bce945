// Answers over HTTP/1.1: where one ends, and what it says.
#ifndef ANSWER_H
#define ANSWER_H

#include <stddef.h>

typedef struct {
  int status;
  // Of the whole answer; 0 when more bytes are needed.
  size_t length;
  size_t body_offset;
} Answer;

// Ends the program when the bytes are no answer that it understands.
Answer read_answer(const char *bytes, size_t length);

#endif
