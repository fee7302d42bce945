/** How many of the application's users match the conditions now. */
import { useQuery } from "@tanstack/react-query";
import { Users } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { matchesQuery } from "../api/queries.ts";
import type { RuleConditions } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { messageOf } from "../ui/states.tsx";

/** The pause after the last change before the server counts. */
const PAUSE_MS = 400;

export function Matches({ conditions }: { conditions: RuleConditions }): ReactNode {
  const may = useMay();
  const [counted, setCounted] = useState(conditions);
  useEffect(() => {
    const timer = setTimeout(() => setCounted(conditions), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [conditions]);
  const { data, error } = useQuery({ ...matchesQuery(counted), enabled: may("evaluate-as") });
  if (!may("evaluate-as")) return null;
  if (error !== null) return <p className="muted">{messageOf(error)}</p>;
  if (data === undefined) return <p className="muted">{texts.matches.counting}</p>;
  const { matching, unknown, users, examples } = data;
  return (
    <p className="matches" role="status">
      <Users aria-hidden size={16} />
      <span>
        <strong>{texts.matches.count(matching, users.evaluated)}</strong>
        {unknown > 0 && <span className="muted"> {texts.matches.unknown(unknown)}</span>}
        {examples.length > 0 && (
          <span className="muted">
            {" "}
            {texts.matches.such(examples.map(({ name, email }) => name || email))}
          </span>
        )}
      </span>
    </p>
  );
}
