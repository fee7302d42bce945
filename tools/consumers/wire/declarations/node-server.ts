import { createNodeHandler, serve } from "@halyard/wire/node";
import { createRouter } from "@halyard/wire/zod";

export const start = () => serve(createRouter(), { port: 0 });
export const handler = createNodeHandler(createRouter(), { path: "/ws" });
export const drained = () => handler.drain();
export const health = () => handler.health();
export const counted = async () => (await start()).counters;
