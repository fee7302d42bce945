/** What a peer sees, asked for in the specification's words. */
import type { ErrorPayload } from "../../src/index.ts";
import type { TestConnection, TestFrame } from "../../src/testing/index.ts";

export const UUID_V7: RegExp = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Sends anything that JSON can say, as a peer may that knows no schema. */
export function sendFrame(peer: TestConnection, frame: unknown): Promise<void> {
  return peer.sendRaw(JSON.stringify(frame));
}

/** All frames of this type, in order of arrival. */
export function framesOf(peer: { readonly frames: readonly TestFrame[] }, type: string): TestFrame[] {
  return peer.frames.filter((frame) => frame.type === type);
}

/** The payloads of all error frames. */
export function errorsOf(peer: { readonly frames: readonly TestFrame[] }): ErrorPayload[] {
  return framesOf(peer, "$ws:error").map((frame) => frame.payload as ErrorPayload);
}

/** The terminal frames of a request: everything correlated that is not progress. */
export function answersTo(
  peer: { readonly frames: readonly TestFrame[] },
  correlationId: string,
): TestFrame[] {
  return peer.frames.filter(
    (frame) => frame.meta["correlationId"] === correlationId && frame.type !== "$ws:rpc-progress",
  );
}

/** How a request ended: the type of its one answer, or its error code. Throws unless there is exactly one. */
export function outcomeOf(peer: { readonly frames: readonly TestFrame[] }, correlationId: string): string {
  const [answer, ...more] = answersTo(peer, correlationId);
  if (answer === undefined || more.length > 0) {
    throw new Error(`${correlationId} has ${answer === undefined ? 0 : more.length + 1} answers, not one.`);
  }
  return answer.type === "$ws:error" ? (answer.payload as ErrorPayload).code : answer.type;
}

/** A promise to settle from outside. */
export function gate<T = void>(): { opened: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open: (value) => open(value) };
}

/** The promise of a handler that never comes back. */
export function unsettled(): Promise<never> {
  return new Promise(() => undefined);
}
