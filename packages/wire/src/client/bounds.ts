/** The client's time limits and size limits. Constants only, so that a bundler inlines them. */

/** For each step of an attempt: getting the token, opening the socket, receiving hello. */
export const ATTEMPT_TIMEOUT_MS = 10_000;
/** How long a message may wait in a closed client before the application is told. */
export const CLOSED_NOTICE_MS = 1_000;
/** How long the server may take to answer a close frame. */
export const CLOSE_TIMEOUT_MS = 2_000;
export const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** Minimum interval between two heartbeat checks. */
export const SHORTEST_REST_MS = 10;
export const DEFAULT_MAX_DELAY_MS = 10_000;
export const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
/** The fraction of a token's lifetime after which a new token is requested. */
export const REFRESH_AT = 0.8;
/** The fraction of a token's lifetime after which close code 4401 means that it has expired. Lower than 1, because the estimate includes the latency. */
export const EXPIRED_AT = 0.9;
/** Minimum interval between token refreshes, however soon a token expires. */
export const SHORTEST_REFRESH_MS = 100;
export const SHORTEST_REFRESH_RETRY_MS = 1_000;
/** Larger frames are refused. */
export const MAX_FRAME_CHARACTERS = 16_777_216;
/** Above this many unsent bytes in the socket, messages are dropped. */
export const MAX_BUFFERED_BYTES = 16_777_216;
/** Errors without an `onError` callback: different texts on the console per connection. */
export const MAX_PRINTED = 20;
export const MAX_REASON_BYTES = 123;
/** Messages of a room that may wait for the first handler of their type. */
export const MAX_HELD = 1_000;
export const MAX_HELD_CHARACTERS = 1_000_000;
/** The same for all rooms of a client. Rooms that the server has ended do not count: only the application still has them. */
export const MAX_HELD_CHARACTERS_PER_CLIENT = 8_000_000;
/** How long a message may wait in a room, while only the client has a handler, before the application is told. */
export const MISPLACED_NOTICE_MS = 1_000;
/** How many ids of its earlier connections a client with channels remembers. */
export const MAX_CLIENT_IDS = 100;
/** Progress updates that an iteration has not read; above this the oldest is dropped. */
export const MAX_UNREAD = 1_000;
