/** What asks for a decision: declared flags that do not exist, and flags without evaluations. */
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleDashed, Clock } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ADMIN, flagsQuery, missingFlagsQuery, scoped } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Flag, MissingFlag } from "../api/types.ts";
import { useMay, useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { List, Panel, Row } from "../ui/layout.tsx";
import { messageOf } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { Value } from "../ui/value.tsx";

const SHOWN = 4;
const UNUSED_MS = 14 * 24 * 60 * 60 * 1000;

/** It was not evaluated in the last day, and not changed in two weeks. */
export function isUnused({ stats, updatedAt }: Flag): boolean {
  return stats?.evaluations === 0 && Date.now() - Date.parse(updatedAt) > UNUSED_MS;
}

/** `flags`: those that are loaded. If there are more, the oldest are read, too. */
export function Attention({ flags, hasMore }: { flags: readonly Flag[]; hasMore: boolean }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const oldest = useInfiniteQuery({ ...flagsQuery({ sort: "updatedAt" }), enabled: hasMore });
  const { data: missing } = useQuery(missingFlagsQuery());
  const unused = (hasMore ? (oldest.data?.pages[0]?.flags ?? []) : flags).filter(isUnused);
  const rows = [
    ...(missing?.flags ?? []).map((flag) => <Missing key={flag.key} flag={flag} />),
    ...(unused.length > 0 ? [<Unused key="unused" flags={unused} />] : []),
  ];
  if (rows.length === 0) return null;
  return (
    <Panel label={texts.flags.attention}>
      <List columns="attention">{isWhole ? rows : rows.slice(-SHOWN)}</List>
      {rows.length > SHOWN && (
        <Button tone="quiet" className="attention-more" onClick={() => setWhole(!isWhole)}>
          {isWhole ? texts.flags.lessAttention : texts.flags.moreAttention(rows.length - SHOWN)}
        </Button>
      )}
    </Panel>
  );
}

function Unused({ flags }: { flags: readonly Flag[] }): ReactNode {
  return (
    <li>
      <Clock aria-hidden size={16} className="warn" />
      <p>
        <span className="soft">{texts.flags.unused(flags.length)}</span>{" "}
        {flags.slice(0, SHOWN).map(({ id, key, name }, place) => (
          <span key={id}>
            {place > 0 && ", "}
            <Link to="/flag/$key" params={{ key }} className="name">
              {name}
            </Link>
          </span>
        ))}{" "}
        {flags.length > SHOWN && <span className="soft">{texts.flags.moreUnused(flags.length - SHOWN)}</span>}
      </p>
    </li>
  );
}

function Missing({ flag: { key, type, value, values } }: { flag: MissingFlag }): ReactNode {
  const client = useQueryClient();
  const may = useMay();
  const { multiTenant } = useSession();
  const create = useMutation({
    mutationFn: () =>
      request("POST", `${ADMIN}/flags`, {
        body: {
          key,
          name: key,
          type,
          ...(type === "boolean"
            ? { offValue: false, rolloutPercentage: 0 }
            : value !== undefined && { defaultValue: value, offValue: value }),
          ...(multiTenant && { organizationId: scoped({}).organizationId ?? "" }),
        },
      }),
    onSuccess: async ({ name }) => {
      showToast({ tone: "done", text: texts.newFlag.done(name) });
      await Promise.all(
        ["flags", "missing-flags"].map((one) => client.invalidateQueries({ queryKey: [one] })),
      );
    },
    onError: (error) => showToast({ tone: "problem", text: messageOf(error) }),
  });
  const offered = values ?? (value === undefined ? [] : [value]);
  return (
    <li>
      <CircleDashed aria-hidden size={16} className="warn" />
      <Row wrap gap={4}>
        <strong>{key}</strong> <span className="soft">{texts.flags.missing}</span>
        {offered.slice(0, SHOWN).map((one) => (
          <Value key={JSON.stringify(one)} value={one} length={16} />
        ))}
      </Row>
      {may("create") && (
        <Button
          small
          busy={create.isPending}
          aria-label={texts.flags.createMissingOf(key)}
          onClick={() => create.mutate()}
        >
          {texts.flags.createMissing}
        </Button>
      )}
    </li>
  );
}
