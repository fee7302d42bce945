/** The error and its causes. A driver, a query builder and the adapter may each wrap the error of the database. */
const MAX_CAUSES = 5;

/** An error with the fields of any driver's. */
export type DriverError = Error & { readonly code?: unknown; readonly errcode?: unknown };

export function causesOf(error: unknown): DriverError[] {
  const causes: DriverError[] = [];
  for (let cause = error; cause instanceof Error && causes.length < MAX_CAUSES; cause = cause.cause)
    causes.push(cause);
  return causes;
}
