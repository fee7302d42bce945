/** What is used here of the platform's own module. In a project of yours, `npx wrangler types` writes all of it. */
declare module "cloudflare:workers" {
  export abstract class DurableObject<Env = unknown> {
    protected readonly ctx: import("@halyard/wire/cloudflare").DurableState;
    protected readonly env: Env;
    constructor(ctx: import("@halyard/wire/cloudflare").DurableState, env: Env);
  }
}
