/** The chat: one room for each team, open to its members only. */
import type { Router } from "@halyard/wire";
import {
  betterAuthSession,
  type SessionAuthenticator,
  type SessionData,
  type SessionFields,
} from "@halyard/wire/better-auth";
import { createRouter } from "@halyard/wire/zod";
import type { Auth } from "./auth.ts";
import { Join, Said, Say, TeamChanged } from "./messages.ts";

interface ChatData extends SessionData {
  name: string;
}

export interface Chat {
  readonly router: Router<ChatData>;
  /** For the option `authenticate` of `serve`. */
  readonly authenticate: SessionAuthenticator<SessionFields & { name: string }>;
}

export function createChat(auth: Auth): Chat {
  const topicOf = ({ organizationId }: SessionData): string => `team:${organizationId ?? "none"}`;
  const router = createRouter<ChatData>({
    heartbeat: {},
    // Runs when a user joins, and again when the session changes: a removed member leaves the room at once.
    authorizeTopic: ({ data }, topic) => data.organizationId !== undefined && topic === topicOf(data),
  })
    .rpc(Join, async (ctx) => {
      await ctx.subscribe(topicOf(ctx.data));
      return { team: ctx.data.organizationId ?? "" };
    })
    .rpc(Say, async (ctx) => {
      const topic = topicOf(ctx.data);
      if (!ctx.topics.has(topic)) return ctx.error("FAILED_PRECONDITION", "Join your team's room first.");
      await ctx.publish(topic, Said, { from: ctx.data.name, text: ctx.payload.text });
      ctx.reply(Say.response, {});
    });
  const authenticate = betterAuthSession(auth, {
    data: ({ user }) => ({ name: String(user["name"]) }),
    onSessionChange(ctx, { changed }) {
      if (changed.includes("organizationId")) ctx.send(TeamChanged, { team: ctx.data.organizationId });
    },
  });
  return { router, authenticate };
}
