/** What publishing a message needs: a router or a running server provides it. */
import type { Clock } from "@halyard/base";
import type { WsError } from "../../protocol/error.ts";
import type { PublishResult, PubSub } from "../../pubsub/pubsub.ts";
import type { Validator } from "../../schema/validate.ts";

export interface Publisher {
  readonly pubsub: PubSub;
  readonly validator: Validator;
  readonly clock: Clock;
  readonly maxFrameBytes: number;
  /** Called with the result of the pub/sub. */
  sent?(result: PublishResult): void;
  /** Called with the error when the pub/sub throws. */
  failed(error: unknown): void;
  /** Called with the error when the message does not match its schema or has no JSON form. */
  invalid(error: WsError, type: string | undefined): void;
}
