/** A project of its own that uses the messages of another one. */
import { createRouter } from "@halyard/wire/zod";
import { all, Greet, Said } from "./zod-messages.js";

export const router = createRouter()
  .on(Said, (ctx) => ctx.payload.at.toFixed())
  .rpc(Greet, (ctx) => ({ text: ctx.payload.name }));
export const said = all.Said;
