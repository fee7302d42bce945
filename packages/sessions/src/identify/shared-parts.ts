/** What all copies of this package share for one auth instance. A bundler may load the package more than once. */

const PARTS: unique symbol = Symbol.for("@halyard/sessions");
/** Raise it when the members of a part change that another copy uses. */
const VERSION = 1;

/** The parts of an auth instance, which the first copy that needs one creates. Other copies only call their methods. */
interface SharedParts {
  readonly version: number;
  readonly parts: Map<PartName, object>;
}

type PartName = "feed" | "watched" | "sessions" | "identities" | "watch";

/** An adapter is the same object for every request to an auth instance. */
type Host = object & { readonly [PARTS]?: SharedParts };

/** The part of the auth instance with this adapter. `create` makes it, unless it exists. */
export function sharedPart<Part extends object>(adapter: Host, name: PartName, create: () => Part): Part {
  const { parts } = partsOf(adapter);
  const part = parts.get(name) ?? create();
  parts.set(name, part);
  // Each name has one type.
  return part as Part;
}

function partsOf(adapter: Host): SharedParts {
  const existing = adapter[PARTS];
  if (existing?.version === VERSION) return existing;
  if (existing !== undefined) {
    throw new TypeError(
      "Two versions of @halyard/sessions use the same auth instance. Install one version of it: `npm ls @halyard/sessions` shows which packages bring them.",
    );
  }
  const made: SharedParts = { version: VERSION, parts: new Map() };
  // Not enumerable: a copy of the adapter is another adapter.
  Object.defineProperty(adapter, PARTS, { value: made });
  return made;
}
