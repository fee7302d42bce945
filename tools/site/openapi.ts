/** The OpenAPI document of the flags plugin, as Better Auth's own plugin generates it, without Better Auth's routes. */

import { DatabaseSync } from "node:sqlite";
import { featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { openAPI } from "better-auth/plugins";

type Json = { [key: string]: unknown };

interface DocumentedEndpoint {
  readonly options: {
    readonly metadata: { readonly openapi: { readonly operationId: string; readonly summary: string } };
  };
}

/** Parts of the reference, by the path after `/feature-flags`; the first that fits. The page shows the last one first. */
const TAGS: readonly (readonly [pattern: RegExp, name: string, description: string])[] = [
  [/^\/(?:health|metrics|ready)/, "Operations", "Health, readiness and metrics."],
  [/^\/ofrep\b/, "OFREP", "The OpenFeature Remote Evaluation Protocol, for clients in other languages."],
  [/^\/(?:events?|exposures)\b/, "Events and exposures", "What users do, and what they were shown."],
  [
    /^\/admin\/(?:plans|audit)/,
    "Plans and audit log",
    "Impact before a change, the log of changes, and reverts.",
  ],
  [/^\/admin\/(?:metrics|flags\/\{[^}]+\}\/stats)/, "Statistics", "Usage and results by arm."],
  [/^\/admin\//, "Administration", "Flags, rules, overrides and segments."],
  [/^/, "Evaluation", "Values of flags for the caller."],
];

/** Routes that only the console calls; its README describes them. */
const HIDDEN = /^\/feature-flags\/console\//;

export async function generateOpenApi(version: string): Promise<Json> {
  const options = {
    baseURL: "http://localhost:3000",
    database: new DatabaseSync(":memory:"),
    secret: "only for the generation of the document, never for a session",
    logger: { disabled: true },
    plugins: [featureFlags(), openAPI()],
  };
  await (await getMigrations(options)).runMigrations();
  const { paths, components } = await betterAuth(options).api.generateOpenAPISchema();
  // Better Auth's generator leaves summaries out.
  const summaries = new Map(
    Object.values(featureFlags().endpoints as unknown as Record<string, DocumentedEndpoint>).map(
      ({ options: { metadata } }) => [metadata.openapi.operationId, metadata.openapi.summary],
    ),
  );
  const kept = Object.entries(paths as Record<string, Json>)
    .filter(([path]) => /^\/(?:feature-flags|ofrep)\b/.test(path) && !HIDDEN.test(path))
    .map(([path, item]) => [path, describeItem(path, item, summaries)] as const);
  const { securitySchemes } = components as { securitySchemes?: Json };
  return {
    openapi: "3.1.1",
    info: {
      title: "Halyard flags",
      version,
      description: "Routes that `@halyard/flags` adds to a Better Auth server.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [
      {
        url: "{origin}/api/auth",
        description: "Your application, with Better Auth's `basePath`.",
        variables: { origin: { default: "http://localhost:3000" } },
      },
    ],
    tags: TAGS.map(([, name, description]) => ({ name, description })).reverse(),
    paths: Object.fromEntries(kept),
    components: { securitySchemes: securitySchemes ?? {} },
  };
}

function describeItem(path: string, item: Json, summaries: ReadonlyMap<string, string>): Json {
  const parameters = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  return Object.fromEntries(
    Object.entries(item).map(([method, operation]) => [
      method,
      describeOperation(path, operation as Json, parameters, summaries),
    ]),
  );
}

function describeOperation(
  path: string,
  operation: Json,
  inPath: readonly Json[],
  summaries: ReadonlyMap<string, string>,
): Json {
  const inside = path.replace(/^\/feature-flags/, "");
  const [, tag = ""] = TAGS.find(([pattern]) => pattern.test(inside)) ?? [];
  const others = ((operation["parameters"] ?? []) as Json[]).filter(({ in: place }) => place !== "path");
  const parameters = [...inPath, ...others];
  const { parameters: _, ...rest } = operation;
  const summary = summaries.get(String(operation["operationId"]));
  return {
    ...rest,
    ...(summary !== undefined && { summary }),
    tags: [tag],
    ...(parameters.length > 0 && { parameters }),
  };
}
