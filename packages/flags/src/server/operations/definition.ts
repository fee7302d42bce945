/**
 * What an operation is. One definition holds its path, method, required action, rate-limit rule, input, documentation
 * and implementation; endpoints, the types of `auth.api`, OpenAPI and the permission matrix are derived from it.
 */

import type { FeatureFlagErrorCode } from "../../model/errors.ts";
import type { FlagAction, OperationAction } from "../access/actions.ts";
import type { Call, OperationFacts } from "../call.ts";
import type { Documentation } from "../http/openapi.ts";
import type { OperationRule } from "../limits/rules.ts";

/** `server`: reached by URL and by `auth.api`. `http`: by URL only. */
export type Scope = "server" | "http";

/** The types of an operation, from which the type of its endpoint follows. */
export interface Shape {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Undefined for a method that only server code can call. */
  readonly path: string | undefined;
  readonly scope: Scope;
  readonly input: unknown;
  readonly output: unknown;
}

interface ShapeOf<
  Method extends Shape["method"],
  Path extends string | undefined,
  Input,
  Output,
  S extends Scope,
> extends Shape {
  readonly method: Method;
  readonly path: Path;
  readonly scope: S;
  readonly input: Input;
  readonly output: Output;
}

/** `GET`; the input is the query. */
export type Get<Path extends string, Query, Output, S extends Scope = "server"> = ShapeOf<
  "GET",
  Path,
  Query,
  Output,
  S
>;
/** `POST`; the input is the body. */
export type Post<Path extends string, Input, Output, S extends Scope = "server"> = ShapeOf<
  "POST",
  Path,
  Input,
  Output,
  S
>;
/** `PATCH`; the input is the body. */
export type Patch<Path extends string, Input, Output, S extends Scope> = ShapeOf<
  "PATCH",
  Path,
  Input,
  Output,
  S
>;
export type Delete<Path extends string, S extends Scope> = ShapeOf<"DELETE", Path, never, void, S>;
/** A method of `auth.api` without a URL; the input is the body. */
export type Method<Input, Output> = ShapeOf<"POST", undefined, Input, Output, "server">;

/** An operation that is called without a query. */
export type NoQuery = Record<string, never>;

interface Definition<S extends Shape, Action extends OperationAction>
  extends OperationFacts<Action>,
    Documentation {
  readonly method: S["method"];
  readonly scope: S["scope"];
  /** The code of unexpected errors. Defaults to `STORAGE_ERROR`. */
  readonly failure?: FeatureFlagErrorCode;
  run(call: Call<Action>): Promise<S["output"]>;
  /** Never set: carries the types of the endpoint. */
  readonly shape?: S;
}

interface HttpDefinition<S extends Shape, Action extends OperationAction> extends Definition<S, Action> {
  readonly path: S["path"];
  /** `none`: monitoring must not be refused when the service is busy. */
  readonly rateLimit: OperationRule | "none";
  /** Whether a request may use the reserve rule `off` when its own rule is used up. */
  mayUseReserve?(body: unknown): boolean;
}

interface MethodDefinition<S extends Shape, Action extends OperationAction> extends Definition<S, Action> {
  readonly path?: undefined;
  readonly rateLimit?: undefined;
  readonly mayUseReserve?: undefined;
}

type DefinitionOf<S extends Shape, Action extends OperationAction> = S["path"] extends string
  ? HttpDefinition<S, Action>
  : MethodDefinition<S, Action>;

/** An operation that needs a permission. */
export type Operation<S extends Shape> = DefinitionOf<S, FlagAction>;
/** An operation that any caller may use. */
export type PublicOperation<S extends Shape> = DefinitionOf<S, "public">;

/** Any operation, whatever its shape. */
export type AnyOperation =
  | HttpDefinition<Shape, "public">
  | HttpDefinition<Shape, FlagAction>
  | MethodDefinition<Shape, "public">
  | MethodDefinition<Shape, FlagAction>;
