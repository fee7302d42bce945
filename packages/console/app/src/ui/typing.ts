/** The pause after the last key before the server is asked. */
export const TYPING_PAUSE_MS = 150;
