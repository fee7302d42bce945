/** Who made a change: a person, an API key, or server code. */
import { Bot, KeyRound } from "lucide-react";
import type { ReactNode } from "react";
import type { Entry } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";

/** The id stands for a user who was deleted. */
export function actorName({ actor, names }: Entry): string {
  if (actor.type === "system") return texts.history.system;
  if (actor.type === "key") return texts.history.key(actor.id);
  return names[actor.id] ?? actor.id;
}

export function ActorMark({ entry: { actor, names } }: { entry: Entry }): ReactNode {
  if (actor.type === "user") return <Avatar name={names[actor.id] ?? actor.id} />;
  return (
    <span className="avatar avatar-plain" aria-hidden="true">
      {actor.type === "key" ? <KeyRound size={12} /> : <Bot size={12} />}
    </span>
  );
}
