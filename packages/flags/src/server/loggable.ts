/** Errors as they go to the log: drivers put the values of a statement, which are callers' data, into some of their fields. */

/** What says where and why without showing any value. */
const KEPT = ["code", "errno", "errcode", "status"] as const;
/** An error, its cause, and the cause of that. */
const MAX_DEPTH = 5;

/** The error with its name, message, stack, codes and causes, and nothing else. What is no error is left as it is. */
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
