/**
 * The program of the page. The server sends the text of this function, so it may use nothing from outside of itself. It
 * writes data only as text, never as HTML.
 */
import type { RecordedFrame } from "../recorder.ts";
import type { InspectorState } from "../state.ts";

export function runPage(): void {
  const POLL_MS = 500;
  const RETRY_MS = 2_000;
  const MAX_KEPT = 1_000;
  const MAX_SHOWN = 200;
  const ARROWS = { in: "→", out: "←", topic: "⇉", open: "＋", close: "✕" };
  const NAMES = {
    in: "Received",
    out: "Sent",
    topic: "Published",
    open: "Connection opened",
    close: "Connection closed",
  };

  const find = <E extends Element>(id: string): E => document.getElementById(id) as unknown as E;
  const filter = find<HTMLInputElement>("filter");
  const direction = find<HTMLSelectElement>("direction");
  const control = find<HTMLInputElement>("control");
  const pause = find<HTMLButtonElement>("pause");
  const rows = find<HTMLElement>("rows");
  const dialog = find<HTMLDialogElement>("detail");

  /** The newest last. */
  let kept: RecordedFrame[] = [];
  let last = 0;
  let missed = 0;
  let isPaused = false;
  let timer: number | undefined;

  function text(id: string, value: string | number): void {
    const element = find(id);
    if (element.textContent !== String(value)) element.textContent = String(value);
  }

  function cell(className: string, content: string | number | Node, title?: string): HTMLTableCellElement {
    const td = document.createElement("td");
    td.className = className;
    td.append(content instanceof Node ? content : String(content));
    if (title !== undefined) td.title = title;
    return td;
  }

  function clockTime(at: number): string {
    const date = new Date(at);
    const pad = (value: number, length = 2): string => String(value).padStart(length, "0");
    return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
  }

  function age(ms: number): string {
    const seconds = Math.max(0, Math.round(ms / 1_000));
    if (seconds < 60) return `${seconds} s`;
    return seconds < 3_600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`;
  }

  function titleOf(frame: RecordedFrame): string {
    if (frame.direction === "open") return "opened";
    return frame.direction === "close" ? `closed ${frame.type}` : frame.type;
  }

  /** The ends of ids differ; their beginnings are times. */
  function shortId(id: string): string {
    return id.length > 16 ? `…${id.slice(-12)}` : id;
  }

  function placeOf(frame: RecordedFrame): string {
    if (frame.topic === undefined) return shortId(frame.clientId ?? "");
    return `${frame.topic} (${frame.subscribers ?? 0})`;
  }

  function matches(frame: RecordedFrame): boolean {
    const isConnection = frame.direction === "open" || frame.direction === "close";
    if (
      direction.value === "connection"
        ? !isConnection
        : direction.value && frame.direction !== direction.value
    )
      return false;
    if (!control.checked && frame.type.startsWith("$ws:") && frame.type !== "$ws:error") return false;
    const needle = filter.value.trim().toLowerCase();
    if (needle === "") return true;
    const fields = [titleOf(frame), frame.clientId, frame.topic, frame.correlationId, frame.payload];
    return fields.some((field) => field?.toLowerCase().includes(needle));
  }

  function showDetail(frame: RecordedFrame): void {
    text("detail-title", `${NAMES[frame.direction]}: ${titleOf(frame)}`);
    const fields: readonly (readonly [string, string | number | undefined])[] = [
      ["Time", clockTime(frame.at)],
      ["Connection", frame.clientId],
      ["Topic", frame.topic],
      ["Subscribers", frame.subscribers],
      ["Correlation id", frame.correlationId],
      ["Time since the request", frame.durationMs === undefined ? undefined : `${frame.durationMs} ms`],
      ["Size", frame.size === 0 ? undefined : `${frame.size} characters`],
    ];
    const list = fields.flatMap(([name, value]) => {
      if (value === undefined) return [];
      const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
      dt.textContent = name;
      dd.textContent = String(value);
      return [dt, dd];
    });
    find("detail-fields").replaceChildren(...list);
    text("detail-payload", readable(frame.payload) || "No payload");
    dialog.showModal();
  }

  /** Indents JSON; redacted and shortened payloads are not JSON. */
  function readable(payload: string): string {
    try {
      return JSON.stringify(JSON.parse(payload), null, 2);
    } catch {
      return payload;
    }
  }

  function rowOf(frame: RecordedFrame): HTMLTableRowElement {
    const tr = document.createElement("tr");
    const isControl = frame.type.startsWith("$ws:");
    tr.className = `${frame.direction}${frame.type === "$ws:error" ? " error" : isControl ? " control" : ""}`;
    const open = document.createElement("button");
    open.type = "button";
    open.className = "open";
    open.textContent = titleOf(frame);
    open.addEventListener("click", () => showDetail(frame));
    const arrow = cell("arrow", ARROWS[frame.direction], NAMES[frame.direction]);
    const name = document.createElement("span");
    name.className = "hidden";
    name.textContent = NAMES[frame.direction];
    arrow.append(name);
    const payload = cell("payload mono", frame.payload);
    if (frame.durationMs !== undefined) {
      const duration = document.createElement("span");
      duration.className = "duration";
      duration.textContent = `${frame.durationMs} ms`;
      payload.prepend(duration);
    }
    tr.append(
      cell("time mono quiet", clockTime(frame.at)),
      arrow,
      cell("type", open),
      cell("place mono quiet", placeOf(frame), frame.topic ?? frame.clientId),
      cell("size number quiet", frame.size === 0 ? "" : frame.size),
      payload,
    );
    return tr;
  }

  function trim(): void {
    while (rows.childElementCount > MAX_SHOWN) rows.lastElementChild?.remove();
    const empty = find<HTMLElement>("empty");
    empty.hidden = rows.childElementCount > 0;
    empty.textContent =
      kept.length === 0
        ? "No frames yet. Frames appear here when a client connects."
        : "No frame matches the filter.";
    const note = find<HTMLElement>("missed");
    note.hidden = missed === 0;
    note.textContent = `${missed} frames came faster than this page reads them and are not listed.`;
  }

  function showAll(): void {
    rows.replaceChildren(...kept.filter(matches).slice(-MAX_SHOWN).reverse().map(rowOf));
    trim();
  }

  /** Adds rows at the top, so that the focus and the place of a reader stay. */
  function showNew(frames: readonly RecordedFrame[]): void {
    rows.prepend(...frames.filter(matches).slice(-MAX_SHOWN).reverse().map(rowOf));
    trim();
  }

  function line(id: string, values: readonly number[]): void {
    const top = Math.max(1, ...values);
    const points = values.map((value, at) => `${at * 2},${(26.5 - (value / top) * 25).toFixed(1)}`).join(" ");
    const svg = find<SVGElement>(id);
    const polyline =
      svg.querySelector("polyline") ?? document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    polyline.setAttribute("points", points);
    svg.append(polyline);
  }

  function table(
    id: string,
    lines: readonly (readonly [string, ...(string | number)[]])[],
    more: number,
  ): void {
    const list = lines.map(([first, ...rest]) => {
      const tr = document.createElement("tr");
      tr.append(cell("mono", first, first), ...rest.map((value) => cell("number", value)));
      return tr;
    });
    if (more > 0) {
      const tr = document.createElement("tr");
      tr.append(cell("quiet", `and ${more} more`));
      list.push(tr);
    }
    find(id).replaceChildren(...list);
  }

  function show(state: InspectorState): void {
    const { connections, topics, types, rates } = state;
    text("connection-count", connections.total);
    text("topic-count", topics.total);
    text("received-rate", rates.received.at(-1) ?? 0);
    text("sent-rate", rates.sent.at(-1) ?? 0);
    line("received-line", rates.received);
    line("sent-line", rates.sent);
    const now = Date.now();
    table(
      "connections",
      connections.rows.map((row) => [
        shortId(row.clientId),
        age(now - row.openedAt),
        row.received,
        row.sent,
        row.bufferedBytes,
        row.topics,
      ]),
      connections.total - connections.rows.length,
    );
    const topicLines = topics.rows.map((row): [string, number] => [row.topic, row.subscribers]);
    table("topics", topicLines, topics.total - topics.rows.length);
    table(
      "types",
      types.map((row): [string, number, number] => [row.type, row.received, row.sent]),
      0,
    );
  }

  function status(name: "live" | "paused" | "lost", label: string): void {
    const element = find("status");
    element.className = name;
    text("status", label);
  }

  function take(state: InspectorState): void {
    // A server that was restarted begins again with 1.
    if (state.last < last) last = 0;
    missed += last === 0 ? 0 : state.missed;
    last = state.frames.at(-1)?.seq ?? Math.max(last, state.last);
    kept = [...kept, ...state.frames].slice(-MAX_KEPT);
    show(state);
    showNew(state.frames);
  }

  async function poll(): Promise<void> {
    timer = undefined;
    if (isPaused || document.hidden) return;
    let delayMs = POLL_MS;
    try {
      const response = await fetch(`state?after=${last}`);
      if (!response.ok) throw new Error(`status ${response.status}`);
      const state: InspectorState = await response.json();
      if (!isPaused) {
        take(state);
        status("live", "Live");
      }
      if (last < state.last) delayMs = 0;
    } catch {
      delayMs = RETRY_MS;
      if (!isPaused) status("lost", "The server does not answer. Trying again every 2 s.");
    }
    schedule(delayMs);
  }

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => void poll(), delayMs) as unknown as number;
  }

  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", String(isPaused));
    if (isPaused) status("paused", "Paused");
    schedule(0);
  });
  find("clear").addEventListener("click", () => {
    kept = [];
    missed = 0;
    showAll();
  });
  for (const input of [filter, direction, control]) input.addEventListener("input", showAll);
  find("detail-close").addEventListener("click", () => dialog.close());
  document.addEventListener("visibilitychange", () => schedule(0));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || dialog.open || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    filter.focus();
  });
  schedule(0);
}
