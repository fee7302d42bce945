#define _GNU_SOURCE
#include "answer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHOWN_BYTES 300

static void fail_answer(const char *problem, const char *bytes, size_t length) {
  fprintf(stderr, "wsload: %s: %.*s\n", problem, (int)(length < SHOWN_BYTES ? length : SHOWN_BYTES), bytes);
  exit(2);
}

// The value of a header, or NULL. `head` ends with an empty line.
static const char *find_header(const char *head, size_t length, const char *name) {
  size_t name_length = strlen(name);
  const char *end = head + length;
  for (const char *line = head; line < end;) {
    const char *next = memmem(line, (size_t)(end - line), "\r\n", 2);
    if (!next) return NULL;
    if ((size_t)(next - line) > name_length && line[name_length] == ':' && !strncasecmp(line, name, name_length)) {
      return line + name_length + 1;
    }
    line = next + 2;
  }
  return NULL;
}

// The length of a chunked body. 0 when more bytes are needed.
static size_t chunked_length(const char *body, size_t length) {
  size_t at = 0;
  for (;;) {
    const char *line_end = memmem(body + at, length - at, "\r\n", 2);
    if (!line_end) return 0;
    size_t chunk = strtoul(body + at, NULL, 16);
    at = (size_t)(line_end + 2 - body) + chunk + 2;
    if (at > length) return 0;
    if (chunk == 0) return at;
  }
}

Answer read_answer(const char *bytes, size_t length) {
  Answer answer = {0};
  const char *head_end = memmem(bytes, length, "\r\n\r\n", 4);
  if (!head_end) return answer;
  if (strncmp(bytes, "HTTP/1.1 ", 9)) fail_answer("not HTTP/1.1", bytes, length);
  answer.status = atoi(bytes + 9);
  answer.body_offset = (size_t)(head_end + 4 - bytes);
  size_t rest = length - answer.body_offset;
  const char *announced = find_header(bytes, answer.body_offset, "content-length");
  bool is_chunked = find_header(bytes, answer.body_offset, "transfer-encoding") != NULL;
  if (is_chunked) {
    size_t body = chunked_length(bytes + answer.body_offset, rest);
    if (body > 0) answer.length = answer.body_offset + body;
  } else if (announced || answer.status == 204) {
    size_t body = announced ? strtoul(announced, NULL, 10) : 0;
    if (rest >= body) answer.length = answer.body_offset + body;
  } else {
    fail_answer("a response without a length", bytes, length);
  }
  return answer;
}
