/** Copies text that is kept for long. */

/**
 * A copy that shares no memory with the text it was cut from. Engines store a substring as a reference to the whole text,
 * so a kept topic or id could otherwise keep the whole message that it came from.
 */
export function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
