/** The one route of the console's own operations: `POST /feature-flags/console/:name`. */
import { FeatureFlagError } from "../../model/errors.ts";
import { CONSOLE_OPERATIONS } from "../console/list.ts";
import { isFromConsole } from "../console/mark.ts";
import { anyObject, objectOf } from "../http/openapi.ts";
import { pathId } from "../http/parameters.ts";
import type { Post, PublicOperation } from "./definition.ts";

/** Runs an operation of `@halyard/console`. Only its handler reaches this route. */
export const runFeatureFlagsConsoleRoute: PublicOperation<
  Post<"/feature-flags/console/:name", Record<string, unknown>, unknown, "http">
> = {
  summary: "Run an operation of the console; only for its handler",
  method: "POST",
  path: "/feature-flags/console/:name",
  scope: "http",
  action: "public",
  rateLimit: "admin",
  result: () => objectOf({ result: anyObject }),
  async run(call) {
    const operation = isFromConsole(call.service, call.headers)
      ? CONSOLE_OPERATIONS.get(pathId(call.request, "name"))
      : undefined;
    if (operation === undefined) {
      throw new FeatureFlagError(
        "PERMISSION_DENIED",
        "There is no such operation here. Send requests of the console to the path where it is mounted.",
        { status: 404 },
      );
    }
    // Two branches, because the type of `run` follows from `action`.
    return operation.action === "public"
      ? operation.run({ ...call, operation })
      : operation.run({ ...call, operation });
  },
};
