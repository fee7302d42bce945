/** The shop's socket: stock messages of its own, and live flags on the same connections. */
import { type LiveFlags, liveFlags } from "@halyard/flags/live";
import { type ConnectionData, createRouter, type Router } from "@halyard/wire";
import { betterAuthSession, type SessionAuthenticator, type SessionFields } from "@halyard/wire/better-auth";
import type { Auth } from "./auth.ts";
import { GOODS } from "./src/goods.ts";
import { Buy, Moved, Stock, type StockLevels } from "./src/messages.ts";

/** Visitors without a session connect too, and have no fields of one. */
interface VisitorData extends ConnectionData, Partial<SessionFields> {}

export interface ShopSocket {
  readonly router: Router<VisitorData>;
  /** For the option `authenticate` of the server. */
  readonly authenticate: SessionAuthenticator<Partial<SessionFields>>;
  readonly flags: LiveFlags;
  /** How many of each good are left now. */
  levels(): StockLevels;
}

const TOPIC = "stock";

export function createShopSocket(auth: Auth): ShopSocket {
  const left = new Map(GOODS.map(({ name, stock }) => [name, stock]));
  const levels = () => Object.fromEntries(left);
  const router = createRouter<VisitorData>({ heartbeat: {} })
    .onOpen(async (ctx) => {
      await ctx.subscribe(TOPIC);
      ctx.send(Stock, { left: levels() });
    })
    .rpc(Buy, async (ctx) => {
      const { name } = ctx.payload;
      const count = left.get(name) ?? 0;
      if (count === 0) return ctx.error("FAILED_PRECONDITION", `"${name}" is sold out.`);
      left.set(name, count - 1);
      await ctx.publish(TOPIC, Stock, { left: levels() });
      return { left: count - 1 };
    });
  const authenticate = betterAuthSession(auth, {
    anonymous: true,
    // All windows of a session change the organization together.
    onSessionChange(ctx, { changed }) {
      if (changed.includes("organizationId")) ctx.send(Moved, { organizationId: ctx.data.organizationId });
    },
  });
  return { router, authenticate, flags: liveFlags(router, auth), levels };
}
