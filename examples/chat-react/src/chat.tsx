/** The chat: a list of rooms, one open room, and the connection state. */
import { useClient } from "@halyard/wire/react";
import { useState } from "react";
import { Composer } from "./composer.tsx";
import { Flag } from "./flag.tsx";
import { useLink } from "./link.ts";
import { LinkBanner, LinkPill } from "./link-status.tsx";
import { MessageLog } from "./message-log.tsx";
import { ROOMS, type Room, useRooms } from "./rooms.ts";
import type { Session } from "./session.ts";
import { useTyping } from "./typing.ts";

export function Chat({ session, onLeave }: { readonly session: Session; readonly onLeave: () => void }) {
  const client = useClient();
  const link = useLink(session);
  const { typistsIn, tell, stopped } = useTyping();
  const { timelineOf, say, sayAgain, discard } = useRooms(session.name, stopped);
  const [room, setRoom] = useState<Room>("general");
  /** The number of read lines per room when it was last left. */
  const [seen, setSeen] = useState<Partial<Record<Room, number>>>({});

  const unreadIn = (other: Room): number =>
    other === room ? 0 : Math.max(0, timelineOf(other).lines.length - (seen[other] ?? 0));
  const waiting = ROOMS.flatMap((each) => timelineOf(each).drafts).filter(({ failure }) => !failure).length;

  function open(next: Room): void {
    setSeen((before) => ({ ...before, [room]: timelineOf(room).lines.length }));
    setRoom(next);
  }

  return (
    <div className="chat">
      <header className="side">
        <div className="brand">
          <Flag />
          <span>Halyard chat</span>
        </div>
        <nav className="rooms" aria-label="Rooms">
          <ul>
            {ROOMS.map((each) => (
              <li key={each}>
                <button type="button" aria-current={each === room} onClick={() => open(each)}>
                  {each}
                  {unreadIn(each) > 0 && (
                    <span className="unread">
                      {unreadIn(each)}
                      <span className="quiet"> unread</span>
                    </span>
                  )}
                </button>
              </li>
            ))}
          </ul>
        </nav>
        <div className="me">
          <span>
            <span className="label">Signed in as </span>
            <strong>{session.name}</strong>
          </span>
          <button type="button" onClick={onLeave}>
            Leave
          </button>
        </div>
      </header>
      <main>
        <div className="head">
          <h1>{room}</h1>
          <LinkPill link={link} />
        </div>
        <LinkBanner
          link={link}
          waiting={waiting}
          onConnect={() => void client.connect().catch(() => undefined)}
          onLeave={onLeave}
        />
        <MessageLog
          key={room}
          room={room}
          me={session.name}
          timeline={timelineOf(room)}
          link={link}
          onAgain={(line) => sayAgain(room, line)}
          onDiscard={(line) => discard(room, line)}
        />
        <p className="typing" aria-live="polite">
          {link.status === "live" && typingText(typistsIn(room))}
        </p>
        <Composer
          key={`to ${room}`}
          room={room}
          onType={() => tell(room)}
          onSay={(text) => say(room, text)}
        />
      </main>
    </div>
  );
}

function typingText(names: readonly string[]): string {
  if (names.length === 0) return "";
  if (names.length > 2) return "Several people are typing …";
  return `${names.join(" and ")} ${names.length === 1 ? "is" : "are"} typing …`;
}
