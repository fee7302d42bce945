/**
 * What an operation is. One definition holds its path, method, required action, rate-limit rule, input, documentation
 * and implementation; endpoints, the types of `auth.api`, OpenAPI and the permission matrix are derived from it.
 */

import type { Awaitable } from "@halyard/base";
import type { AdminAnswers } from "../../model/admin-answers.ts";
import type { FeatureFlagErrorCode } from "../../model/errors.ts";
import type { FlagAction, OperationAction } from "../access/actions.ts";
import type { Call, OperationFacts } from "../call.ts";
import type { EvaluationStages } from "../evaluation/answer.ts";
import type { Documentation } from "../http/openapi.ts";
import type { OperationRule } from "../limits/rules.ts";

/** `server`: reached by URL and by `auth.api`. `http`: by URL only. */
export type Scope = "server" | "http";

/** The types of an operation, from which the type of its endpoint follows. */
export interface Shape {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly scope: Scope;
  readonly input: unknown;
  readonly output: unknown;
  /** The body names a flag, whose key may belong to an organization. */
  readonly namesFlag?: true;
}

interface ShapeOf<Method extends Shape["method"], Path extends string, Input, Output, S extends Scope>
  extends Shape {
  readonly method: Method;
  readonly path: Path;
  readonly scope: S;
  readonly input: Input;
  readonly output: Output;
}

type AnswerOf<Key> = Key extends keyof AdminAnswers ? AdminAnswers[Key] : never;

/** `GET`; the input is the query. */
export type Get<
  Path extends string,
  Query,
  Output = AnswerOf<`GET ${Path}`>,
  S extends Scope = "server",
> = ShapeOf<"GET", Path, Query, Output, S>;
/** `POST`; the input is the body. */
export type Post<
  Path extends string,
  Input,
  Output = AnswerOf<`POST ${Path}`>,
  S extends Scope = "server",
> = ShapeOf<"POST", Path, Input, Output, S>;
/** `PATCH`; the input is the body. Server code may add the expected version, which a URL's request has in `If-Match`. */
export type Patch<Path extends string, Input, Output = AnswerOf<`PATCH ${Path}`>> = ShapeOf<
  "PATCH",
  Path,
  Input & ExpectedVersion,
  Output,
  "server"
>;
/** `DELETE`; server code may give the expected version as body. */
export type Delete<Path extends string, Input = ExpectedVersion> = ShapeOf<
  "DELETE",
  Path,
  Input | undefined,
  void,
  "server"
>;

/** The version that the caller has seen. Another stored version is 409, and nothing is changed. */
export type ExpectedVersion = { version?: number | undefined };

/** Adds to a shape that server code may also give the ids in the body. `Body` is the body with them. */
export type InBody<Body> = { readonly byBody: Body };

/** An operation that is called without a query. */
export type NoQuery = Record<string, never>;

/** The query of an operation on a flag or segment. */
export type EntityQuery = {
  /** With `multiTenant`: the organization of a flag or segment that is named by its key. `""` is for global ones. */
  organizationId?: string | undefined;
};

/** Adds to the shape of a `POST` that it makes a change, for which the caller may say why. */
export type Change = { readonly changes: true };

/** The query of an operation that makes a change. */
export type ChangeQuery = {
  /** Why, for the audit log. At most 255 characters. */
  note?: string | undefined;
};

interface Definition<S extends Shape, Action extends OperationAction>
  extends OperationFacts<Action>,
    Documentation {
  readonly method: S["method"];
  readonly path: S["path"];
  readonly scope: S["scope"];
  /** `none`: monitoring must not be refused when the service is busy. */
  readonly rateLimit: OperationRule | "none";
  /** Whether a request may use the reserve rule `off` when its own rule is used up. */
  mayUseReserve?(body: unknown): boolean;
  /** The code of unexpected errors. Defaults to `STORAGE_ERROR`. */
  readonly failure?: FeatureFlagErrorCode;
  run(call: Call<Action>): Awaitable<S["output"]>;
  /** Of an evaluation, whose response is written as text where nothing else reads it. */
  readonly stages?: EvaluationStages<S["output"]>;
  /** Never set: carries the types of the endpoint. */
  readonly shape?: S;
}

/** An operation that needs a permission. */
export type Operation<S extends Shape> = Definition<S, FlagAction>;
/** An operation that any caller may use. */
export type PublicOperation<S extends Shape> = Definition<S, "public">;

/** Any operation, whatever its shape. */
export type AnyOperation = PublicOperation<Shape> | Operation<Shape>;
