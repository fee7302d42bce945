/** The bus of a process of `nodes.ts`, made in that process. */
import { type FeatureFlagsBus, postgresBus } from "@halyard/flags";
import { redisBus } from "@halyard/flags/redis";
import { redisPubSub } from "@halyard/wire/redis";
import type { Pool } from "pg";
import type { connectRedis } from "../redis-storage.ts";

export const NODE_BUSES = ["PostgreSQL", "Redis", "the pub/sub of wire"] as const;
export type NodeBus = (typeof NODE_BUSES)[number];

export function createNodeBus(
  kind: NodeBus,
  { pool, client }: { readonly pool: Pool; readonly client: Awaited<ReturnType<typeof connectRedis>> },
): FeatureFlagsBus {
  if (kind === "PostgreSQL") return postgresBus(pool);
  return kind === "Redis" ? redisBus(client) : redisPubSub(client);
}
