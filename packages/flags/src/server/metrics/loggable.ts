/** Removes callers' data from errors before they are logged. Database drivers put statement values into error fields. */

/** Error fields that never contain statement values. */
const KEPT = ["code", "errno", "errcode", "status"] as const;
/** How many errors of a chain of causes are kept. */
const MAX_DEPTH = 5;

/** Returns a copy with only name, message, stack, codes and causes. A value that is not an error is returned unchanged. */
export function loggable(error: unknown, depth: number = MAX_DEPTH): unknown {
  if (!(error instanceof Error)) return error;
  const shown: Error & Partial<Record<(typeof KEPT)[number], unknown>> = new Error(messageOf(error));
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  shown.name = error.name;
  shown.stack = [`${error.name}: ${shown.message}`, ...frames].join("\n");
  for (const field of KEPT) {
    const value: unknown = Reflect.get(error, field);
    if (typeof value === "string" || typeof value === "number") shown[field] = value;
  }
  if (error.cause !== undefined && depth > 1) shown.cause = loggable(error.cause, depth - 1);
  return shown;
}

/** Drizzle's messages end with the parameters of the query. */
function messageOf({ message }: Error): string {
  return message.replace(/\nparams: [\s\S]*$/, "");
}
