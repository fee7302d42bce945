/** Evaluations of the last 24 hours as a small line. Loaded when the row has been in view for a moment. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { evaluationsQuery } from "../api/queries.ts";
import { pointsOf } from "./spark-points.ts";

/** Rows that scroll past quickly make no request. */
const IN_VIEW_MS = 400;

export function Sparkline({ flagId }: { flagId: string }): ReactNode {
  const [isInView, setInView] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setInView(true), IN_VIEW_MS);
    return () => clearTimeout(timer);
  }, []);
  const { data } = useQuery({ ...evaluationsQuery(flagId), enabled: isInView });
  return (
    <svg className="sparkline" viewBox="0 0 96 20" preserveAspectRatio="none" aria-hidden="true">
      {data && <polyline points={pointsOf(data)} vectorEffect="non-scaling-stroke" />}
    </svg>
  );
}
