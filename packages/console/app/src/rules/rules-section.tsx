/** The rules of a flag in the order of evaluation: add, edit, switch, reorder by drag or by keyboard, delete. */
import {
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import { SortableContext, sortableKeyboardCoordinates, verticalListSortingStrategy } from "@dnd-kit/sortable";
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { rulesQuery, segmentsQuery } from "../api/queries.ts";
import type { Flag, Rule } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Failure, Loading } from "../ui/states.tsx";
import { findUnreached } from "./reachability.ts";
import { RuleCard } from "./rule-card.tsx";
import { RuleEditor } from "./rule-editor.tsx";
import { useRuleChanges } from "./use-rule-changes.ts";

export function RulesSection({ flag }: { flag: Flag }): ReactNode {
  const { data: rules, error, refetch } = useQuery(rulesQuery(flag.key));
  const { data: segments } = useQuery(segmentsQuery());
  const may = useMay();
  const [edited, setEdited] = useState<Rule | "new">();
  const changes = useRuleChanges(flag);
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  if (error !== null && rules === undefined) return <Failure error={error} retry={() => void refetch()} />;
  if (rules === undefined) return <Loading rows={2} />;
  const unreached = findUnreached(rules);
  const numberOf = (id: string): number => rules.findIndex((rule) => rule.id === id) + 1;
  const nameOf = (key: string): string | undefined => segments?.find((segment) => segment.key === key)?.name;
  const canUpdate = may("update");
  const drop = ({ active, over }: DragEndEvent): void => {
    if (over !== null && active.id !== over.id) {
      changes.move(rules, numberOf(String(active.id)) - 1, numberOf(String(over.id)) - 1);
    }
  };
  return (
    <div className="rules">
      {rules.length === 0 && <p className="hint">{texts.rules.none}</p>}
      <DndContext
        sensors={sensors}
        collisionDetection={closestCenter}
        onDragEnd={drop}
        accessibility={{ screenReaderInstructions: { draggable: texts.rules.dragHelp } }}
      >
        <SortableContext items={rules.map(({ id }) => id)} strategy={verticalListSortingStrategy}>
          <ol className="rule-list">
            {rules.map((rule, place) => {
              const taker = unreached.get(rule.id);
              return (
                <RuleCard
                  key={rule.id}
                  flag={flag}
                  rule={rule}
                  place={place}
                  count={rules.length}
                  segmentName={nameOf}
                  deadBecause={taker === undefined ? undefined : texts.rules.dead(numberOf(taker))}
                  disabled={!canUpdate}
                  onEdit={() => setEdited(rule)}
                  onMove={(to) => changes.move(rules, place, to)}
                  onSwitch={(enabled) => changes.update.mutate({ rule, fields: { enabled } })}
                  onDelete={() => changes.remove.mutate(rule)}
                />
              );
            })}
          </ol>
        </SortableContext>
      </DndContext>
      {canUpdate && (
        <button type="button" className="button" onClick={() => setEdited("new")}>
          <Plus aria-hidden size={15} /> {texts.rules.add}
        </button>
      )}
      {edited !== undefined && (
        <RuleEditor
          flag={flag}
          rule={edited === "new" ? undefined : edited}
          nextPriority={(rules.at(-1)?.priority ?? 0) + 1}
          segments={segments ?? []}
          onClose={() => setEdited(undefined)}
        />
      )}
    </div>
  );
}
