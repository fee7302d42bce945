/** Evaluations of the last 24 hours as a small line, flat for none. Loaded when the row has been in view for a moment. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { evaluationsQuery } from "../api/queries.ts";
import { HEIGHT, pointsOf, WIDTH } from "./spark-points.ts";

/** Rows that scroll past quickly make no request. */
const IN_VIEW_MS = 400;
const NONE: readonly number[] = [0, 0];

export function Sparkline({ flagId, isUsed }: { flagId: string; isUsed: boolean }): ReactNode {
  const [isInView, setInView] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setInView(true), IN_VIEW_MS);
    return () => clearTimeout(timer);
  }, []);
  const { data } = useQuery({ ...evaluationsQuery(flagId), enabled: isInView && isUsed });
  const counts = isUsed ? data : NONE;
  return (
    <svg className="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      {counts && <polyline points={pointsOf(counts)} />}
    </svg>
  );
}
