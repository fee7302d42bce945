/** Segments: named conditions that many rules share. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Plus, Shapes, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ADMIN, segmentsQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Segment } from "../api/types.ts";
import { sentenceOf } from "../rules/sentence.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Empty, Failure, Loading, messageOf } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { showToast } from "../ui/toasts.tsx";
import { SegmentEditor } from "./segment-editor.tsx";

export function SegmentsScreen(): ReactNode {
  const { data: segments, error, isPending, refetch } = useQuery(segmentsQuery());
  const may = useMay();
  const client = useQueryClient();
  const [edited, setEdited] = useState<Segment | "new">();
  const remove = useMutation({
    mutationFn: ({ id, version }: Segment) => request("DELETE", `${ADMIN}/segments/${id}`, { version }),
    onSuccess: (_, { name, key }) => showToast({ tone: "done", text: texts.segments.deleted(name ?? key) }),
    onError: (failure) => showToast({ tone: "problem", text: messageOf(failure) }),
    onSettled: () => client.invalidateQueries({ queryKey: ["segments"] }),
  });
  const canUpdate = may("update");
  const nameOf = (key: string): string | undefined => segments?.find((segment) => segment.key === key)?.name;
  const addButton = canUpdate && (
    <button type="button" className="button button-primary" onClick={() => setEdited("new")}>
      <Plus aria-hidden size={16} /> {texts.segments.create}
    </button>
  );
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.segments.title}</h1>
          <p className="muted">{texts.segments.what}</p>
        </div>
        {addButton}
      </header>
      {isPending ? (
        <Loading />
      ) : segments === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : segments.length === 0 ? (
        <Empty title={texts.segments.none} icon={<Shapes aria-hidden size={28} />}>
          <p className="muted">{texts.segments.noneHint}</p>
        </Empty>
      ) : (
        <ul className="list">
          {segments.map((segment) => (
            <li key={segment.id} className="list-row">
              <span className="list-main">
                <strong>{segment.name ?? segment.key}</strong>
                <code className="muted">{segment.key}</code>
                <span>{sentenceOf(segment.conditions, nameOf)}</span>
              </span>
              <span className="muted">
                <Time at={segment.updatedAt} />
              </span>
              {canUpdate && (
                <span className="row-actions">
                  <button
                    type="button"
                    className="icon-button"
                    aria-label={texts.segments.edit(segment.name ?? segment.key)}
                    onClick={() => setEdited(segment)}
                  >
                    <Pencil aria-hidden size={16} />
                  </button>
                  <button
                    type="button"
                    className="icon-button"
                    aria-label={texts.segments.delete(segment.name ?? segment.key)}
                    onClick={() => remove.mutate(segment)}
                  >
                    <Trash2 aria-hidden size={16} />
                  </button>
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {edited !== undefined && (
        <SegmentEditor
          segment={edited === "new" ? undefined : edited}
          segments={segments ?? []}
          onClose={() => setEdited(undefined)}
        />
      )}
    </>
  );
}
