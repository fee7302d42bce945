/** The rooms: joined on every connection, with their messages. */
import { Join, type Line, Said, Say } from "@halyard/example-chat-node/messages";
import { WsError } from "@halyard/wire";
import { useClient, useMessage, useRequest } from "@halyard/wire/react";
import { useCallback, useEffect, useState } from "react";
import { delivered, discarded, drafted, EMPTY, entered, failed, type Timeline } from "./timeline.ts";

export const ROOMS = ["general", "harbour", "library"] as const;
export type Room = (typeof ROOMS)[number];

/** How long a message may wait for its response, including the time without a connection. */
const SAY_FOR_MS = 5 * 60_000;
/** Joining again has no time limit while the page is open. */
const ENTER_FOR_MS = 24 * 60 * 60_000;

export interface Rooms {
  readonly timelineOf: (room: Room) => Timeline;
  readonly say: (room: Room, text: string) => void;
  /** Sends a failed line again. */
  readonly sayAgain: (room: Room, line: Line) => void;
  readonly discard: (room: Room, line: Line) => void;
}

export function useRooms(me: string): Rooms {
  const client = useClient();
  const { request } = useRequest(Say);
  const [timelines, setTimelines] = useState<Readonly<Record<string, Timeline>>>({});

  const change = useCallback((room: string, step: (timeline: Timeline) => Timeline): void => {
    setTimelines((before) => ({ ...before, [room]: step(before[room] ?? EMPTY) }));
  }, []);

  useMessage(Said, ({ room, ...line }) => change(room, (timeline) => delivered(timeline, line)));

  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    async function enter(room: Room): Promise<void> {
      if (signal.aborted) return;
      try {
        const { payload } = await client.request(Join, { room }, { timeoutMs: ENTER_FOR_MS, signal });
        change(room, (timeline) => entered(timeline, payload.recent));
      } catch (error) {
        // Rate-limited: retry when the server allows it. Other failures end with the connection, and the next one joins again.
        const { retryAfterMs } = WsError.wrap(error, "INTERNAL");
        if (retryAfterMs !== undefined) setTimeout(() => void enter(room), retryAfterMs);
      }
    }
    const enterAll = (): void => {
      for (const room of ROOMS) void enter(room);
    };

    // Subscriptions end with the connection. The client sends its queue when the next connection opens, so the join is
    // queued as soon as the connection is lost: before any message that the user sends in between.
    let before = client.state;
    if (before !== "closed") enterAll();
    const stops = [
      client.onState((state) => {
        if (state === "connecting" || (state === "reconnecting" && before === "open")) enterAll();
        before = state;
      }),
      client.onGap(enterAll),
    ];
    return () => {
      leaving.abort();
      for (const stop of stops) stop();
    };
  }, [client, change]);

  async function deliver(room: Room, line: Line): Promise<void> {
    change(room, (timeline) => drafted(timeline, line));
    for (;;) {
      try {
        await request({ room, id: line.id, text: line.text }, { timeoutMs: SAY_FOR_MS });
        return change(room, (timeline) => delivered(timeline, line));
      } catch (error) {
        const { code, message, retryAfterMs } = WsError.wrap(error, "INTERNAL");
        // The connection was lost before the response. The client does not send a request again, because it cannot know
        // whether that is safe. Here it is safe: the server delivers a line with the same id only once.
        if (code === "UNAVAILABLE" && client.state === "reconnecting") continue;
        // Rate-limited: retry when the server allows it.
        if (retryAfterMs !== undefined) {
          await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
          continue;
        }
        return change(room, (timeline) => failed(timeline, line, REASONS[code] ?? message));
      }
    }
  }

  return {
    timelineOf: (room) => timelines[room] ?? EMPTY,
    say: (room, text) => void deliver(room, { id: newId(), from: me, text }),
    sayAgain: (room, line) => void deliver(room, line),
    discard: (room, line) => change(room, (timeline) => discarded(timeline, line)),
  };
}

const REASONS: Readonly<Record<string, string>> = {
  DEADLINE_EXCEEDED: "Nobody answered.",
  RESOURCE_EXHAUSTED: "Too much at once.",
  UNAVAILABLE: "The connection is closed.",
};

/** Also works on a plain http page, where `crypto.randomUUID` is missing. */
function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
