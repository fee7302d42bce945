/** The plugin's endpoints, made from the list of operations, and their types, which become those of `auth.api`. */

import { createAuthEndpoint } from "@better-auth/core/api";
import { chain } from "@halyard/base";
import { headersOf, RequestIdentity } from "@halyard/sessions/plugin";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isAPIError } from "better-auth/api";
import type { FlagDeclarations, FlagKey } from "../../model/declared.ts";
import { MAX_BODY_BYTES } from "../http/body-limit.ts";
import { answer } from "../http/errors.ts";
import { writesText } from "../http/host-facts.ts";
import type { HostRequest } from "../http/host-request.ts";
import { documentationOf } from "../http/openapi.ts";
import { admit } from "../limits/admit.ts";
import type { Service } from "../service.ts";
import type { DeclaredMethod } from "./declared-calls.ts";
import type { AnyOperation, Change, ChangeQuery, EntityQuery, InBody, Shape } from "./definition.ts";
import type { BatchMethod, BootstrapMethod, EvaluateMethod } from "./evaluation-calls.ts";
import * as OPERATIONS from "./list.ts";
import type { Method } from "./method-type.ts";
import type { PlanMethod } from "./plan-calls.ts";

type Operations = typeof OPERATIONS;

/**
 * Without `headers` a call is trusted; with them the caller needs the operation's action on the resource
 * `featureFlag`.
 */
export type FeatureFlagsEndpoints<Flags extends FlagDeclarations = FlagDeclarations> = {
  [Name in keyof Operations]: EndpointOf<NonNullable<Operations[Name]["shape"]>, Flags>;
};

type EndpointOf<S extends Shape, Flags extends FlagDeclarations> = MethodOf<S, Flags> & {
  path: S["path"];
  options: { method: S["method"]; metadata: { scope: S["scope"] } };
};

type MethodOf<S extends Shape, Flags extends FlagDeclarations> = S extends { readonly selects: "one" }
  ? EvaluateMethod<Flags>
  : S extends { readonly selects: "several" }
    ? BatchMethod
    : S extends { readonly selects: "all" }
      ? BootstrapMethod
      : S extends { readonly selects: "plan" }
        ? PlanMethod
        : [string extends FlagKey<Flags> ? never : FlagNameIn<S>] extends [never]
          ? Method<InputOf<S>, S["output"]>
          : DeclaredMethod<Flags, FlagNameIn<S>, InputOf<S>, S["output"], ClearedBy<S>>;

/** What clears a field. */
type ClearedBy<S extends Shape> = S extends { readonly method: "PATCH" } ? null : never;

/** The field that names a flag. */
type FlagNameIn<S extends Shape> = S extends { readonly namesFlag: true }
  ? "flagId"
  : S["path"] extends `/feature-flags/admin/flags/${string}`
    ? Extract<ParamName<S["path"]>, "id" | "flagId">
    : S extends { readonly method: "POST"; readonly path: "/feature-flags/admin/flags" }
      ? "key"
      : never;

/** The ids are in `params`, as in the path; or in the body, where the shape allows it. */
type InputOf<S extends Shape> =
  | (ParamsOf<S["path"]> & FieldsOf<S>)
  | (S extends InBody<infer Body> ? { body: Body } & QueryOf<S> : never);

type FieldsOf<S extends Shape> = S extends { readonly method: "GET" }
  ? { query?: S["input"] | undefined }
  : QueryOf<S> & (undefined extends S["input"] ? { body?: S["input"] } : { body: S["input"] });

/** A write that names a flag or segment by its key may name the organization of the key. */
type QueryOf<S extends Shape> = S extends { readonly namesFlag: true }
  ? { query?: (EntityQuery & NoteOf<S>) | undefined }
  : [ParamName<S["path"]>] extends [never]
    ? S extends Change
      ? { query?: ChangeQuery | undefined }
      : unknown
    : { query?: (EntityQuery & NoteOf<S>) | undefined };
type NoteOf<S extends Shape> = S extends Change | { readonly method: "PATCH" | "DELETE" }
  ? ChangeQuery
  : unknown;

