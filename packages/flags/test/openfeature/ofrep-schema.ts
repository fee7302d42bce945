/**
 * The responses of OFREP 0.3.0 as JSON Schema, with two corrections: a value is one of the types or absent (the published
 * `oneOf` matches an absent value and any other at once), and lists are values, as OpenFeature's structures are.
 */
const key = { type: "string" };
const errorDetails = { type: "string" };
const metadata = {
  type: "object",
  additionalProperties: { type: ["boolean", "string", "number"] },
};

const evaluationSuccess = {
  type: "object",
  required: ["key", "reason"],
  properties: {
    key,
    reason: { enum: ["STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "UNKNOWN"] },
    variant: { type: "string" },
    metadata,
    value: { type: ["boolean", "string", "number", "object", "array"] },
  },
  not: { required: ["errorCode"] },
};

const evaluationFailure = {
  type: "object",
  required: ["key", "errorCode"],
  properties: {
    key,
    errorCode: { enum: ["PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "GENERAL"] },
    errorDetails,
  },
};

/** By name in the published document. */
export const OFREP_SCHEMAS = {
  evaluationSuccess,
  evaluationFailure,
  flagNotFound: {
    type: "object",
    required: ["key", "errorCode"],
    properties: { key, errorCode: { enum: ["FLAG_NOT_FOUND"] }, errorDetails },
  },
  bulkEvaluationSuccess: {
    type: "object",
    required: ["flags"],
    properties: {
      flags: { type: "array", items: { oneOf: [evaluationSuccess, evaluationFailure] } },
      eventStreams: {
        type: "array",
        items: {
          type: "object",
          required: ["type", "url"],
          properties: { type: { type: "string" }, url: { type: "string" } },
        },
      },
      metadata,
    },
  },
  bulkEvaluationFailure: {
    type: "object",
    required: ["errorCode"],
    properties: { errorCode: { type: "string" }, errorDetails },
  },
  generalErrorResponse: { type: "object", properties: { errorDetails } },
} as const;
