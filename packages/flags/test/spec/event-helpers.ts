/** Reads stored events, and checks refused requests, for the tests of events. */
import { expect } from "vitest";
import type { EventRow } from "../../src/model/event-rows.ts";
import type { Answer, Host } from "../host.ts";
import { flag, newKey } from "../memory-host.ts";

/** The key of a new flag: an anonymous caller can record events of existing flags only. */
export async function newFlag(host: Host, key: string = newKey()): Promise<string> {
  await host.auth.api.createFeatureFlag({ body: flag({ key }) });
  return key;
}

export const rowsOf = (host: Host, flagKey: string) =>
  host.adapter.findMany<EventRow>({
    model: "featureFlagEvent",
    where: [{ field: "flagKey", value: flagKey }],
    limit: 10_000,
  });

/** The only stored event of the flag. */
export async function rowOf(host: Host, flagKey: string): Promise<EventRow> {
  const [row, ...others] = await rowsOf(host, flagKey);
  expect(others).toEqual([]);
  if (row === undefined) throw new Error(`No event of the flag "${flagKey}" is stored.`);
  return row;
}

export const isRefused = (answer: Answer, status: number, code: string) =>
  expect([answer.status, answer.json.code], answer.text).toEqual([status, code]);
