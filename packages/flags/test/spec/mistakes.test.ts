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

  test("an email as the userId of an override: use the id of the user", async () => {
    const { id: flagId } = await make();
    const override = (userId: string) => way().createOverride({ flagId, userId, value: true });
    expect(messageOf(await override(admin.email))).toEqual([
      400,
      `The request is not valid. userId: must be the id of a user, not an email; replace "${admin.email}" by the id of this user, which is user.id in their session`,
    ]);
    expect((await override(admin.id)).status).toBe(201);
    expect((await override("an id with an @ sign")).status).toBe(201);
  });

  test("a stale version: read the entity again", async () => {
    const { id, key } = await make();
    await way().updateFlag(id, { name: "M" }, 1);
    const message = `The flag "${key}" is at version 2, not 1, because it was changed after you read it. Read it again, then repeat the change with version 2.`;
    expect(messageOf(await way().updateFlag(id, { name: "L" }, 1))).toEqual([409, message]);
    expect(messageOf(await way().deleteFlag(id, 1))).toEqual([409, message]);
  });
});

describe("guide/flags-http: Errors", () => {
  test("an email is accepted as userId if it is the id of a user", async () => {
    const email = "ada@example.com";
    await host.adapter.create({
      model: "user",
      forceAllowId: true,
      data: {
        id: email,
        email,
        name: "Ada",
        emailVerified: true,
        createdAt: new Date(),
        updatedAt: new Date(),
      },
    });
    const flag = await host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "boolean" },
    });
    const override = { flagId: flag.id, userId: email, value: true };
    expect((await host.auth.api.createFeatureFlagOverride({ body: override })).userId).toBe(email);
  });
});
