/** Calls a function of the application. Its error must not end a request, nor the process of a client in Node. */
export function callListener<Arguments extends unknown[]>(
  listener: (...args: Arguments) => unknown,
  ...args: Arguments
): void {
  // In an async function, so that a throw and a rejection are both caught here.
  (async () => listener(...args))().catch((error: unknown) =>
    console.error("[feature-flags] A listener of the flags failed.", error),
  );
}
