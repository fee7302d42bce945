/** Variants: values that users get by chance. Changing one weight changes the others, so that they always sum to 100. */
import { Plus, Scale, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import type { FeatureFlagPatch, Flag, JsonValue, Variant } from "../api/types.ts";
import { texts } from "../texts.ts";
import { EMPTY_VALUES, ValueInput } from "../ui/value-input.tsx";
import { balanced, without, withWeight } from "./variant-weights.ts";

interface VariantsEditorProps {
  readonly flag: Flag;
  readonly set: (fields: FeatureFlagPatch) => void;
  readonly disabled: boolean;
}

const MOST_VARIANTS = 20;

export function VariantsEditor({ flag, set, disabled }: VariantsEditorProps): ReactNode {
  const variants = flag.variants ?? [];
  const choose = (next: readonly Variant[]): void => set({ variants: next.length === 0 ? null : next });
  const add = (): void => choose(added(variants, flag.type === "boolean" ? true : EMPTY_VALUES[flag.type]));
  if (variants.length === 0) {
    return (
      <button type="button" className="button" disabled={disabled} onClick={add}>
        <Plus aria-hidden size={15} /> {texts.variants.first}
      </button>
    );
  }
  return (
    <fieldset className="variants">
      <legend>{texts.variants.title}</legend>
      <div className="variant-bar" aria-hidden="true">
        {variants.map(({ key, weight }, place) => (
          <span key={key} className={`variant-part variant-${place % 6}`} style={{ flexGrow: weight }} />
        ))}
      </div>
      <ul className="variant-list">
        {variants.map((variant, place) => (
          // The key is what is edited here, so the place names the row.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above
          <li key={place} className="variant">
            <span className={`variant-dot variant-${place % 6}`} aria-hidden="true" />
            <input
              className="variant-key"
              aria-label={texts.variants.key(place + 1)}
              value={variant.key}
              disabled={disabled}
              onChange={({ target }) => choose(replaced(variants, place, { key: target.value }))}
            />
            <ValueInput
              type={flag.type}
              value={variant.value}
              label={texts.variants.value(variant.key)}
              disabled={disabled}
              onChange={(value) => choose(replaced(variants, place, { value }))}
            />
            <span className="number-unit">
              <input
                type="number"
                min={0}
                max={100}
                aria-label={texts.variants.weight(variant.key)}
                value={variant.weight}
                disabled={disabled}
                onChange={({ target }) =>
                  Number.isFinite(target.valueAsNumber) &&
                  choose(withWeight(variants, place, target.valueAsNumber))
                }
              />
              %
            </span>
            <button
              type="button"
              className="icon-button"
              aria-label={texts.variants.remove(variant.key)}
              disabled={disabled}
              onClick={() => choose(without(variants, place))}
            >
              <Trash2 aria-hidden size={16} />
            </button>
          </li>
        ))}
      </ul>
      <div className="row">
        <button
          type="button"
          className="button"
          disabled={disabled || variants.length >= MOST_VARIANTS}
          onClick={add}
        >
          <Plus aria-hidden size={15} /> {texts.variants.add}
        </button>
        <button
          type="button"
          className="button"
          disabled={disabled}
          onClick={() => choose(balanced(variants))}
        >
          <Scale aria-hidden size={15} /> {texts.variants.balance}
        </button>
      </div>
    </fieldset>
  );
}

function added(variants: readonly Variant[], value: JsonValue): Variant[] {
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
