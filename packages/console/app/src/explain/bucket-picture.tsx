/** The bucket of a user on a line from 0 to 100, with the share that is included, or with the variants. */
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Stack } from "../ui/layout.tsx";
import { Share } from "../ui/share.tsx";
import type { Bucket } from "./trace.ts";

export function BucketPicture({ bucket: about }: { bucket: Bucket }): ReactNode {
  const { bucket, percentage = 0, shares, input, hash, bucketBy } = about;
  const at = texts.number(Math.round(bucket * 100) / 100);
  const text =
    shares !== undefined
      ? texts.explain.variantText(at)
      : bucket < percentage
        ? texts.explain.inside(at, percentage)
        : texts.explain.outside(at, percentage);
  return (
    <Stack gap={4}>
      <p className="soft">{text}</p>
      <div className="bucket" role="img" aria-label={text}>
        {shares === undefined ? (
          <Share large parts={[percentage]} />
        ) : (
          <Share large parts={shares.map(({ weight }) => weight)} />
        )}
        <span className="bucket-mark" style={{ left: `${Math.min(99.5, bucket)}%` }} />
      </div>
      <details className="muted caption">
        <summary>{texts.explain.hash}</summary>
        <p>
          {texts.explain.hashed(bucketBy)} <code>{input}</code>, <code>{hash}</code>,{" "}
          <code>{bucket.toFixed(4)}</code>
        </p>
      </details>
    </Stack>
  );
}
