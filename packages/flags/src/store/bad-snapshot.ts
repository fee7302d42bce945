/** Why there is no new snapshot of a tenant's flags although the database answers. */

/** What the database holds cannot be used: no write of ours can have made it. */
export class BadSnapshot extends Error {
  override readonly name = "BadSnapshot";
}

/** The revision could be read, and what belongs to it could not. */
export class LoadFailure extends Error {
  override readonly name = "LoadFailure";
}

/** Decodes what has been read. Reading itself stays outside: a database that cannot be read is not bad data. */
export function usable<Result>(what: string, decode: () => Result): Result {
  try {
    return decode();
  } catch (error) {
    if (error instanceof BadSnapshot) throw error;
    throw new BadSnapshot(`What is stored of ${what} cannot be used.`, { cause: error });
  }
}
