/** Points log lines to the page that explains every error code and log line. */
export const HELP = "https://github.com/halyard/halyard/blob/main/docs/guide/flags-troubleshooting.md";

/** The text of a warning. A list ends with the address on a line of its own. */
export function withHelp(message: string): string {
  return `[feature-flags] ${message}${message.includes("\n") ? "\n" : " "}(${HELP})`;
}
