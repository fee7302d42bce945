/** Checks the messages about common mistakes: each says what happened, names the value concerned, and says what to do. */
import { describe, expect, test } from "vitest";
import type { Answer, Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("guide/flags-http: Errors (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const body = () => ({ key: newKey(), name: "N", type: "boolean" });
  const make = async () => (await way().createFlag(body())).json;
  const messageOf = ({ status, json }: Answer) => [status, json.message];

  test("a list instead of a group of conditions: wrap the list", async () => {
    const { id } = await make();
    const condition = { attribute: "plan", operator: "equals", value: "pro" };
    const rule = { priority: 1, value: true };
    expect(messageOf(await way().createRule(id, { ...rule, conditions: [condition] }))).toEqual([
      400,
      'The request is not valid. conditions: must be a group of conditions, not a list; wrap the list: { "operator": "AND", "conditions": […] }',
    ]);
    const nested = { conditions: [condition], not: [condition] };
    expect(messageOf(await way().createRule(id, { ...rule, conditions: nested }))).toEqual([
      400,
      "The request is not valid. conditions.not: must be a group, not a list; wrap the list: { `conditions`: […] }",
    ]);
  });

  test("a fraction as rolloutPercentage: round it, or use a rule", async () => {
    const advice =
      "must be a whole number from 0 to 100, not 12.5; round it, or use a rule: a rule's percentage takes fractions";
    expect(messageOf(await way().createFlag({ ...body(), rolloutPercentage: 12.5 }))).toEqual([
      400,
      `The request is not valid. rolloutPercentage: ${advice}`,
    ]);
    const environments = { prod: { rolloutPercentage: 12.5 } };
    expect(messageOf(await way().createFlag({ ...body(), environments }))).toEqual([
      400,
      `The request is not valid. environments.prod.rolloutPercentage: ${advice}`,
    ]);
  });

  test("a stale version: read the entity again", async () => {
    const { id, key } = await make();
    await way().updateFlag(id, { name: "M" }, 1);
    const message = `The flag "${key}" is at version 2, not 1, because it was changed after you read it. Read it again, then repeat the change with version 2.`;
    expect(messageOf(await way().updateFlag(id, { name: "L" }, 1))).toEqual([409, message]);
    expect(messageOf(await way().deleteFlag(id, 1))).toEqual([409, message]);
  });
});
