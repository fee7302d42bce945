import { asyncApi } from "@halyard/devtools/asyncapi";
import { createInspector } from "@halyard/devtools/inspector";
import { createRouter } from "@halyard/wire";

export const router = createRouter();
export const declarations = router.declarations();
export const document = asyncApi(router, { title: "Chat", version: "1.0.0" });
export const channels = async () => (await document).channels;
export const inspector = createInspector(router, { authorize: () => true });
export const address = inspector.listen();
