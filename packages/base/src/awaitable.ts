/** A value that may be in memory already, or has to be waited for. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Continues with a value: at once if it is in memory, so that work without I/O neither waits for a turn nor makes a promise. */
export function chain<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
