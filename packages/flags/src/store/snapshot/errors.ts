/** The errors of a load. */
import { FeatureFlagError } from "../../model/errors.ts";
import { missingTable } from "../missing-table.ts";

/** The stored flags are invalid. The store cannot have written them. */
export class BadSnapshot extends Error {
  override readonly name = "BadSnapshot";
}

/** The revision was read, but the flags could not be read. */
export class LoadFailure extends Error {
  override readonly name = "LoadFailure";
}

/** Seconds after which a caller should try again while there are no flags yet. */
export const COLD_RETRY_SECONDS: number = 1;

/** The error of an evaluation without a snapshot. Invalid flags stay invalid; anything else may end soon. */
export function notLoaded(error: unknown): unknown {
  if (error instanceof BadSnapshot) return error;
  const advice = missingTable(error)?.advice;
  return new FeatureFlagError("STORAGE_ERROR", "The flags are not loaded yet. Try again later.", {
    status: 503,
    details: { retryAfter: COLD_RETRY_SECONDS },
    cause: error,
    ...(advice !== undefined && { advice }),
  });
}

/** Runs `decode` and throws `BadSnapshot` if it fails. Do not read inside: an unreachable database is not bad data. */
export function decodeStored<Result>(name: string, decode: () => Result): Result {
  try {
    return decode();
  } catch (error) {
    if (error instanceof BadSnapshot) throw error;
    throw new BadSnapshot(`The stored data of ${name} is invalid.`, { cause: error });
  }
}
