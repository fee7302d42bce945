/** Who made a change: a person, an API key, or server code. */
import { Bot, KeyRound } from "lucide-react";
import type { ReactNode } from "react";
import type { Entry } from "../api/types.ts";
import { PersonName, useName } from "../people/person-name.tsx";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";

export function ActorName({ entry: { actor } }: { entry: Entry }): ReactNode {
  if (actor.type === "system") return texts.history.system;
  if (actor.type === "key") return texts.history.key(actor.id);
  return <PersonName id={actor.id} />;
}

export function ActorMark({ entry: { actor } }: { entry: Entry }): ReactNode {
  if (actor.type === "user") return <UserMark id={actor.id} />;
  return (
    <span className="avatar avatar-plain" aria-hidden="true">
      {actor.type === "key" ? <KeyRound size={15} /> : <Bot size={15} />}
    </span>
  );
}

function UserMark({ id }: { id: string }): ReactNode {
  return <Avatar name={useName(id)} />;
}
