/** Creates elements. Texts from outside become text nodes or attribute values, never markup or style. */

type Child = Node | string | false | undefined;
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

const SVG = "http://www.w3.org/2000/svg";

/** Attributes that are `undefined` or `false` are left out; `true` has an empty value. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(made, name, value);
  made.append(...children.filter((child) => child !== undefined && child !== false));
  return made;
}

export function setAttribute(on: Element, name: string, value: string | boolean | undefined): void {
  if (value === undefined || value === false) on.removeAttribute(name);
  else on.setAttribute(name, value === true ? "" : value);
}

/** Changes the text only if it differs, so that screen readers do not announce it again. */
export function setText(on: Element, text: string): void {
  if (on.textContent !== text) on.textContent = text;
}

export function button(
  attributes: Attributes,
  press: () => void,
  ...children: readonly Child[]
): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, ...children);
  made.addEventListener("click", press);
  return made;
}

const ICONS = {
  flag: "M4 14V2.5M4 3h8.5l-2 3 2 3H4",
  close: "M3.5 3.5l9 9m0-9l-9 9",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3",
  chevron: "M6 3.5L10.5 8 6 12.5",
} as const;

/** An icon of 16 pixels in the colour of the text. Screen readers skip it. */
export function icon(name: keyof typeof ICONS): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  for (const [attribute, value] of [
    ["viewBox", "0 0 16 16"],
    ["aria-hidden", "true"],
    ["class", `icon icon-${name}`],
  ] as const)
    svg.setAttribute(attribute, value);
  svg.append(path);
  return svg;
}

/** Makes the list show exactly these items. Items that stay are not moved, so that they keep the focus. */
export function arrange(list: Element, items: readonly Element[]): void {
  const wanted = new Set<Element>(items);
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
  for (const [at, item] of items.entries()) {
    const there = list.children[at];
    if (there !== item) list.insertBefore(item, there ?? null);
  }
}
