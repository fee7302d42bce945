/** Requests and responses of OFREP, the OpenFeature Remote Evaluation Protocol. */
import type { JsonValue } from "../engine/json.ts";
import type { OpenFeatureReason } from "./openfeature.ts";

export type OfrepInput = { context?: { [key: string]: unknown } | undefined } | undefined;

/** The protocol allows only flat metadata. */
export type OfrepMetadata = { readonly [key: string]: string | number | boolean };

export type OfrepEvaluation = {
  readonly key: string;
  readonly value: JsonValue;
  readonly reason: OpenFeatureReason;
  readonly variant?: string;
  readonly metadata: OfrepMetadata;
};

export type OfrepBulkEvaluation = {
  readonly flags: readonly OfrepEvaluation[];
  readonly metadata: OfrepMetadata;
};
