/** The style of the page: light and dark as the system says, one column on a phone. */
export const STYLE: string = `:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f9, #14171c);
  --card: light-dark(#ffffff, #1b1f26);
  --line: light-dark(#dfe3e8, #2d333d);
  --text: light-dark(#1c2430, #e4e8ee);
  --quiet: light-dark(#566071, #9aa5b5);
  --accent: light-dark(#0b5fc2, #75b3ff);
  --in: light-dark(#0b6b3a, #63d399);
  --out: light-dark(#0b5fc2, #75b3ff);
  --topic: light-dark(#7a3ec0, #c6a0ff);
  --error: light-dark(#b42318, #ff8a80);
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
* { box-sizing: border-box; }
html, body { margin: 0; }
body { background: var(--page); color: var(--text); font: 14px/1.45 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1, h2, p { margin: 0; }
h1 { font-size: 16px; }
h2 { font-size: 13px; font-weight: 600; }
header { align-items: center; border-bottom: 1px solid var(--line); background: var(--card); display: flex; gap: 12px; justify-content: space-between; padding: 12px 20px; }
#status { align-items: center; color: var(--quiet); display: flex; gap: 8px; }
#status::before { background: var(--quiet); border-radius: 50%; content: ""; height: 8px; width: 8px; }
#status.live::before { background: var(--in); }
#status.lost { color: var(--error); }
#status.lost::before { background: var(--error); }
main { display: grid; gap: 16px; margin: 0 auto; max-width: 1400px; padding: 16px 20px 32px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; min-width: 0; }
section > h2 { padding: 12px 16px; }
#figures { display: grid; grid-template-columns: 1fr 1fr 2fr 2fr; }
.figure { border-left: 1px solid var(--line); display: grid; gap: 2px 16px; grid-template-columns: auto 1fr; padding: 12px 16px; }
.figure:first-child { border-left: 0; }
.figure h2 { color: var(--quiet); font-weight: 400; grid-column: 1 / -1; }
.figure p { font-size: 24px; font-variant-numeric: tabular-nums; font-weight: 600; line-height: 1.2; min-width: 2.5ch; }
.figure svg { height: 28px; width: 100%; }
svg polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.bar { align-items: center; border-bottom: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: 8px 12px; padding: 10px 16px; }
.grow { flex: 1 1 220px; }
.check { align-items: center; display: flex; gap: 6px; white-space: nowrap; }
.hidden { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; white-space: nowrap; width: 1px; }
input[type="search"], select, button { background: var(--card); border: 1px solid var(--line); border-radius: 6px; color: inherit; font: inherit; min-height: 32px; padding: 4px 10px; }
input[type="search"] { width: 100%; }
button { cursor: pointer; }
button:hover { border-color: var(--accent); }
button[aria-pressed="true"] { background: var(--accent); border-color: var(--accent); color: var(--card); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
#missed { color: var(--quiet); padding: 8px 16px 0; }
.scroll { max-height: 320px; overflow: auto; }
#frames .scroll { max-height: max(320px, calc(100vh - 420px)); min-height: 220px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th { background: var(--card); box-shadow: inset 0 -1px var(--line); color: var(--quiet); font-weight: 400; padding: 6px 12px; position: sticky; text-align: left; top: 0; white-space: nowrap; z-index: 1; }
td { border-bottom: 1px solid var(--line); max-width: 0; overflow: hidden; padding: 4px 12px; text-overflow: ellipsis; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 16px; }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:hover td { background: color-mix(in srgb, var(--accent) 7%, transparent); }
.number { text-align: right; }
td.mono, td .open { font-family: var(--mono); font-size: 12.5px; }
.arrow { text-align: center; }
#frames table { table-layout: fixed; }
#frames th:nth-child(1) { width: 118px; } #frames th:nth-child(2) { width: 36px; } #frames th:nth-child(3) { width: 22%; } #frames th:nth-child(4) { width: 18%; } #frames th:nth-child(5) { width: 84px; }
td .open { background: none; border: 0; border-radius: 3px; color: inherit; display: block; font-weight: 600; max-width: 100%; min-height: 24px; overflow: hidden; padding: 0; text-align: left; text-overflow: ellipsis; white-space: nowrap; }
td .open:hover { text-decoration: underline; }
.quiet { color: var(--quiet); }
.duration { background: color-mix(in srgb, var(--accent) 12%, transparent); border-radius: 4px; margin-right: 8px; padding: 1px 6px; }
tr.in .arrow { color: var(--in); } tr.out .arrow { color: var(--out); } tr.topic .arrow { color: var(--topic); }
tr.error .open { color: var(--error); }
tr.control .open { font-weight: 400; }
#empty { color: var(--quiet); padding: 24px 16px; }
#tables { display: grid; gap: 16px; grid-template-columns: 3fr 2fr 2fr; }
#tables td { max-width: 220px; }
dialog { background: var(--card); border: 1px solid var(--line); border-radius: 8px; color: inherit; max-height: 80vh; max-width: min(720px, calc(100vw - 32px)); overflow: auto; padding: 0; width: 100%; }
dialog::backdrop { background: rgb(0 0 0 / 40%); }
dl { display: grid; gap: 4px 16px; grid-template-columns: max-content 1fr; margin: 0; padding: 12px 16px; }
dt { color: var(--quiet); }
dd { font-family: var(--mono); font-size: 12.5px; margin: 0; overflow-wrap: anywhere; }
pre { background: var(--page); border-top: 1px solid var(--line); font: 12.5px/1.5 var(--mono); margin: 0; overflow-wrap: anywhere; padding: 12px 16px; white-space: pre-wrap; }
noscript { display: block; padding: 20px; }
@media (max-width: 900px) {
  #tables { grid-template-columns: 1fr; }
  #figures { grid-template-columns: 1fr 1fr; }
  .figure:nth-child(odd) { border-left: 0; }
  .figure:nth-child(n + 3) { border-top: 1px solid var(--line); }
}
@media (max-width: 600px) {
  main { gap: 12px; padding: 12px; }
  header { padding: 12px 16px; }
  .figure { grid-template-columns: 1fr; }
  .bar .check { flex: 1 1 auto; }
  select { max-width: 150px; }
  #frames .scroll { max-height: 60vh; }
  #frames th:nth-child(1), #frames th:nth-child(5), #frames td:nth-child(1), #frames td:nth-child(5), #frames th:nth-child(6), #frames td:nth-child(6) { display: none; }
  #frames th:nth-child(3), #frames th:nth-child(4) { width: auto; }
  #frames td.arrow { padding-left: 12px; }
  td { padding-bottom: 6px; padding-top: 6px; }
  td .open { min-height: 28px; }
}
`;
