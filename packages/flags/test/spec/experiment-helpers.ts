/** Experiments of one host: flags with variants, the tokens of their exposures, and their statistics. */
import { expect } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey } from "../memory-host.ts";

/** The path that exposures are reported to. */
export const REPORT = "/feature-flags/exposures";
const VARIANTS = [
  { key: "a", weight: 50, value: "A" },
  { key: "b", weight: 50, value: "B" },
];
/** One variant for everyone. */
export const only = (key: string) => [{ key, weight: 100, value: key.toUpperCase() }];

const makeFlag = (on: Host, fields: object) =>
  on.auth.api.createFeatureFlag({
    body: {
      key: newKey(),
      name: "N",
      type: "string",
      enabled: true,
      defaultValue: "d",
      variants: VARIANTS,
      ...fields,
    },
  });
export type Flag = Awaited<ReturnType<typeof makeFlag>>;

/** `hostOf` gives the host of the suite, which a test may replace by its own. */
export function experimentsOf(hostOf: () => Host) {
  const make = (fields: object = {}, on: Host = hostOf()) => makeFlag(on, fields);

  const statsOf = async ({ id }: Flag, on: Host = hostOf()) =>
    on.auth.api.getFeatureFlagStats({ params: { id } });

  /** Exposures and users by arm; those of users who did not get it by chance after a bar. */
  async function armsOf(flag: Flag, on: Host = hostOf()): Promise<Record<string, string>> {
    const { byVariant } = await statsOf(flag, on);
    return Object.fromEntries(
      Object.entries(byVariant).map(([arm, { exposures, uniqueUsers, excluded }]) => [
        arm,
        `${exposures} ${uniqueUsers} | ${excluded?.exposures ?? 0} ${excluded?.uniqueUsers ?? 0}`,
      ]),
    );
  }

  /** The token of the flag for this person. */
  async function tokenOf({ key }: Flag, as?: Person, context?: object, on: Host = hostOf()): Promise<string> {
    const { status, text, json } = await on.evaluate({ flagKey: key, exposures: true, context }, as);
    expect(status, text).toBe(200);
    expect(Object.keys(json.exposures)).toEqual([key]);
    return json.exposures[key];
  }

  const report = async (tokens: unknown[], as?: Person, on: Host = hostOf()) =>
    (await on.request(REPORT, { exposures: tokens }, as?.headers)).json;

  return { make, statsOf, armsOf, tokenOf, report };
}
