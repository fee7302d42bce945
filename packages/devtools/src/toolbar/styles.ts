/** The styles of the toolbar, for a constructed stylesheet: a strict content security policy allows these. */

/** `!important` on the host, because styles of the page go before those of the shadow root there. */
export const STYLES: string = /* css */ `
:host {
  all: initial !important;
  position: fixed !important;
  z-index: 2147483647 !important;
  inset: auto 16px 16px auto !important;
  display: block !important;
  color-scheme: light dark !important;
}
:host([data-position="bottom-left"]) { inset: auto auto 16px 16px !important; }
:host([data-theme="light"]) { color-scheme: light !important; }
:host([data-theme="dark"]) { color-scheme: dark !important; }
@media print { :host { display: none !important; } }

aside {
  --surface: light-dark(#ffffff, #13161b);
  --fill: light-dark(#f3f4f6, #1d222a);
  --line: light-dark(#e4e7ec, #242a33);
  --control: light-dark(#868e9d, #6c7686);
  --text: light-dark(#14181f, #edf0f4);
  --text-2: light-dark(#4a5363, #aeb7c4);
  --accent: light-dark(#2456d3, #3d6ce8);
  --accent-text: light-dark(#1f4bbd, #94b4ff);
  --accent-soft: light-dark(#edf2fe, #16233f);
  --good-text: light-dark(#12683e, #62d19a);
  --good-soft: light-dark(#e7f6ee, #10281c);
  --bad: light-dark(#c62f2f, #cf3d3d);
  --bad-text: light-dark(#a82323, #ff9d97);
  --bad-soft: light-dark(#fdeeed, #32191a);
  --warn-text: light-dark(#85500a, #f0b95a);
  --warn-soft: light-dark(#fdf3dd, #2e230f);
  --code: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  display: flex;
  flex-direction: column;
  align-items: flex-end;
  gap: 10px;
  color: var(--text);
  font: 13px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif;
}
:host([data-position="bottom-left"]) aside { align-items: flex-start; }

*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
h2, h3, p, ul, ol, fieldset { margin: 0; padding: 0; border: 0; }
ul, ol { list-style: none; }
button, input, textarea { font: inherit; color: inherit; }
button { cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code, .key { font-family: var(--code); font-size: 12px; unicode-bidi: isolate; }
.icon { width: 16px; height: 16px; flex: none; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.toggle {
  display: inline-flex;
  align-items: center;
  gap: 7px;
  height: 36px;
  padding: 0 14px 0 11px;
  border: 1px solid var(--control);
  border-radius: 18px;
  background: var(--surface);
  font-weight: 600;
  box-shadow: 0 4px 14px light-dark(rgb(16 24 40 / 16%), rgb(0 0 0 / 55%));
}
.toggle:hover { background: var(--fill); }
.badge { padding: 1px 8px; border-radius: 10px; background: var(--warn-soft); color: var(--warn-text); font-size: 12px; }

.panel {
  display: flex;
  flex-direction: column;
  width: 440px;
  max-width: calc(100vw - 32px);
  max-height: min(640px, calc(100vh - 90px));
  max-height: min(640px, calc(100dvh - 90px));
  border: 1px solid var(--line);
  border-radius: 12px;
  background: var(--surface);
  box-shadow: 0 16px 44px light-dark(rgb(16 24 40 / 22%), rgb(0 0 0 / 65%));
  overflow: hidden;
}
header { display: flex; align-items: center; gap: 4px; padding: 12px 10px 0 16px; }
.title { display: flex; align-items: center; gap: 10px; flex: 1; min-width: 0; }
h2 { font-size: 15px; font-weight: 650; }
.subject { padding: 2px 16px 0; color: var(--text-2); font-size: 12px; overflow-wrap: anywhere; }
.subject:empty { display: none; }
.status { display: inline-flex; align-items: center; gap: 6px; padding: 1px 9px; border-radius: 10px; background: var(--fill); color: var(--text-2); font-size: 12px; font-weight: 500; }
.status::before { content: ""; width: 7px; height: 7px; border-radius: 50%; background: currentColor; }
.status[data-status="good"] { background: var(--good-soft); color: var(--good-text); }
.status[data-status="waiting"] { background: var(--warn-soft); color: var(--warn-text); }
.status[data-status="bad"] { background: var(--bad-soft); color: var(--bad-text); }

.plain { border: 0; border-radius: 6px; background: none; color: var(--accent-text); padding: 4px 8px; font-weight: 500; }
.plain:hover { background: var(--fill); }
.icon-button { display: inline-grid; place-items: center; width: 32px; height: 32px; padding: 0; color: var(--text-2); }
.tools { padding: 10px 16px; border-bottom: 1px solid var(--line); }
input[type="search"], .field input, textarea {
  width: 100%;
  padding: 6px 10px;
  border: 1px solid var(--control);
  border-radius: 7px;
  background: var(--surface);
}
.field input, textarea { font-family: var(--code); font-size: 12px; }
textarea { display: block; resize: vertical; }
::placeholder { color: var(--text-2); opacity: 1; }
.filters { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 8px; }
.filters .plain { margin-left: auto; }
.filter { padding: 2px 10px; border: 1px solid var(--line); border-radius: 12px; background: none; color: var(--text-2); min-height: 26px; }
.filter:hover { background: var(--fill); }
.filter[aria-pressed="true"] { border-color: var(--accent); background: var(--accent-soft); color: var(--accent-text); font-weight: 600; }

.scroll { flex: 1; min-height: 60px; overflow-y: auto; overscroll-behavior: contain; }
.empty, .rest { padding: 20px 16px; color: var(--text-2); }
.flag + .flag { border-top: 1px solid var(--line); }
.row {
  display: grid;
  grid-template-columns: 16px minmax(0, 1fr) fit-content(45%);
  align-items: center;
  column-gap: 8px;
  width: 100%;
  padding: 8px 16px 8px 12px;
  border: 0;
  background: none;
  text-align: start;
}
.row:hover { background: var(--fill); }
.row:focus-visible { outline-offset: -2px; }
.row .icon { grid-row: span 2; color: var(--text-2); transition: transform 120ms ease-out; }
.row[aria-expanded="true"] .icon { transform: rotate(90deg); }
.row .key { grid-column: 2; overflow-wrap: anywhere; font-weight: 600; }
.row .why { grid-column: 2; color: var(--text-2); font-size: 12px; }
.row .value {
  grid-column: 3;
  grid-row: 1 / span 2;
  justify-self: end;
  max-width: 100%;
  padding: 2px 8px;
  border-radius: 6px;
  background: var(--fill);
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.value[data-value="true"] { background: var(--good-soft); color: var(--good-text); }
.flag[data-overridden] .row { box-shadow: inset 3px 0 var(--warn-text); }
.flag[data-overridden] .why { color: var(--warn-text); font-weight: 600; }
.flash .row { animation: flash 1.6s ease-out; }
@keyframes flash { from { background: var(--accent-soft); } }

.details { display: grid; gap: 10px; padding: 2px 16px 14px 36px; }
.sentence { overflow-wrap: anywhere; }
.note { color: var(--text-2); overflow-wrap: anywhere; }
legend, .field label, h3 { display: block; margin-bottom: 4px; padding: 0; font-size: 12px; font-weight: 600; color: var(--text-2); }
.segments { display: flex; flex-wrap: wrap; gap: 6px; }
.segments label { position: relative; display: inline-flex; cursor: pointer; }
.segments input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: pointer; }
.segments span { padding: 4px 14px; border: 1px solid var(--control); border-radius: 7px; overflow-wrap: anywhere; }
.segments input:hover + span { background: var(--fill); }
.segments input:checked + span { border-color: var(--accent); background: var(--accent); color: #ffffff; font-weight: 600; }
.segments input:focus-visible + span { outline: 2px solid var(--accent); outline-offset: 2px; }
.actions { display: flex; gap: 6px; margin-top: 6px; }
.primary { padding: 4px 14px; border: 1px solid var(--accent); border-radius: 7px; background: var(--accent); color: #ffffff; font-weight: 600; }
.problem { margin-top: 4px; color: var(--bad-text); overflow-wrap: anywhere; }
.problem:empty { display: none; }
[aria-invalid="true"] { border-color: var(--bad) !important; }

.steps { border-inline-start: 2px solid var(--line); padding-inline-start: 14px; display: grid; gap: 6px; }
.step { position: relative; }
.step::before { content: ""; position: absolute; inset: 6px auto auto -19px; width: 8px; height: 8px; border-radius: 50%; background: var(--control); }
.decides::before { background: var(--accent); box-shadow: 0 0 0 3px var(--accent-soft); }
.decides > p { font-weight: 600; }
.conditions { display: grid; gap: 3px; margin-top: 3px; }
.conditions li { display: flex; align-items: baseline; gap: 8px; }
.conditions code { overflow-wrap: anywhere; }
.mark { flex: none; min-width: 38px; padding: 0 5px; border-radius: 5px; background: var(--fill); color: var(--text-2); font-size: 11px; text-align: center; }
.holds .mark { background: var(--good-soft); color: var(--good-text); }

.log { border-top: 1px solid var(--line); }
summary { padding: 8px 16px; color: var(--text-2); cursor: pointer; }
summary:hover { background: var(--fill); }
summary:focus-visible { outline-offset: -2px; }
.changes { max-height: 150px; padding: 0 16px 10px; overflow-y: auto; display: grid; gap: 4px; }
.changes li { display: flex; flex-wrap: wrap; gap: 2px 8px; align-items: baseline; }
.changes time { color: var(--text-2); font-size: 12px; font-variant-numeric: tabular-nums; }
.changes .key { font-weight: 600; overflow-wrap: anywhere; }
.changes code { overflow-wrap: anywhere; }

@media (max-width: 520px) {
  :host, :host([data-position="bottom-left"]) { inset: auto 8px 8px 8px !important; }
  .panel { width: 100%; max-width: 100%; max-height: calc(100vh - 40px); max-height: calc(100dvh - 40px); }
  :host([data-open]) .toggle { display: none; }
  :host(:not([data-open])) { inset: auto 8px 8px auto !important; }
  :host([data-position="bottom-left"]:not([data-open])) { inset: auto auto 8px 8px !important; }
  .row { padding-block: 11px; }
  .icon-button { width: 40px; height: 40px; }
  .filter, .primary, .segments span, .filters .plain { min-height: 36px; padding-block: 7px; }
  input[type="search"], .field input, textarea { font-size: 16px; padding-block: 8px; }
}
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
`;
