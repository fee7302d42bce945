// The services by name.
import { bun } from "./bun.ts";
import { chromium } from "./chromium.ts";
import { mariadb } from "./mariadb.ts";
import { nats } from "./nats.ts";
import { postgres } from "./postgres.ts";
import { redis } from "./redis.ts";
import { runningUrl, type ServerKind } from "./server.ts";
import type { Tool } from "./tool.ts";
import { workerd } from "./workerd.ts";

export type ServerName = ServerKind["name"];
export type ToolName = Tool["name"];

export const servers: Readonly<Record<ServerName, ServerKind>> = { postgres, mariadb, redis, nats };
export const tools: Readonly<Record<ToolName, Tool>> = { bun, workerd, chromium };

/**
 * The URL of the shared server: the one in `DATABASE_URL`, `MYSQL_URL`, `REDIS_URL` or `NATS_URL`, otherwise the local
 * one. Rejects with the remedy when it does not respond.
 */
export function serviceUrl(name: ServerName): Promise<string> {
  return runningUrl(servers[name]);
}
