/** Sends admin requests over HTTP, for the tests of the admin routes. */
import { expect } from "vitest";
import type { Answer } from "../host.ts";
import { newKey } from "../memory-host.ts";
import type { Ways } from "./ways.ts";

export function adminHelpers(suite: () => Ways) {
  const send = (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer> => {
    const { host, admin } = suite();
    return host.call(method, `/feature-flags/admin${path}`, { as: admin, body, ...(headers && { headers }) });
  };
  return {
    send,
    make: async (fields: object = {}) =>
      (await send("POST", "/flags", { key: newKey(), name: "N", type: "string", enabled: true, ...fields }))
        .json,
  };
}

export const isMissing = (answer: Answer, entity: string) =>
  expect([answer.status, answer.json.code, answer.json.details.entity]).toEqual([
    404,
    "FLAG_NOT_FOUND",
    entity,
  ]);
