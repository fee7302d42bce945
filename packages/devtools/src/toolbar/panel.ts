/** The panel: whose flags these are, how current they are, the list with search and filters, and the changes. */
import type { ClientSeam } from "@halyard/flags/unstable-devtools";
import type { ChangeLog } from "./changes.ts";
import { arrange, button, element, icon, setText } from "./dom.ts";
import { createFlagRow, type FlagRow } from "./flag-row.ts";
import type { OverrideActions } from "./override-editor.ts";
import { listFlags, type ShownFlag } from "./shown-flag.ts";

export interface Panel {
  readonly element: HTMLElement;
  /** The field that has the focus when the panel opens. */
  readonly search: HTMLElement;
  render(): void;
  /** Shows how current the values are. */
  renderStatus(): void;
  flash(key: string): void;
}

export interface PanelActions extends OverrideActions {
  clearOverrides(): void;
  close(): void;
}

/** More rows make a browser slow. The search finds the others. */
const MAX_ROWS = 200;

type Filter = "all" | "overridden";

export function createPanel(seam: ClientSeam, log: ChangeLog, actions: PanelActions): Panel {
  const { values } = seam;
  const rows = new Map<string, FlagRow>();
  let filter: Filter = "all";

  const status = element("span", { class: "status" });
  const subject = element("p", { class: "subject" });
  const refresh = button(
    { class: "plain icon-button", "aria-label": "Fetch the flags again", title: "Fetch the flags again" },
    () => void values.fetch(),
    icon("refresh"),
  );
  const close = button(
    { class: "plain icon-button", "aria-label": "Close", title: "Close (Escape)" },
    actions.close,
    icon("close"),
  );
  const search = element("input", {
    type: "search",
    "aria-label": "Search flags",
    placeholder: "Search by key or value",
    spellcheck: "false",
    autocomplete: "off",
  });
  search.addEventListener("input", () => render());
  const filters = new Map(
    (["all", "overridden"] as const).map((name) => {
      const chosen = button({ class: "filter" }, () => {
        filter = name;
        render();
      });
      return [name, chosen] as const;
    }),
  );
  const list = element("ul", { class: "flags", "aria-label": "Flags" });
  const empty = element("p", { class: "empty" });
  const rest = element("p", { class: "note rest" });
  const clear = button(
    { class: "plain" },
    () => {
      actions.clearOverrides();
      search.focus();
    },
    "Remove all overrides",
  );
  const changesTitle = element("summary", {});
  const changes = element("details", { class: "log" }, changesTitle, log.element);

  const section = element(
    "div",
    { class: "panel", role: "dialog", "aria-label": "Feature flags" },
    element(
      "header",
      {},
      element("div", { class: "title" }, element("h2", {}, "Feature flags"), status),
      refresh,
      close,
    ),
    subject,
    element(
      "div",
      { class: "tools" },
      search,
      element("div", { class: "filters" }, ...filters.values(), clear),
    ),
    element("div", { class: "scroll" }, list, empty, rest),
    changes,
  );
  section.addEventListener("keydown", (event) => {
    if (event.key === "Escape") actions.close();
  });

  function render(): void {
    const flags = listFlags(seam);
    const overridden = flags.filter(({ isOverridden }) => isOverridden);
    if (overridden.length === 0) filter = "all";
    const found = (filter === "all" ? flags : overridden).filter((flag) => matches(flag, search.value));
    arrange(
      list,
      found.slice(0, MAX_ROWS).map((flag) => rowOf(flag).element),
    );
    for (const key of [...rows.keys()]) if (!rows.get(key)?.element.isConnected) rows.delete(key);

    for (const [name, chosen] of filters) {
      const all = name === "all" ? flags : overridden;
      setText(chosen, `${name === "all" ? "All" : "Overridden"} ${all.length}`);
      chosen.setAttribute("aria-pressed", String(name === filter));
    }
    clear.hidden = overridden.length === 0;
    list.hidden = found.length === 0;
    empty.hidden = found.length > 0;
    setText(empty, flags.length === 0 ? emptyText(seam) : "No flag matches the search.");
    rest.hidden = found.length <= MAX_ROWS;
    setText(rest, `${found.length - MAX_ROWS} more. Search for a key to see them.`);
    changes.hidden = log.count() === 0;
    setText(changesTitle, log.count() === 1 ? "1 recent change" : `${log.count()} recent changes`);
    setText(subject, subjectOf(seam));
    renderStatus();
  }

  function renderStatus(): void {
    const { name, text } = currencyOf(seam);
    setText(status, text);
    status.setAttribute("data-status", name);
  }

  function rowOf(flag: ShownFlag): FlagRow {
    const row = rows.get(flag.key) ?? createFlagRow(flag, seam, actions);
    rows.set(flag.key, row);
    row.update(flag);
    return row;
  }

  return { element: section, search, render, renderStatus, flash: (key) => rows.get(key)?.flash() };
}

function matches({ key, value }: ShownFlag, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === "" || key.toLowerCase().includes(wanted)) return true;
  return value !== undefined && JSON.stringify(value).toLowerCase().includes(wanted);
}

function emptyText({ values }: ClientSeam): string {
  if (values.status() === "loading") return "The client is fetching the flags.";
  if (values.status() === "error") return "The flags could not be fetched, so reads return defaults.";
  return "The server has no flags for this session.";
}

/** How current the values are. */
function currencyOf({ values, live }: ClientSeam): { readonly name: string; readonly text: string } {
  const status = values.status();
  if (status === "loading") return { name: "waiting", text: "Loading" };
  if (status === "error") return { name: "bad", text: "Server unreachable" };
  if (status === "stale") return { name: "bad", text: "Stale" };
  const connection = live?.();
  if (connection === "live") return { name: "good", text: "Live" };
  if (connection === "polling") return { name: "waiting", text: "Polling" };
  return connection === "connecting"
    ? { name: "waiting", text: "Connecting" }
    : { name: "off", text: "Not live" };
}

/** Whom the server evaluated the flags for. */
function subjectOf({ values }: ClientSeam): string {
  const owner = values.owner();
  if (owner === undefined) return "";
  const { userId, organizationId, anonymousId } = owner;
  const parts = [
    userId === undefined ? "Anonymous visitor" : `User ${userId}`,
    ...(userId === undefined && anonymousId !== undefined ? [anonymousId] : []),
    ...(organizationId === undefined ? [] : [`organization ${organizationId}`]),
  ];
  return parts.join(" · ");
}
