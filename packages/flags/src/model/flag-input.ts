/** Request bodies that create and update a flag. */
import type * as z from "zod";
import type { FlagType } from "../engine/definition.ts";
import { FeatureFlagError } from "./errors.ts";
import { type FeatureFlagPatch, FLAG_FIELDS, FLAG_TYPES, type FlagDraft, isFlagType } from "./flag.ts";
import { jsonBytes, overLimit, parse } from "./inputs.ts";
import { inputOf, patchOf } from "./kinds.ts";

/** The input of the server method that updates a flag. */
export type UpdateFeatureFlagInput = FeatureFlagPatch & {
  /** The id or the key of the flag. */
  id: string;
  /** The update fails with 409 when the flag has another version. */
  version?: number | undefined;
};

/**
 * The largest flag, as JSON text in UTF-8. MySQL's `text` columns hold 65,535 bytes, and the audit log keeps the whole
 * flag, with its id and dates, in one of them.
 */
const MAX_FLAG_BYTES = 64_000;

const createFields = inputOf(FLAG_FIELDS);
const patchFields = patchOf(FLAG_FIELDS);

export const createFlagBody: z.ZodType = createFields;
export const flagPatchBody: z.ZodType = patchFields;

/** Does not check that the values fit the type: the store checks it on every write. */
export function parseCreateInput(body: unknown): FlagDraft {
  const { type: given, ...input } = parse(createFields, body);
  return withinSize({ ...input, type: knownType(given) });
}

export function parseFlagPatch(body: unknown): FeatureFlagPatch {
  const { type: given, ...input } = parse(patchFields, body);
  return withinSize({ ...input, ...(given !== undefined && { type: knownType(given) }) });
}

function knownType(given: unknown): FlagType {
  if (isFlagType(given)) return given;
  throw new FeatureFlagError(
    "INVALID_FLAG_TYPE",
    `The flag type is unknown. Use one of ${FLAG_TYPES.join(", ")}.`,
    {
      details: { field: "type" },
    },
  );
}

function withinSize<Input>(input: Input): Input {
  if (jsonBytes(input) <= MAX_FLAG_BYTES) return input;
  throw overLimit(
    "The flag has too many bytes as JSON.",
    MAX_FLAG_BYTES,
    "Store large data elsewhere and put its URL into the flag.",
  );
}
