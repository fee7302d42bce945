/** Halyard on Node. */
import { serve } from "@halyard/wire/node";
import { collectOnSignal } from "./shared/collect.ts";
import { chooseRouter } from "./shared/router.ts";

collectOnSignal();
const router = await chooseRouter(process.argv[2], process.argv[3]);
const { port } = await serve(router, { port: 0, host: "127.0.0.1" });
console.log(JSON.stringify({ port }));
