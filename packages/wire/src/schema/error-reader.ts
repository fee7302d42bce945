/** Declared errors: checked when they are declared, and recognized by the caller of the request. */
import { isObject } from "../protocol/checks.ts";
import { ERROR_CODES, type ErrorCode, WsError } from "../protocol/error.ts";
import type { AnyErrors, DeclaredErrors } from "./declared-errors.ts";
import type { StandardSchema } from "./standard-schema.ts";
import { pick, readValue, standardValidator } from "./validate.ts";

/** Converts declared fields to a schema of the library, and throws when they are not valid. */
type ToSchema = (fields: unknown, where: string) => StandardSchema | undefined;

const NAME = /^[A-Za-z]\w{0,63}$/;

export function declareErrors(toSchema: ToSchema, declared: unknown, type: string): DeclaredErrors {
  const entries = isObject(declared) ? Object.entries(declared) : [];
  if (entries.length === 0)
    throw new TypeError(
      `The errors of ${type} declare nothing. Pass { NAME: { code: "FAILED_PRECONDITION" } }, or leave them out.`,
    );
  const errors: AnyErrors = Object.fromEntries(
    entries.map(([name, error]) => [name, declareError(toSchema, name, error, type)]),
  );
  const recognized = new WeakSet<object>();
  return {
    errors,
    isError: (error): error is never => recognized.has(error as object),
    readError(error, [{ unknownKeys }, , report]) {
      const { reason, data: sent } = error.details ?? {};
      const declaration = declarationOf(errors, reason);
      if (declaration?.code !== error.code) return;
      const { data: schema } = declaration;
      try {
        // Data of a newer server, which this schema does not declare, is ignored.
        const known = schema && unknownKeys === "strip" ? pick(schema, sent) : sent;
        const part = `data of the error ${reason}`;
        const data = schema && readValue(standardValidator, schema, part, type, known, "INTERNAL");
        recognized.add(Object.assign(error, { reason, data }));
      } catch (problem) {
        report?.(WsError.wrap(problem, "INTERNAL"), "validation", type);
      }
    },
  };
}

function declareError(toSchema: ToSchema, name: string, declared: unknown, type: string): AnyErrors[string] {
  const where = `The error ${JSON.stringify(name)} of ${type}`;
  if (!NAME.test(name))
    throw new TypeError(
      `${where} has no valid name. Use up to 64 letters, digits and "_", beginning with a letter, such as OUT_OF_STOCK.`,
    );
  const { code, data, ...others }: Record<string, unknown> = isObject(declared) ? declared : {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new TypeError(`${where} has the unknown option "${unknown}". The options are code and data.`);
  if (typeof code !== "string" || !Object.hasOwn(ERROR_CODES, code))
    throw new TypeError(
      `${where} has the code ${JSON.stringify(code)}. Use one of ${Object.keys(ERROR_CODES).join(", ")}.`,
    );
  return { code: code as ErrorCode, data: toSchema(data, `The data of the error ${name} of ${type}`) };
}

/** The declaration with this name, which a peer may have chosen. */
export function declarationOf(errors: AnyErrors = {}, name: unknown): AnyErrors[string] | undefined {
  return typeof name === "string" && Object.hasOwn(errors, name) ? errors[name] : undefined;
}
