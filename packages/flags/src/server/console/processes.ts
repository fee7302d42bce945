/** What the console shows of the processes that serve the flags. */
import * as z from "zod";
import { parse } from "../../model/inputs.ts";
import { admitToTenant } from "../access/admission.ts";
import { readBody } from "../http/body-limit.ts";
import type { ConsoleOperation } from "./definition.ts";
import { globalOnly } from "./keys.ts";

const noInput = z.strictObject({});

export const processes: ConsoleOperation<"processes"> = {
  action: "read",
  async run(call) {
    // Processes serve the flags of all organizations.
    await admitToTenant(call, globalOnly(call));
    parse(noInput, readBody(call) ?? {});
    return { processes: await call.service.processes.list(), bus: call.service.store.figures().bus };
  },
};
