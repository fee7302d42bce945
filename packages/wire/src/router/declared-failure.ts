/** `ctx.fail()`: an error that the schema of the request declares. */
import { DeclaredFailure } from "../protocol/declared-failure.ts";
import { encodeShort } from "../protocol/encode-short.ts";
import { WsError } from "../protocol/error.ts";
import { declarationOf, readData } from "../schema/error-reader.ts";
import type { RpcSchema } from "../schema/message.ts";
import type { FailOptions } from "./context.ts";
import type { Server } from "./contracts.ts";
import { checkFrameSize } from "./frame-size.ts";

/** Throws `INTERNAL` when the error is not declared, or its data does not match the schema. */
export function declaredFailure(
  { options: { validator, maxOutboundFrameBytes } }: Server,
  { type, errors }: RpcSchema,
  reason: string,
  data: unknown,
  options: FailOptions | undefined,
): DeclaredFailure {
  const declaration = declarationOf(errors, reason);
  if (declaration === undefined)
    throw new WsError("INTERNAL", `${type} declares no error ${JSON.stringify(reason)}. Add it to errors.`);
  // Only a check: the data is sent as given, and the caller applies the transforms.
  readData(validator, type, reason, declaration, data);
  const details = data === undefined ? { reason } : { reason, data };
  const error = new DeclaredFailure(declaration.code, `${type} failed: ${reason}.`, details, options);
  checkFrameSize(encodeShort(`${type}.${reason}`, 0, undefined, error.toPayload()), maxOutboundFrameBytes);
  return error;
}
