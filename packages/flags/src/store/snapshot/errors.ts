/** The errors of a load whose database answers. */

/** The stored flags are invalid. The store cannot have written them. */
export class BadSnapshot extends Error {
  override readonly name = "BadSnapshot";
}

/** The revision was read, but the flags could not be read. */
export class LoadFailure extends Error {
  override readonly name = "LoadFailure";
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
