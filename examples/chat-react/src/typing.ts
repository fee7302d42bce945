/** Typing users: reported to the others at intervals, and removed when they stop. */
import { Hints, IsTyping, Typing } from "@halyard/example-chat-node/messages";
import { joinChannel } from "@halyard/wire/client";
import { useClient } from "@halyard/wire/react";
import { useCallback, useEffect, useRef, useState } from "react";
import { ROOMS, type Room } from "./rooms.ts";

const TELL_EVERY_MS = 2_000;
const SHOW_FOR_MS = 3_500;

export interface TypingHint {
  readonly typistsIn: (room: Room) => readonly string[];
  /** This user pressed a key. */
  readonly tell: (room: Room) => void;
  /** The user has sent a message. */
  readonly stopped: (room: Room, from: string) => void;
}

export function useTyping(): TypingHint {
  const client = useClient();
  const [typists, setTypists] = useState<ReadonlySet<string>>(new Set());
  const [timers] = useState(() => new Map<string, ReturnType<typeof setTimeout>>());
  const toldAt = useRef(Number.NEGATIVE_INFINITY);

  const forget = useCallback(
    (key: string): void => {
      clearTimeout(timers.get(key));
      timers.delete(key);
      setTypists((before) => new Set([...before].filter((other) => other !== key)));
    },
    [timers],
  );

  useEffect(() => {
    const hints = ROOMS.map((name) => {
      const room = joinChannel(client, Hints, { room: name });
      room.on(IsTyping, ({ from }) => {
        const key = keyOf(name, from);
        clearTimeout(timers.get(key));
        timers.set(
          key,
          setTimeout(() => forget(key), SHOW_FOR_MS),
        );
        setTypists((before) => new Set([...before, key]));
      });
      return room;
    });
    return () => {
      for (const room of hints) room.leave();
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    };
  }, [client, forget, timers]);

  return {
    stopped: useCallback((room, from) => forget(keyOf(room, from)), [forget]),
    typistsIn: (room) =>
      [...typists].flatMap((key) => (key.startsWith(`${room}/`) ? [key.slice(room.length + 1)] : [])),
    tell(room) {
      // Only useful now, so it is not queued while there is no connection.
      if (!client.isConnected || performance.now() - toldAt.current < TELL_EVERY_MS) return;
      toldAt.current = performance.now();
      client.send(Typing, { room });
    },
  };
}

function keyOf(room: string, from: string): string {
  return `${room}/${from}`;
}
