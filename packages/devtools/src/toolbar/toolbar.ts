/** The toolbar: a button in a corner of the page that opens the panel, both in a shadow root of their own. */
import type { FlagValues, JsonValue } from "@halyard/flags/client";
import { type ClientSeam, findMisfit, type SeamStore } from "@halyard/flags/unstable-devtools";
import { type ChangeLog, createChangeLog } from "./changes.ts";
import { button, element, icon, setAttribute, setText } from "./dom.ts";
import { createPanel, type Panel } from "./panel.ts";
import { readStored, writeStored } from "./stored.ts";
import { STYLES } from "./styles.ts";

/** A client with `featureFlagsClient()`, or the result of `testFlags()`. */
export type FlagsToolbarClient = {
  /** The helpers of the client. */
  readonly featureFlags: {
    /** The flag values. */
    values(): FlagValues;
  };
};

/** The options of `mountFlagsToolbar()`. */
export type FlagsToolbarOptions = {
  /** The corner of the button. Default `bottom-right`. */
  position?: "bottom-right" | "bottom-left" | undefined;
  /** The colours. Default `system`: as the operating system or the browser is set. */
  theme?: "system" | "light" | "dark" | undefined;
};

const WITHOUT_CLIENT = "mountFlagsToolbar() needs a client with the plugin featureFlagsClient(). Add it.";
/** Events that the application must not mistake for its own: its shortcuts do not apply to fields of the toolbar. */
const KEY_EVENTS = ["keydown", "keypress", "keyup"] as const;

/** The state of the connection is read at this interval while the panel is open. */
const STATUS_MS = 500;

/** Removes the toolbar of this page, if there is one. */
let unmountLast: (() => void) | undefined;

export function createToolbar(client: FlagsToolbarClient, options: FlagsToolbarOptions = {}): () => void {
  const seam = (client.featureFlags.values() as SeamStore).$flags;
  if (seam === undefined) throw new TypeError(WITHOUT_CLIENT);
  if (typeof document === "undefined") return () => undefined;
  unmountLast?.();
  const unmount = mount(seam, options);
  unmountLast = unmount;
  return () => {
    if (unmountLast === unmount) unmountLast = undefined;
    unmount();
  };
}

function mount(
  seam: ClientSeam,
  { position = "bottom-right", theme = "system" }: FlagsToolbarOptions,
): () => void {
  const { values } = seam;
  const stored = readStored();
  /** The overrides that were made here. The application may have made others. */
  const own = new Map<string, JsonValue>();
  restore(seam, stored.overrides, own);
  const log: ChangeLog = createChangeLog(seam);
  let isOpen = false;
  let isScheduled = false;
  let isMounted = true;
  let clock: ReturnType<typeof setInterval> | undefined;
  const changed = new Set<string>();

  const badge = element("span", { class: "badge", hidden: true });
  const toggle = button(
    { class: "toggle", "aria-expanded": "false", "aria-controls": "panel" },
    () => setOpen(!isOpen, true),
    icon("flag"),
    "Flags",
    badge,
  );
  const announcement = element("p", { class: "hidden", role: "status" });
  const panel: Panel = createPanel(seam, log, {
    override(key, value) {
      own.set(key, value);
      values.override(key, value);
    },
    clearOverride: values.clearOverride,
    clearOverrides: values.clearOverrides,
    close: () => setOpen(false, true),
  });
  panel.element.id = "panel";
  panel.element.hidden = true;

  const host = document.createElement("halyard-flags-toolbar");
  host.setAttribute("data-position", position);
  host.setAttribute("data-theme", theme);
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];
  root.append(
    element("aside", { "aria-label": "Feature flags toolbar" }, panel.element, toggle, announcement),
  );
  for (const type of KEY_EVENTS) host.addEventListener(type, (event) => event.stopPropagation());

  function save(): void {
    writeStored({ isOpen, overrides: own });
  }

  function setOpen(next: boolean, movesFocus: boolean): void {
    isOpen = next;
    panel.element.hidden = !isOpen;
    toggle.setAttribute("aria-expanded", String(isOpen));
    setAttribute(host, "data-open", isOpen);
    // The application may not have read a flag yet.
    if (isOpen) void values.ready();
    clearInterval(clock);
    if (isOpen) clock = setInterval(panel.renderStatus, STATUS_MS);
    render();
    if (movesFocus) (isOpen ? panel.search : toggle).focus();
    save();
  }

  function render(): void {
    const overridden = Object.keys(values.all()).filter(values.isOverridden).length;
    badge.hidden = overridden === 0;
    setText(badge, overridden === 1 ? "1 override" : `${overridden} overrides`);
    if (isOpen) panel.render();
  }

  function see(keys: readonly string[]): void {
    for (const key of keys) changed.add(key);
    if (isScheduled) return;
    isScheduled = true;
    // Several changes of one turn are shown together.
    queueMicrotask(() => {
      isScheduled = false;
      if (!isMounted) return;
      for (const key of own.keys()) if (!values.isOverridden(key)) own.delete(key);
      const changes = log.see([...changed]);
      changed.clear();
      render();
      for (const { key } of changes) panel.flash(key);
      if (changes.length > 0)
        setText(
          announcement,
          changes
            .map(({ key, text }) => `${key}: ${text}`)
            .slice(0, 3)
            .join(", "),
        );
      save();
    });
  }

  function attach(): void {
    if (!isMounted) return;
    document.body.append(host);
    setOpen(stored.isOpen, false);
  }

  values.watch(see);
  if (document.body) attach();
  else document.addEventListener("DOMContentLoaded", attach, { once: true });

  return () => {
    // Another toolbar may have replaced this one.
    if (!isMounted) return;
    isMounted = false;
    values.watch(undefined);
    clearInterval(clock);
    host.remove();
  };
}

/** Overrides of an earlier page of this tab. Those that no longer fit the declaration are left out. */
function restore(
  { values, declared }: ClientSeam,
  overrides: ReadonlyMap<string, JsonValue>,
  own: Map<string, JsonValue>,
): void {
  for (const [key, value] of overrides) {
    const declaration = Object.hasOwn(declared, key) ? declared[key] : undefined;
    if (declaration && findMisfit(declaration, value) !== undefined) continue;
    own.set(key, value);
    values.override(key, value);
  }
}