/** The parameters of a path such as `/flags/:flagId/rules/:ruleId`. */
type ParamsOf<Path extends string> = [ParamName<Path>] extends [never]
  ? unknown
  : { params: { [Name in ParamName<Path>]: string } };
type ParamName<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | ParamName<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? Name
    : never;

/** The largest body, in bytes, that a request to this path may have. */
export function bodyLimitOf(pathname: string): number {
  return LARGE_BODIES.find(([path]) => pathname.endsWith(path))?.[1] ?? MAX_BODY_BYTES;
}

const LARGE_BODIES = Object.values<AnyOperation>(OPERATIONS).flatMap(({ path, maxBodyBytes }) =>
  maxBodyBytes === undefined ? [] : [[path, maxBodyBytes] as const],
);

/** Gives the service of the auth instance that a request came to. */
export type ServiceFinder = (request: Pick<HostRequest, "context">) => Service;

export function createEndpoints<Flags extends FlagDeclarations>(
  serviceOf: ServiceFinder,
): FeatureFlagsEndpoints<Flags> {
  const endpoints = Object.entries<AnyOperation>(OPERATIONS).map(([name, operation]) => {
    const handle = (request: HostRequest) => answerRequest(name, operation, serviceOf(request), request);
    return [name, createEndpoint(name, operation, handle)];
  });
  // Each definition was checked against its shape, from which this type is made.
  return Object.fromEntries(endpoints) as FeatureFlagsEndpoints<Flags>;
}

function createEndpoint(
  name: string,
  operation: AnyOperation,
  handle: (request: HostRequest) => Promise<unknown>,
): object {
  const { method, path, scope } = operation;
  const metadata = { scope, noStore: true, openapi: documentationOf(name, operation) };
  switch (method) {
    case "GET":
      return createAuthEndpoint(path, { method, query: ANYTHING, metadata }, handle);
    case "DELETE":
      // A request's body is not read. Server code may still pass one.
      return createAuthEndpoint(path, { method, disableBody: true, metadata }, handle);
    case "POST":
    case "PATCH":
      return createAuthEndpoint(path, { method, body: ANYTHING, metadata }, handle);
  }
}

/** The path of every request through Better Auth: counted by the rate limit, answered by its operation, measured. */
async function answerRequest(
  name: string,
  operation: AnyOperation,
  service: Service,
  request: HostRequest,
): Promise<unknown> {
  const startedAtMs = performance.now();
  let status = 500;
  try {
    const result = await answer(request, operation.failure ?? "STORAGE_ERROR", () =>
      run(operation, service, request),
    );
    status = statusOf(request);
    return result;
  } catch (error) {
    if (isAPIError(error)) status = error.statusCode;
    throw error;
  } finally {
    // A call by server code is not a request.
    if (request.request !== undefined) service.meter.answered(name, status, performance.now() - startedAtMs);
  }
}

async function run(operation: AnyOperation, service: Service, request: HostRequest): Promise<unknown> {
  const identity = new RequestIdentity(request, service.identities);
  const call = { service, request, headers: headersOf(request), identity };
  await admit({ ...call, operation }, operation);
  identity.markCounted();
  const { stages } = operation;
  if (stages !== undefined && writesText(request)) {
    const text = await chain(stages.prepare({ ...call, operation }), (prepared) => prepared.text());
    return text === undefined ? undefined : new Response(text, { headers: JSON_TEXT });
  }
  // Two branches, because the type of `run` follows from `action`.
  const result = await (operation.action === "public"
    ? operation.run({ ...call, operation })
    : operation.run({ ...call, operation }));
  if (operation.status !== undefined) request.setStatus(operation.status);
  return result;
}

const JSON_TEXT = { "content-type": "application/json" };

/** The status that was set with `setStatus`. Better Auth's type does not declare it as readable. */
function statusOf(request: HostRequest): number {
  return "responseStatus" in request && typeof request.responseStatus === "number"
    ? request.responseStatus
    : 200;
}

/** Leaves validation to the operation, which first identifies the caller. */
const ANYTHING: StandardSchemaV1 = {
  "~standard": { version: 1, vendor: "halyard", validate: (value) => ({ value }) },
};
