/** The rooms: entered on every link, heard, and spoken in. */
import { Join, type Line, Said, Say } from "@halyard/example-chat-node/messages";
import { WsError } from "@halyard/wire";
import { useClient, useMessage, useRequest } from "@halyard/wire/react";
import { useCallback, useEffect, useState } from "react";
import { discarded, drafted, EMPTY, entered, failed, heard, type Timeline } from "./timeline.ts";

export const ROOMS = ["general", "harbour", "library"] as const;
export type Room = (typeof ROOMS)[number];

/** How long something said may wait for its answer, and so for a link. */
const SAY_FOR_MS = 5 * 60_000;
/** The way back in waits for as long as the page may. */
const ENTER_FOR_MS = 24 * 60 * 60_000;

export interface Rooms {
  readonly timelineOf: (room: Room) => Timeline;
  readonly say: (room: Room, text: string) => void;
  /** Says a line that failed once more. */
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

  useMessage(Said, ({ room, ...line }) => change(room, (timeline) => heard(timeline, line)));

  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    async function enter(room: Room): Promise<void> {
      if (signal.aborted) return;
      try {
        const { payload } = await client.request(Join, { room }, { timeoutMs: ENTER_FOR_MS, signal });
        change(room, (timeline) => entered(timeline, payload.recent));
      } catch (error) {
        // Too much at once: when the server says so. Anything else ends with the link, and the next one enters again.
        const { retryAfterMs } = WsError.wrap(error, "INTERNAL");
        if (retryAfterMs !== undefined) setTimeout(() => void enter(room), retryAfterMs);
      }
    }
    const enterAll = (): void => {
      for (const room of ROOMS) void enter(room);
    };

    // Subscriptions end with the link. What waits in the client's queue is sent the moment the next one opens, so the
    // way back in is queued as soon as there is none: before anything that is said meanwhile.
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
        return change(room, (timeline) => heard(timeline, line));
      } catch (error) {
        const { code, message, retryAfterMs } = WsError.wrap(error, "INTERNAL");
        // It was sent and the link was lost before the answer. The client does not send it again, for it cannot know
        // whether that is safe. Here it is: the server says a line with a known id only once.
        if (code === "UNAVAILABLE" && client.state === "reconnecting") continue;
        // Too much at once: when the server says so.
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

/** Works on a plain http page too, where `crypto.randomUUID` is missing. */
function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
