/** The client's waits and bounds: numbers alone, which a bundler then writes where they are used. */

/** For each step of an attempt: the token, the socket, the hello. */
export const ATTEMPT_TIMEOUT_MS = 10_000;
/** How long a peer may take to close. */
export const CLOSE_TIMEOUT_MS = 2_000;
export const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** Between two looks at a silent peer, however short its heartbeat. */
export const SHORTEST_REST_MS = 10;
export const DEFAULT_MAX_DELAY_MS = 10_000;
export const DEFAULT_HEARTBEAT_TIMEOUT_MS = 5_000;
export const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
/** The part of a token's life after which a new one is asked for. */
export const REFRESH_AT = 0.8;
/** However soon a token expires: a server cannot make us ask more often. */
export const SHORTEST_REFRESH_MS = 100;
export const SHORTEST_REFRESH_RETRY_MS = 1_000;
/** Timers fire at once when told to wait longer than this. */
export const LONGEST_TIMER_MS = 2_147_483_647;
/** A larger frame is not read. */
export const MAX_FRAME_CHARACTERS = 16_777_216;
/** With more than this in the socket's buffer, the network is too slow for what is being sent. */
export const MAX_BUFFERED_BYTES = 16_777_216;
export const MAX_REASON_BYTES = 123;
/** Updates an iteration has not read yet; beyond it the oldest is dropped. */
export const MAX_UNREAD = 1_000;
