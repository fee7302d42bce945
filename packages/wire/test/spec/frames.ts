/** Reads the frames that a peer received. */
import type { ErrorPayload } from "../../src/index.ts";
import type { TestConnection, TestFrame } from "../../src/testing/index.ts";

export const UUID_V7: RegExp = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Sends any JSON value, like a peer without schemas. */
export function sendFrame(peer: TestConnection, frame: unknown): Promise<void> {
  return peer.sendRaw(JSON.stringify(frame));
}

export function framesOf(peer: { readonly frames: readonly TestFrame[] }, type: string): TestFrame[] {
  return peer.frames.filter((frame) => frame.type === type);
}

export function errorsOf(peer: { readonly frames: readonly TestFrame[] }): ErrorPayload[] {
  return framesOf(peer, "$ws:error").map((frame) => frame.payload as ErrorPayload);
}

/** The terminal frames of a request: all frames with its correlationId except progress. */
export function answersTo(
  peer: { readonly frames: readonly TestFrame[] },
  correlationId: string,
): TestFrame[] {
  return peer.frames.filter(
    (frame) => frame.meta["correlationId"] === correlationId && frame.type !== "$ws:rpc-progress",
  );
}

/** How a request ended: the type of its response or the error code. Throws unless there is exactly one. */
export function outcomeOf(peer: { readonly frames: readonly TestFrame[] }, correlationId: string): string {
  const [answer, ...more] = answersTo(peer, correlationId);
  if (answer === undefined || more.length > 0) {
    throw new Error(`${correlationId} has ${answer === undefined ? 0 : more.length + 1} answers, not one.`);
  }
  return answer.type === "$ws:error" ? (answer.payload as ErrorPayload).code : answer.type;
}

/** A promise that the test settles. */
export function gate<T = void>(): { opened: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open: (value) => open(value) };
}

/** The promise of a handler that never settles. */
export function unsettled(): Promise<never> {
  return new Promise(() => undefined);
}
