/** The flags of `defineFlags` that do not exist, so that the console can offer to create them. */
import * as z from "zod";
import { NO_TENANT } from "../../model/flag.ts";
import { line, parse } from "../../model/inputs.ts";
import { admitToTenant } from "../access/admission.ts";
import { readBody } from "../http/body-limit.ts";
import type { ConsoleOperation } from "./definition.ts";
import { organizationIn } from "./people.ts";

const input = z.strictObject({ organizationId: line.optional() });

const MAX_FLAGS = 100;

/** A global flag counts in every organization. */
export const missingFlags: ConsoleOperation<"missing-flags"> = {
  action: "read",
  async run(call) {
    const { store, options } = call.service;
    const { tenant } = await admitToTenant(call, organizationIn(call));
    parse(input, readBody(call));
    const declared = Object.entries(options.flags ?? {});
    if (declared.length === 0) return { flags: [] };
    const readings = await Promise.all([...new Set([tenant, NO_TENANT])].map((one) => store.snapshot(one)));
    return {
      flags: declared
        .filter(([key]) => !readings.some(({ snapshot }) => snapshot.flags.has(key)))
        .slice(0, MAX_FLAGS)
        .map(([key, { type, default: fallback, values }]) => {
          const value = fallback ?? values?.[0];
          return { key, type, ...(value !== undefined && { value }), ...(values && { values }) };
        }),
    };
  },
};
