/** The messages between `createRemoteFlags` and `flagDefinitions`, and the limits that both ends keep. */
import type { MessageSchema, StandardSchema } from "@halyard/wire";
import { message, rpc, z } from "@halyard/wire/zod";

/** A page of records ends with the record that reaches this size, in characters. */
export const PAGE_CHARACTERS: number = 256 * 1024;

/** The close code for a key that is not, or no longer, valid. */
export const CLOSE_UNAUTHENTICATED = 4401;
/** The close code after which the remote process tries again. */
export const CLOSE_TRY_LATER = 1013;

/** What a set of definitions is for. It is the same for all pages of a transfer. */
export interface Terms {
  /** The organization whose flags come before the global ones. */
  readonly organizationId?: string | undefined;
  /** Whether organizations have flags of their own, so that another organization cannot be evaluated. */
  readonly multiTenant: boolean;
  /** The environment whose settings the definitions contain. */
  readonly environment?: string | undefined;
  /** Whether the server reads trusted attributes from its database. A remote process cannot. */
  readonly trusted: boolean;
}

/**
 * Requests one page. Page 0 starts a transfer: of the changes since `position` if the server still knows them, else of
 * all records.
 */
export interface DefinitionsRequest {
  readonly page: number;
  readonly position?: string | undefined;
  readonly environment?: string | undefined;
}

/** One page of a transfer. */
export interface DefinitionsPage {
  /** The position after the last page. */
  readonly position: string;
  /** The records of the transfer are all there are, instead of changes. */
  readonly isWhole: boolean;
  /** See `records.ts`. Texts, so that one parser reads them from the connection and from the file. */
  readonly records: string[];
  /** Another page follows. */
  readonly hasMore: boolean;
  readonly terms: Terms;
  /** The database does not respond, so newer definitions may exist. */
  readonly stale: boolean;
}

type Message<
  Type extends string,
  Payload,
  Response extends MessageSchema | undefined = undefined,
> = MessageSchema<Type, StandardSchema<Payload>, undefined, Response>;

const name = z.string().max(255);
const position = z.string().max(512);

export const termsSchema: z.ZodType<Terms, Terms> = z.object({
  organizationId: name.optional(),
  multiTenant: z.boolean(),
  environment: name.optional(),
  trusted: z.boolean(),
});

export const GetDefinitions: Message<
  "FLAG_DEFINITIONS_GET",
  DefinitionsRequest,
  Message<"FLAG_DEFINITIONS", DefinitionsPage>
> = rpc(
  "FLAG_DEFINITIONS_GET",
  { page: z.int().min(0), position: position.optional(), environment: name.optional() },
  "FLAG_DEFINITIONS",
  {
    position,
    isWhole: z.boolean(),
    records: z.array(z.string()),
    hasMore: z.boolean(),
    terms: termsSchema,
    stale: z.boolean(),
  },
);

/** The definitions have changed, or the server lost or regained its database. Not sent again before the next request. */
export const DefinitionsChanged: Message<"FLAG_DEFINITIONS_CHANGED", { readonly stale: boolean }> = message(
  "FLAG_DEFINITIONS_CHANGED",
  { stale: z.boolean() },
);
