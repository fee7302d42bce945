/** How many of the users that a plan moves are online now. */
import { within } from "@halyard/base";
import type { OnlineSource } from "../../model/online.ts";
import type { Service } from "../service.ts";

/** Users per call. */
const BATCH = 1000;
const TIMEOUT_MS = 1000;

/** Undefined if it is unknown: there is no source, or it fails. */
export async function countOnline(service: Service, userIds: readonly string[]): Promise<number | undefined> {
  const { online } = service.live;
  if (online === undefined) return undefined;
  try {
    const counting = countIn(online, userIds);
    return await within(counting, TIMEOUT_MS, `The users online were not known within ${TIMEOUT_MS} ms.`);
  } catch {
    service.warnOnce(
      "It is unknown which users are online, because the source of it failed. Plans say so. Check the option online.",
    );
    return undefined;
  }
}

async function countIn(online: OnlineSource, userIds: readonly string[]): Promise<number> {
  let count = 0;
  for (let start = 0; start < userIds.length; start += BATCH) {
    const batch = new Set(userIds.slice(start, start + BATCH));
    for (const id of await online([...batch])) if (batch.delete(id)) count += 1;
  }
  return count;
}
