/** Requests and responses of OFREP, the OpenFeature Remote Evaluation Protocol. */
import type { JsonValue } from "../engine/json.ts";

/** The reasons that OFREP 0.3 allows. OpenFeature itself allows any text. */
export type OfrepReason = "STATIC" | "TARGETING_MATCH" | "SPLIT" | "DISABLED" | "UNKNOWN";

export type OfrepInput = { context?: { [key: string]: unknown } | undefined } | undefined;

/** The protocol allows only flat metadata. */
export type OfrepMetadata = { readonly [key: string]: string | number | boolean };

export type OfrepEvaluation = {
  readonly key: string;
  /** Absent if the flag's value is null: the caller then uses the default in its code. */
  readonly value?: JsonValue;
  readonly reason: OfrepReason;
  readonly variant?: string;
  readonly metadata: OfrepMetadata;
};

export type OfrepBulkEvaluation = {
  readonly flags: readonly OfrepEvaluation[];
  /** Where the client learns of changes. Absent where this server has no background work. */
  readonly eventStreams?: readonly { readonly type: "sse"; readonly url: string }[];
  readonly metadata: OfrepMetadata;
};
