/** Stacked bars over time, drawn by hand: a library would cost more than the rest of the screen. A table has the same figures. */
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { TableScroll } from "../ui/table-scroll.tsx";
import type { Column } from "./columns.ts";

export interface Series {
  readonly name: string;
  readonly label: string;
  /** The class of its colour. */
  readonly colour: string;
}

interface ChartProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly columns: readonly Column[];
}

const HEIGHT = 100;
/** Part of a column's width. */
const GAP = 0.12;

export function Chart({ title, series, columns }: ChartProps): ReactNode {
  const most = niceCeiling(Math.max(1, ...columns.map(({ values }) => sumOf(values))));
  return (
    <figure className="stack gap-12">
      <figcaption className="row wrap between">
        <h2>{title}</h2>
        <ul className="row wrap gap-12 soft caption">
          {series.map(({ name, label, colour }) => (
            <li key={name} className="row gap-4">
              <span className={`legend-mark ${colour}`} aria-hidden="true" /> {label}
            </li>
          ))}
        </ul>
      </figcaption>
      <div className="row">
        <div className="plot-scale stack gap-0 between fixed muted caption number" aria-hidden="true">
          {[most, most / 2, 0].map((value) => (
            <span key={value}>{texts.compact(value)}</span>
          ))}
        </div>
        <div className="grow">
          <svg
            className="plot"
            viewBox={`0 0 ${columns.length} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={texts.activity.chartOf(title)}
          >
            {[0, HEIGHT / 2, HEIGHT].map((y) => (
              <line
                key={y}
                x1={0}
                x2={columns.length}
                y1={y}
                y2={y}
                className="chart-line"
                vectorEffect="non-scaling-stroke"
              />
            ))}
            {columns.map(({ at, label, values }, place) => {
              let top = HEIGHT;
              return (
                <g key={at}>
                  <title>{`${label}: ${texts.number(sumOf(values))}`}</title>
                  {series.map(({ name, colour }) => {
                    const height = ((values[name] ?? 0) / most) * HEIGHT;
                    top -= height;
                    return (
                      <rect
                        key={name}
                        className={colour}
                        x={place + GAP / 2}
                        y={top}
                        width={1 - GAP}
                        height={height}
                      />
                    );
                  })}
                </g>
              );
            })}
          </svg>
          <div className="row between muted caption" aria-hidden="true">
            {timeLabels(columns).map((label) => (
              <span key={label}>{label}</span>
            ))}
          </div>
        </div>
      </div>
      <details>
        <summary>{texts.activity.asTable}</summary>
        <TableScroll label={texts.activity.tableOf(title)} className="chart-table">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">{texts.activity.time}</th>
                {series.map(({ name, label }) => (
                  <th key={name} scope="col" className="number">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {columns.map(({ at, label, values }) => (
                <tr key={at}>
                  <th scope="row">{label}</th>
                  {series.map(({ name }) => (
                    <td key={name} className="number">
                      {texts.number(values[name] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      </details>
    </figure>
  );
}

function sumOf(values: Readonly<Record<string, number>>): number {
  return Object.values(values).reduce((all, value) => all + value, 0);
}

/** The first time, the last, and two between them. */
function timeLabels(columns: readonly Column[]): string[] {
  const places = [0, 1 / 3, 2 / 3, 1].map((part) => Math.round(part * (columns.length - 1)));
  return [...new Set(places)].flatMap((place) => columns[place]?.label ?? []);
}

/** The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15 … */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
