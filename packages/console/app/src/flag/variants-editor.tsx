/** Variants: values that users get by chance. Changing one weight changes the others, so that they always sum to 100. */
import { Plus, Scale, X } from "lucide-react";
import type { ReactNode } from "react";
import type { JsonValue, Variant } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { classes, Row, Stack } from "../ui/layout.tsx";
import { NumberInput } from "../ui/number-input.tsx";
import { useRowKeys } from "../ui/row-keys.ts";
import { Share } from "../ui/share.tsx";
import { EMPTY_VALUES, ValueInput } from "../ui/value-input.tsx";
import type { FlagDraft } from "./use-draft.ts";
import { balanced, without, withWeight } from "./variant-weights.ts";

const MOST_VARIANTS = 20;

export function VariantsEditor({ draft }: { readonly draft: FlagDraft }): ReactNode {
  const { isReadOnly } = draft;
  const { type, variants = [] } = draft.next.flag;
  const choose = (next: readonly Variant[]): void =>
    draft.set({ field: "variants" }, next.length === 0 ? undefined : next.map((one) => ({ ...one })));
  const rows = useRowKeys(variants.length);
  const wrong = draft.draft.problems.find(({ rule, what }) => rule === undefined && what === "variant");
  return (
    <fieldset disabled={isReadOnly}>
      <legend className="name">{texts.variants.title}</legend>
      <Stack>
        <Share large parts={variants.map(({ weight }) => weight)} />
        {variants.map((variant, place) => (
          <Row key={rows.of(place)}>
            <span className={classes("dot", `colour-${place % 6}`)} aria-hidden="true" />
            <input
              className="code grow"
              aria-label={texts.variants.key(place + 1)}
              aria-invalid={wrong?.at === String(place)}
              value={variant.key}
              onChange={({ target }) => choose(replaced(variants, place, { key: target.value }))}
            />
            <div className="grow">
              <ValueInput
                type={type}
                value={variant.value}
                label={texts.variants.value(variant.key)}
                disabled={isReadOnly}
                onChange={(value) => choose(replaced(variants, place, { value }))}
              />
            </div>
            <NumberInput
              label={texts.variants.weight(variant.key)}
              unit="%"
              value={variant.weight}
              disabled={isReadOnly}
              onChange={(weight = 0) => choose(withWeight(variants, place, weight))}
            />
            <IconButton
              label={texts.variants.remove(variant.key)}
              disabled={isReadOnly}
              onClick={() => {
                rows.drop(place);
                choose(without(variants, place));
              }}
            >
              <X aria-hidden size={15} />
            </IconButton>
          </Row>
        ))}
        {wrong !== undefined && (
          <p className="field-error" role="alert">
            {texts.draft.missing.variant}
          </p>
        )}
        <Row>
          <Button
            small
            tone="quiet"
            disabled={isReadOnly || variants.length >= MOST_VARIANTS}
            onClick={() => choose(added(variants, type === "boolean" ? true : EMPTY_VALUES[type]))}
          >
            <Plus aria-hidden size={14} /> {texts.variants.add}
          </Button>
          <Button small tone="quiet" disabled={isReadOnly} onClick={() => choose(balanced(variants))}>
            <Scale aria-hidden size={14} /> {texts.variants.balance}
          </Button>
          {draft.environments.length > 1 && (
            <span className="caption muted">{texts.targeting.allEnvironments}</span>
          )}
        </Row>
      </Stack>
    </fieldset>
  );
}

export function added(variants: readonly Variant[], value: JsonValue): Variant[] {
  if (variants.length === 0) {
    return balanced([
      { key: "control", weight: 50, value: typeof value === "boolean" ? false : value },
      { key: "treatment", weight: 50, value },
    ]);
  }
  const keys = new Set(variants.map(({ key }) => key));
  let number = variants.length + 1;
  while (keys.has(`variant-${number}`)) number += 1;
  return [...variants, { key: `variant-${number}`, weight: 0, value }];
}

function replaced(variants: readonly Variant[], place: number, change: Partial<Variant>): Variant[] {
  return variants.map((variant, index) => (index === place ? { ...variant, ...change } : variant));
}
