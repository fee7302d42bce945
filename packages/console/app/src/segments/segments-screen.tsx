/** Segments: named conditions that many rules share. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Plus, Shapes, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ADMIN, segmentsQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Segment } from "../api/types.ts";
import { sentenceOf } from "../rules/sentence.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { DeleteDialog } from "../ui/delete-dialog.tsx";
import { List, Page, Row } from "../ui/layout.tsx";
import { Menu } from "../ui/menu.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { SegmentEditor } from "./segment-editor.tsx";

export function SegmentsScreen(): ReactNode {
  const { data: segments, error, isPending, refetch } = useQuery(segmentsQuery());
  const may = useMay();
  const client = useQueryClient();
  const [edited, setEdited] = useState<Segment | "new">();
  const [deleted, setDeleted] = useState<Segment>();
  const remove = (): Promise<unknown> =>
    request("DELETE", `${ADMIN}/segments/${deleted?.id ?? ""}`, { version: deleted?.version }).finally(
      () => void client.invalidateQueries({ queryKey: ["segments"] }),
    );
  const canUpdate = may("update");
  const nameOf = (key: string): string | undefined => segments?.find((segment) => segment.key === key)?.name;
  const isEmpty = segments?.length === 0;
  const addButton = canUpdate && (
    <Button tone="primary" onClick={() => setEdited("new")}>
      <Plus aria-hidden size={16} /> {texts.segments.create}
    </Button>
  );
  return (
    <Page title={texts.segments.title} what={texts.segments.what} actions={!isEmpty && addButton}>
      {isPending ? (
        <Loading />
      ) : segments === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : isEmpty ? (
        <Empty title={texts.segments.none} icon={<Shapes aria-hidden size={20} />}>
          <p className="soft">{texts.segments.noneHint}</p>
          {addButton}
        </Empty>
      ) : (
        <List columns="segments">
          {segments.map((segment) => (
            <li key={segment.id}>
              <div>
                <Row>
                  <span className="name">{segment.name ?? segment.key}</span>
                  <span className="muted caption cut">{segment.key}</span>
                </Row>
                <p className="soft wrap-anywhere">{sentenceOf(segment.conditions, nameOf)}</p>
              </div>
              <span className="muted caption">
                <Time at={segment.updatedAt} />
              </span>
              {canUpdate && (
                <Menu
                  label={texts.segments.actionsOf(segment.name ?? segment.key)}
                  items={[
                    {
                      label: texts.segments.editIt,
                      icon: <Pencil aria-hidden size={15} />,
                      onSelect: () => setEdited(segment),
                    },
                    {
                      label: texts.segments.deleteIt,
                      icon: <Trash2 aria-hidden size={15} />,
                      isDangerous: true,
                      onSelect: () => setDeleted(segment),
                    },
                  ]}
                />
              )}
            </li>
          ))}
        </List>
      )}
      <DeleteDialog
        open={deleted !== undefined}
        onClose={() => setDeleted(undefined)}
        name={deleted?.name ?? deleted?.key ?? ""}
        what={texts.segments.deleteWhat}
        confirm={texts.segments.delete}
        onDelete={remove}
      />
      {edited !== undefined && (
        <SegmentEditor
          segment={edited === "new" ? undefined : edited}
          segments={segments ?? []}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Page>
  );
}
