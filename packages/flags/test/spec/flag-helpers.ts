/** Creates, rejects and evaluates flags through one way of calling, for the tests of one resource. */
import { expect } from "vitest";
import { newKey } from "../memory-host.ts";
import type { Way } from "./ways.ts";

export const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export function flagHelpers(way: () => Way) {
  const make = async (fields: object = {}) => {
    const answer = await way().createFlag({
      key: newKey(),
      name: "N",
      type: "string",
      enabled: true,
      ...fields,
    });
    expect(answer.status, answer.text).toBe(201);
    return answer.json;
  };
  const evaluated = async (key: string, context?: object, headers?: Record<string, string>) =>
    (await way().evaluate({ flagKey: key, context }, headers)).json;
  return {
    make,
    refuse: async (fields: object, code = "VALIDATION_ERROR") => {
      const answer = await way().createFlag({ key: newKey(), name: "N", type: "string", ...fields });
      expect([answer.status, answer.json.code], JSON.stringify(fields)).toEqual([400, code]);
      return answer.json;
    },
    evaluated,
    matches: async (conditions: object, attributes: object) => {
      const flag = await make();
      const created = await way().createRule(flag.id, { priority: 1, conditions, value: "r" });
      expect(created.status, created.text).toBe(201);
      return (await evaluated(flag.key, { attributes })).reason === "rule_match";
    },
  };
}
