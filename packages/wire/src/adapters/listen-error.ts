/** Explains why a server cannot listen on its port. */

/** A new error with the code of the platform's error, and a message that says what to change. */
export function explainListenError(thrown: unknown, port: number, host: string | undefined): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { code, errno, syscall } = error as { code?: unknown; errno?: unknown; syscall?: unknown };
  const message = messageOf(code, port, host);
  if (message === undefined) return error;
  return Object.assign(new Error(message, { cause: error }), {
    code,
    errno,
    syscall,
    port,
    ...(host !== undefined && { address: host }),
  });
}

function messageOf(code: unknown, port: number, host: string | undefined): string | undefined {
  const place = host === undefined ? `port ${port}` : `port ${port} of host "${host}"`;
  switch (code) {
    case "EADDRINUSE":
      return `serve() cannot listen on ${place}: another server uses it (EADDRINUSE). Stop that server, or set the serve option port; port 0 selects a free one.`;
    case "EACCES":
      return `serve() cannot listen on ${place}: this process may not use it (EACCES). Set the serve option port to 1024 or above.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `serve() cannot listen on ${place}: this machine does not have that address (${code}). Change the serve option host, or remove it to listen on all interfaces.`;
    default:
      return undefined;
  }
}
