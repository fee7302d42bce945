/** Halyard on Bun. */
import { serve } from "@halyard/wire/bun";
import { collectOnSignal } from "./shared/collect.ts";
import { chooseRouter } from "./shared/router.ts";

collectOnSignal();
const router = await chooseRouter(process.argv[2]);
const { port } = await serve(router, { port: 0, host: "127.0.0.1" });
console.log(JSON.stringify({ port }));
