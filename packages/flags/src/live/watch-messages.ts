/** The messages with which a console learns that flags have changed, shared by server and console. */
import type { MessageSchema, StandardSchema } from "@halyard/wire";
import { anyObject, messageOf } from "./messages.ts";

/** A request to be told of changes, with the token of `POST feature-flags/console/revision`. */
export type WatchInput = { readonly token: string };
/** The revision of the watched flags. */
export type WatchedMessage = { readonly revision: number };

type Message<Type extends string, Payload> = MessageSchema<
  Type,
  StandardSchema<Payload>,
  undefined,
  undefined
>;

export const Watched = messageOf("flags:watched", anyObject) as Message<"flags:watched", WatchedMessage>;
/** A connection watches the flags of one tenant. A second request replaces the first. */
export const Watch = messageOf("flags:watch", anyObject, Watched) as MessageSchema<
  "flags:watch",
  StandardSchema<WatchInput>,
  undefined,
  typeof Watched
>;
/** The watched flags have changed. */
export const Changed = messageOf("flags:changed", anyObject) as Message<"flags:changed", WatchedMessage>;
