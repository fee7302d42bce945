/** What the packages of Halyard use of @halyard/base, with the types they may rely on. Compiled against the packed tarball. */
import {
  type Bus,
  type BusPubSub,
  type Clock,
  later,
  pause,
  pubSubBus,
  systemClock,
  uuidv7,
  within,
} from "@halyard/base";
import { type PostgresPool, postgresBus } from "@halyard/base/postgres";
import { redisBus, scriptRunner } from "@halyard/base/redis";

const stopped: Clock = { ...systemClock, now: () => 0, wall: () => 0 };

export async function waits(work: Promise<string>): Promise<string> {
  clearTimeout(later(() => undefined, 10));
  await pause(stopped, 10);
  return within(work, 1000, "too late", { clock: stopped, tooLate: (result) => console.log(result.length) });
}

export function buses(pool: PostgresPool, redis: object, pubsub: BusPubSub): Bus[] {
  // @ts-expect-error applications may use topics that do not begin with "$"
  pubSubBus(pubsub, "announcements");
  return [postgresBus(pool, "app"), redisBus(redis, "app"), pubSubBus(pubsub, "$app")];
}

export function run(redis: object): Promise<unknown> | undefined {
  return scriptRunner(redis, "return 1")?.([uuidv7()], [uuidv7(Date.now(), 1)]);
}
