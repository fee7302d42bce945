/** The rooms: joined while the page is open, with their messages. */
import { type Line, Room as RoomChannel, Said, Say } from "@halyard/example-chat-node/messages";
import { WsError } from "@halyard/wire";
import { type ChannelRoom, joinChannel, type WsClient } from "@halyard/wire/client";
import { useClient, useRequest } from "@halyard/wire/react";
import { useCallback, useEffect, useState } from "react";
import { delivered, discarded, drafted, EMPTY, failed, type Timeline } from "./timeline.ts";

export const ROOMS = ["general", "harbour", "library"] as const;
export type Room = (typeof ROOMS)[number];

/** How long a message may wait for its response, including the time without a connection. */
const SAY_FOR_MS = 5 * 60_000;
const RECENT_LINES = 20;

export interface Rooms {
  readonly timelineOf: (room: Room) => Timeline;
  readonly say: (room: Room, text: string) => void;
  /** Sends a failed line again. */
  readonly sayAgain: (room: Room, line: Line) => void;
  readonly discard: (room: Room, line: Line) => void;
}

/** `onLine` is called with every message; it must not change between renders. */
export function useRooms(me: string, onLine: (room: Room, from: string) => void): Rooms {
  const client = useClient();
  const { request } = useRequest(Say);
  const [timelines, setTimelines] = useState<Readonly<Record<string, Timeline>>>({});
  const [rooms] = useState(() => new Map<Room, ChannelRoom<typeof RoomChannel>>());

  const change = useCallback((room: string, step: (timeline: Timeline) => Timeline): void => {
    setTimelines((before) => ({ ...before, [room]: step(before[room] ?? EMPTY) }));
  }, []);

  useEffect(() => {
    for (const name of ROOMS) {
      // It joins again by itself after a lost connection, and gets what it missed.
      const room = joinChannel(client, RoomChannel, { room: name }, { last: RECENT_LINES });
      room.on(Said, (line) => {
        change(name, (timeline) => delivered(timeline, line));
        onLine(name, line.from);
      });
      rooms.set(name, room);
    }
    return () => {
      for (const room of rooms.values()) room.leave();
    };
  }, [client, change, onLine, rooms]);

  async function deliver(room: Room, line: Line): Promise<void> {
    change(room, (timeline) => drafted(timeline, line));
    for (;;) {
      try {
        await whenJoined(client, rooms.get(room));
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

/** Resolves once the user is in the room, also after a lost connection; rejects when the client is closed. */
function whenJoined(client: WsClient, room: ChannelRoom | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      if (room?.state === "joined") resolve();
      else if (client.state === "closed" || room === undefined) reject(new WsError("UNAVAILABLE"));
      else return;
      for (const stop of stops) stop();
    };
    const stops = [client.onState(check), room?.onState(check) ?? check];
    check();
  });
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
