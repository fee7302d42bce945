import { test } from "vitest";
import { memoryHost } from "./memory-host.ts";
import { checkPlans, createUsers } from "./plan-property.ts";
import { FIELDS } from "./trusted-host.ts";

test("a plan predicts for random drafts exactly the users whose value differs after the change", async () => {
  const host = await memoryHost({ ...FIELDS, flags: { trusted: { user: ["plan"] } } });
  await checkPlans(host, await createUsers(host, 1000), 50);
});
