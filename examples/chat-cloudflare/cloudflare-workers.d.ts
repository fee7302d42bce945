/** The used part of the platform's module. In your own project, `npx wrangler types` generates all of it. */
declare module "cloudflare:workers" {
  export abstract class DurableObject<Env = unknown> {
    protected readonly ctx: import("@halyard/wire/cloudflare").DurableState;
    protected readonly env: Env;
    constructor(ctx: import("@halyard/wire/cloudflare").DurableState, env: Env);
  }
}
