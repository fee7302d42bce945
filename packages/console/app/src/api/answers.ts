/** What the console's API answers: the type of each answer follows from the operation at its method and path. */
import type { FeatureFlagsEndpoints } from "@halyard/flags";
import type { ConsoleAnswers } from "@halyard/flags/console";
import type { ConsoleSession, Sent } from "./types.ts";

/** The operations of the console itself share one route. */
type Endpoint = Exclude<
  FeatureFlagsEndpoints[keyof FeatureFlagsEndpoints],
  { path: "/feature-flags/console/:name" }
>;
type ConsolePath = `/feature-flags/console/${keyof ConsoleAnswers}`;

/** The paths of an operation. An id in them is any text. */
type PathsOf<Path extends string> = Path extends `${infer Start}/:${string}/${infer End}`
  ? `${Start}/${string}/${PathsOf<End>}`
  : Path extends `${infer Start}/:${string}`
    ? `${Start}/${string}`
    : Path;

/** Compared both ways, because `/flags/${string}` includes `/flags/${string}/rules`. */
type OutputOf<Method, Path, One> = One extends {
  path: infer Known extends string;
  options: { method: Method };
}
  ? [Path, PathsOf<Known>] extends [PathsOf<Known>, Path]
    ? One extends (call: never) => Promise<infer Output>
      ? Output
      : never
    : never
  : never;

/** What the operation at a method and path answers. */
export type AnswerOf<Method, Path> = Path extends `/auth/${string}`
  ? unknown
  : Path extends "/feature-flags/console/session"
    ? ConsoleSession
    : Path extends `/feature-flags/console/${infer Name extends keyof ConsoleAnswers}`
      ? Sent<ConsoleAnswers[Name]>
      : Sent<OutputOf<Method, Path, Endpoint>>;

/** The paths that requests with a method may have. */
export type KnownPath<Method> =
  | PathsOf<Extract<Endpoint, { options: { method: Method } }>["path"]>
  | (Method extends "POST" ? ConsolePath : never)
  | `/auth/${string}`;
