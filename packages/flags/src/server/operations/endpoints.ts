/** The plugin's endpoints, made from the list of operations, and their types, which become those of `auth.api`. */
import { type AuthEndpoint, createAuthEndpoint } from "@better-auth/core/api";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isAPIError } from "better-auth/api";
import { MAX_BODY_BYTES } from "../http/body-limit.ts";
import { answer } from "../http/errors.ts";
import type { HostRequest } from "../http/host-request.ts";
import { documentationOf } from "../http/openapi.ts";
import { headersOf } from "../identity/request.ts";
import { RequestIdentity } from "../identity/request-identity.ts";
import { admit } from "../limits/admit.ts";
import type { Service } from "../service.ts";
import type { AnyOperation, Shape } from "./definition.ts";
import * as OPERATIONS from "./list.ts";

type Operations = typeof OPERATIONS;

/**
 * Without `headers` a call is trusted; with them the caller needs the operation's action on the resource
 * `featureFlag`. Names that end in `Route` are reached by URL only.
 */
export type FeatureFlagsEndpoints = {
  [Name in keyof Operations]: EndpointOf<NonNullable<Operations[Name]["shape"]>>;
};

/** A shape with `call` types its method by hand: its result depends on `select`, which `AuthEndpoint` cannot say. */
type EndpointOf<S extends Shape> = S extends { readonly call: infer TypedCall }
  ? TypedCall & PlainEndpoint<S>
  : PlainEndpoint<S>;

// Named types only: a type that TypeScript infers can name packages that a user's package manager does not resolve.
type PlainEndpoint<S extends Shape> = S extends { readonly method: "GET" }
  ? AuthEndpoint<
      PathOf<S>,
      { method: "GET"; query: StandardSchemaV1<S["input"] | undefined>; metadata: { scope: S["scope"] } },
      S["output"]
    >
  : S extends { readonly method: "DELETE" }
    ? AuthEndpoint<
        PathOf<S>,
        { method: "DELETE"; disableBody: true; metadata: { scope: S["scope"] } },
        S["output"]
      >
    : S extends { readonly method: infer M extends "POST" | "PATCH" }
      ? AuthEndpoint<
          PathOf<S>,
          { method: M; body: StandardSchemaV1<S["input"]>; metadata: { scope: S["scope"] } },
          S["output"]
        >
      : never;

type PathOf<S extends Shape> = S["path"] extends string ? S["path"] : string;

/** The largest body, in bytes, that a request to this path may have. */
export function bodyLimitOf(pathname: string): number {
  return LARGE_BODIES.find(([path]) => pathname.endsWith(path))?.[1] ?? MAX_BODY_BYTES;
}

const LARGE_BODIES = Object.values<AnyOperation>(OPERATIONS).flatMap(({ path, maxBodyBytes }) =>
  path === undefined || maxBodyBytes === undefined ? [] : [[path, maxBodyBytes] as const],
);

/** Gives the service of the auth instance that a request came to. */
export type ServiceFinder = (request: Pick<HostRequest, "context">) => Service;

export function createEndpoints(serviceOf: ServiceFinder): FeatureFlagsEndpoints {
  const endpoints = Object.entries<AnyOperation>(OPERATIONS).map(([name, operation]) => {
    const handle = (request: HostRequest) => answerRequest(name, operation, serviceOf(request), request);
    return [name, createEndpoint(name, operation, handle)];
  });
  // Each definition was checked against its shape, from which this type is made.
  return Object.fromEntries(endpoints) as FeatureFlagsEndpoints;
}

function createEndpoint(
  name: string,
  operation: AnyOperation,
  handle: (request: HostRequest) => Promise<unknown>,
): object {
  const { method, path, scope } = operation;
  const metadata = { scope, noStore: true, openapi: documentationOf(name, operation) };
  if (path === undefined) {
    return createAuthEndpoint.serverOnly({ method: "POST", body: ANYTHING, metadata }, handle);
  }
  switch (method) {
    case "GET":
      return createAuthEndpoint(path, { method, query: ANYTHING, metadata }, handle);
    case "DELETE":
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
  if (operation.rateLimit !== undefined) await admit({ ...call, operation }, operation);
  identity.markCounted();
  // Two branches, because the type of `run` follows from `action`.
  const result = await (operation.action === "public"
    ? operation.run({ ...call, operation })
    : operation.run({ ...call, operation }));
  if (operation.status !== undefined) request.setStatus(operation.status);
  return result;
}

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
