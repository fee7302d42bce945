/** Writes a group of requests together, and one at a time if one of them may have made the group fail. */

/** Consecutive failures of single requests after which the database is at fault, and not the requests. */
const MAX_FAILURES = 3;

/**
 * Settles every request of the group. Never rejects. `write` settles the requests that it has written, or throws.
 * `mayConcernOne`: whether other requests could succeed without the one that caused the error.
 */
export async function writeTogether<Request extends { readonly reject: (error: unknown) => void }>(
  group: readonly Request[],
  write: (requests: readonly Request[]) => Promise<void>,
  mayConcernOne: (error: unknown) => boolean,
): Promise<void> {
  try {
    await write(group);
  } catch (error) {
    if (group.length > 1 && mayConcernOne(error)) await writeEach(group, write);
    else for (const { reject } of group) reject(error);
  }
}

async function writeEach<Request extends { readonly reject: (error: unknown) => void }>(
  group: readonly Request[],
  write: (requests: readonly Request[]) => Promise<void>,
): Promise<void> {
  let failures = 0;
  let lastError: unknown;
  for (const request of group) {
    if (failures === MAX_FAILURES) {
      request.reject(lastError);
      continue;
    }
    try {
      await write([request]);
      failures = 0;
    } catch (error) {
      failures += 1;
      lastError = error;
      request.reject(error);
    }
  }
}
