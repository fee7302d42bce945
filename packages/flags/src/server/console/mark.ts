/** How the console's requests are told from those of HTTP clients: by a header that only this process knows. */
import type { HeaderReader } from "../http/host-request.ts";
import type { Service } from "../service.ts";

/** Its value is a secret of this process. A request from outside with this header is not marked. */
export const CONSOLE_MARK: string = "x-halyard-console-mark";

/** The mark of the console's requests to this service. */
export function consoleMarkOf(service: Service): string {
  service.consoleMark ??= crypto.randomUUID();
  return service.consoleMark;
}

/** Whether the request comes from the console, which has checked its origin. */
export function isFromConsole(service: Service, headers: HeaderReader): boolean {
  const { consoleMark } = service;
  return consoleMark !== undefined && headers.get(CONSOLE_MARK) === consoleMark;
}
