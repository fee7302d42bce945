/** Points log lines and start-up errors to the page that explains each of them. */
export const HELP = "https://github.com/halyard/halyard/blob/main/docs/guide/flags-troubleshooting.md";

/** The text of a warning. A list ends with the address on a line of its own. */
export function withHelp(message: string): string {
  return `[feature-flags] ${message}${message.includes("\n") ? "\n" : " "}(${HELP})`;
}

/** `caller` is the function that needs the plugin. */
export function withoutPlugin(caller: string): TypeError {
  return new TypeError(
    `${caller}: the auth instance has no featureFlags plugin. Add featureFlags() to its plugins.`,
  );
}

/** An error of an option, which stops the start. */
export function mistake(message: string): TypeError {
  return new TypeError(`featureFlags: ${message} See ${HELP}#start-up-and-programming-errors`);
}
