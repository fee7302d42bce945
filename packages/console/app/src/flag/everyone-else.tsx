/** The last step: what people get whom no rule decides. A share of them, variants, or the same for all. */
import { Users } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Panel, PathNode, PathStep, Row, Stack } from "../ui/layout.tsx";
import { NumberInput } from "../ui/number-input.tsx";
import { Value } from "../ui/value.tsx";
import { EMPTY_VALUES } from "../ui/value-input.tsx";
import { settingCell, settingOf } from "./environments.ts";
import { givenBy, Inherited, ValueSetting } from "./inherited.tsx";
import { RolloutSlider } from "./rollout-slider.tsx";
import type { Seen } from "./seen.ts";
import { SeenLine } from "./seen-line.tsx";
import type { FlagDraft } from "./use-draft.ts";
import { added, VariantsEditor } from "./variants-editor.tsx";

interface EveryoneElseProps {
  readonly draft: FlagDraft;
  readonly people: number | undefined;
  readonly seen: Seen | undefined;
}

export function EveryoneElse({ draft, people, seen }: EveryoneElseProps): ReactNode {
  const { environment, next, isReadOnly, set } = draft;
  const { stored } = draft.draft;
  const { flag } = next;
  const variants = flag.variants ?? [];
  const rollout = settingOf(flag, environment, "rolloutPercentage").value;
  const before = settingOf(stored.flag, environment, "rolloutPercentage").value;
  const rest = givenBy(draft, "defaultValue");
  const cell = settingCell(environment, "rolloutPercentage");
  const defaultCell = settingCell(environment, "defaultValue");
  const isEdited = draft.draft.isEdited(cell, defaultCell, { field: "variants" });
  const choose = (percentage: number | undefined): void => set(cell, percentage && Math.round(percentage));
  const split = (): void => {
    set({ field: "variants" }, added([], flag.type === "boolean" ? true : EMPTY_VALUES[flag.type]));
  };
  const included = flag.type === "boolean" ? true : rest;
  return (
    <PathStep
      isOff={settingOf(flag, environment, "enabled").value !== true}
      state={seen?.stateOf("else") ?? (isEdited ? "edited" : undefined)}
      node={<PathNode>{seen?.markOf("else") ?? <Users size={14} />}</PathNode>}
    >
      <Panel tone={isEdited ? "edited" : undefined} className="card" label={texts.targeting.everyoneElse}>
        <Stack gap={12}>
          <Row>
            <h3 className="grow">{texts.targeting.everyoneElse}</h3>
            {isEdited && <span className="tag tag-accent">{texts.targeting.edited}</span>}
            <span className="caption muted number card-count">
              {people !== undefined && texts.targeting.people(people)}
            </span>
          </Row>
          {rollout !== undefined && (
            <Row gap={16}>
              <NumberInput
                label={texts.targeting.rolloutNumber}
                unit="%"
                value={rollout}
                disabled={isReadOnly}
                onChange={(percentage) => choose(percentage ?? 0)}
              />
              <RolloutSlider value={rollout} before={before} disabled={isReadOnly} onChange={choose} />
            </Row>
          )}
          <p className="soft sentence">
            {rollout === undefined ? (
              variants.length === 0 && (
                <>
                  <Value value={rest} /> {texts.targeting.toEveryone}
                </>
              )
            ) : variants.length === 0 && (rollout === 0 || rollout === 100) ? (
              <>
                <Value value={rollout === 0 ? rest : included} /> {texts.targeting.toAll}
              </>
            ) : (
              <>
                {variants.length === 0 ? <Value value={included} /> : texts.variants.title}{" "}
                {texts.targeting.toShare} <strong>{rollout}%</strong> {texts.targeting.ofPeople}{" "}
                <Value value={rest} /> {texts.targeting.toRest}
              </>
            )}
          </p>
          <Inherited draft={draft} field="rolloutPercentage" />
          {variants.length > 0 && <VariantsEditor draft={draft} />}
          {(rollout === undefined || flag.type !== "boolean") &&
            (variants.length === 0 || rollout !== undefined) && (
              <ValueSetting
                draft={draft}
                field="defaultValue"
                label={rollout === undefined ? texts.targeting.defaultValue : texts.targeting.outsideGets}
              />
            )}
          {!isReadOnly && (
            <Row wrap>
              {variants.length === 0 && (
                <Button small onClick={split}>
                  {texts.variants.first}
                </Button>
              )}
              <Button small tone="quiet" onClick={() => choose(rollout === undefined ? 0 : undefined)}>
                {rollout === undefined ? texts.targeting.addRollout : texts.targeting.removeRollout}
              </Button>
            </Row>
          )}
          <SeenLine step={seen?.stepOf("else")} />
        </Stack>
      </Panel>
    </PathStep>
  );
}
