/** `ctx.fail()`: an error that the schema of the request declares. */
import { DeclaredFailure } from "../../protocol/declared-failure.ts";
import { encodeShort } from "../../protocol/encode-short.ts";
import { isTerminal, WsError } from "../../protocol/error.ts";
import { declarationOf } from "../../schema/error-reader.ts";
import type { RpcSchema } from "../../schema/message.ts";
import { readValue } from "../../schema/validate.ts";
import { checkFrameSize } from "../connections/frame-size.ts";
import type { FailOptions } from "../context.ts";
import type { Server } from "../contracts.ts";

/** Throws `INTERNAL` when the error is not declared, or its data does not match the schema. */
export function declaredFailure(
  { options: { validator, maxOutboundFrameBytes } }: Server,
  { type, errors }: RpcSchema,
  reason: string,
  data: unknown,
  options: FailOptions | undefined,
): DeclaredFailure {
  const declared = declarationOf(errors, reason);
  if (declared === undefined)
    throw new WsError("INTERNAL", `${type} declares no error ${JSON.stringify(reason)}. Add it to errors.`);
  // Only a check: the data is sent as given, and the caller applies the transforms.
  const part = `data of the error ${reason}`;
  if (declared.data !== undefined) readValue(validator, declared.data, part, type, data, "INTERNAL");
  else if (data !== undefined)
    throw new WsError(
      "INTERNAL",
      `The error ${reason} of ${type} declares no data. Leave it out, or declare it.`,
    );
  const details = data === undefined ? { reason } : { reason, data };
  // The compiler refuses options with a terminal code. Where it did not run, the caller still gets the declared error.
  const allowed = isTerminal(declared.code) ? undefined : options;
  const error = new DeclaredFailure(declared.code, `${type} failed: ${reason}.`, details, allowed);
  checkFrameSize(encodeShort(`${type}.${reason}`, 0, undefined, error.toPayload()), maxOutboundFrameBytes);
  return error;
}
