/** Who gets which value, in the order in which the server decides: switch, rules, everyone else. Beside it: whom a draft moves. */
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
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { segmentsQuery } from "../api/queries.ts";
import type { Person, Rule } from "../api/types.ts";
import { findUnreached } from "../rules/reachability.ts";
import { RuleStep } from "../rules/rule-step.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Path, PathNode, PathStep, Split, Stack } from "../ui/layout.tsx";
import { EMPTY_VALUES } from "../ui/value-input.tsx";
import { countsIn, settingOf } from "./environments.ts";
import { EveryoneElse } from "./everyone-else.tsx";
import { ImpactAside } from "./impact-aside.tsx";
import { SeeAs } from "./see-as.tsx";
import { useSeen } from "./seen.ts";
import { SwitchStep } from "./switch-step.tsx";
import type { Checks } from "./use-checks.ts";
import { type DraftCount, impactIn } from "./use-count.ts";
import type { FlagDraft } from "./use-draft.ts";

interface TargetingTabProps {
  readonly draft: FlagDraft;
  readonly counted: DraftCount;
  readonly checks: Checks;
  readonly onSwitch: () => void;
}

export function TargetingTab({ draft, counted, checks, onSwitch }: TargetingTabProps): ReactNode {
  const { data: segments = [] } = useQuery(segmentsQuery());
  const [open, setOpen] = useState<string>();
  const [announcement, announce] = useState("");
  const [person, setPerson] = useState<Person>();
  const box = useRef<HTMLDivElement>(null);
  const { next, environment, isReadOnly } = draft;
  const { kept, problems } = draft.draft;
  const { flag, rules } = next;
  const isOn = settingOf(flag, environment, "enabled").value === true;
  const seen = useSeen(flag.key, person, environment);
  const { plan } = counted.count;
  const impact = plan && impactIn(plan, flag.id, environment);
  const peopleOf = (index: number): number | undefined => impact?.rules[index]?.after;
  const unreached = findUnreached(kept.rules.filter((rule) => countsIn(rule, environment)));
  const numberOf = (id: string): number => rules.findIndex((rule) => rule.id === id) + 1;
  const wrong = problems.find(({ rule }) => rule !== undefined)?.rule;
  const { asked } = checks;
  const answered = useRef(0);
  useEffect(() => {
    if (asked === 0 || asked === answered.current) return;
    answered.current = asked;
    if (wrong !== undefined) setOpen(wrong);
    focusFirst(box, "[aria-invalid=true]");
  }, [asked, wrong]);
  const move = (rule: Rule, to: number): void => {
    if (to < 0 || to >= rules.length) return;
    draft.change((now) => now.moveRule(rule.id, to));
    announce(texts.rules.moved(rule.name ?? texts.rules.rule, to + 1, rules.length));
  };
  const drop = ({ active, over }: DragEndEvent): void => {
    const rule = rules.find(({ id }) => id === active.id);
    if (over !== null && active.id !== over.id && rule) move(rule, numberOf(String(over.id)) - 1);
  };
  const add = (): void => {
    const value = flag.type === "boolean" ? true : EMPTY_VALUES[flag.type];
    const isShared = environment === undefined || draft.environments.length < 2;
    const added = draft.draft.addRule({ value, ...(!isShared && { environments: [environment] }) });
    const id = added.kept.rules.at(-1)?.id ?? "";
    draft.change(() => added);
    checks.enter(id);
    setOpen(id);
    focusFirst(box, ".rule-editor input");
  };
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  return (
    <Split
      label={texts.draft.people}
      aside={
        <Stack gap={24}>
          <ImpactAside draft={draft} counted={counted} />
          <SeeAs draft={draft} seen={seen} plan={plan} onChange={setPerson} />
        </Stack>
      }
    >
      <div ref={box}>
        <DndContext
          sensors={sensors}
          collisionDetection={closestCenter}
          onDragEnd={drop}
          accessibility={{ screenReaderInstructions: { draggable: texts.rules.dragHelp } }}
        >
          <SortableContext items={rules.map(({ id }) => id)} strategy={verticalListSortingStrategy}>
            <Path label={texts.targeting.path}>
              <SwitchStep draft={draft} seen={seen} onPress={onSwitch} />
              {rules.map((rule, place) => {
                const taker = unreached.get(rule.id);
                return (
                  <RuleStep
                    key={rule.id}
                    draft={draft}
                    rule={rule}
                    place={place}
                    segments={segments}
                    people={peopleOf(kept.rules.indexOf(rule))}
                    isOpen={open === rule.id}
                    isChecked={checks.isChecked(rule.id)}
                    deadBecause={taker === undefined ? undefined : texts.rules.dead(numberOf(taker))}
                    seen={seen}
                    onOpen={(isOpen) => setOpen(isOpen ? rule.id : undefined)}
                    onLeave={() => checks.leave(rule.id)}
                    onMove={(to) => move(rule, to)}
                  />
                );
              })}
              {!isReadOnly && (
                <PathStep
                  isOff={!isOn}
                  node={
                    <PathNode>
                      <Plus size={13} />
                    </PathNode>
                  }
                >
                  <Button tone="quiet" small onClick={add}>
                    {texts.rules.add}
                  </Button>
                </PathStep>
              )}
              <EveryoneElse draft={draft} people={peopleOf(kept.rules.length)} seen={seen} />
            </Path>
          </SortableContext>
        </DndContext>
        <p className="visually-hidden" role="status">
          {announcement}
        </p>
      </div>
    </Split>
  );
}

/** Once it is rendered. */
function focusFirst({ current }: RefObject<HTMLElement | null>, selector: string): void {
  setTimeout(() => current?.querySelector<HTMLElement>(selector)?.focus());
}
