/** Checks of values from outside: parsed JSON, clients of other libraries, options. */

/** The longest delay of a system timer, in ms. A longer one would make the timer fire immediately. */
export const LONGEST_TIMER_MS = 2_147_483_647;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Recognizes a library's client by its methods, so that the library itself is not imported. */
export function hasMethods<Client extends object>(
  value: unknown,
  ...methods: (keyof Client & string)[]
): value is Client {
  if (typeof value !== "object" || value === null) return false;
  return methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function");
}

/** The option's value, or its default when it is left out; throws unless it is a number above 0. */
export function positiveOption(name: string, value: number | undefined, defaultValue: number): number {
  if (value === undefined) return defaultValue;
  if (typeof value === "number" && value > 0) return value;
  throw new TypeError(
    `The option ${name} is ${String(value)}, but it must be a number above 0. Leave it out for the default, ${defaultValue}.`,
  );
}

/** Whether a URL's hostname is exactly a name of this machine. */
export function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
}
