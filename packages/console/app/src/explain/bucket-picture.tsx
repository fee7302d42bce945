/** The bucket of a user on a line from 0 to 100, with the share that is included, or with the variants. */
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import type { Bucket } from "./trace.ts";

export function BucketPicture({
  bucket: { bucket, percentage, shares, input, hash, bucketBy },
}: {
  bucket: Bucket;
}): ReactNode {
  const parts = shares ?? [{ variant: "", weight: percentage ?? 0 }];
  let start = 0;
  const text =
    shares === undefined
      ? texts.explain.bucketText(bucket.toFixed(2), percentage ?? 0)
      : texts.explain.variantText(bucket.toFixed(2));
  return (
    <figure className="bucket">
      <svg viewBox="0 0 100 14" preserveAspectRatio="none" role="img" aria-label={text}>
        <rect x="0" y="4" width="100" height="6" rx="1" className="bucket-ground" />
        {parts.map(({ variant, weight }, place) => {
          const x = start;
          start += weight;
          return (
            <rect
              key={variant}
              x={x}
              y="4"
              width={weight}
              height="6"
              className={shares === undefined ? "bucket-part" : `bucket-variant-${place % 6}`}
            />
          );
        })}
        <rect x={Math.min(99.5, bucket)} y="1" width="0.6" height="12" className="bucket-mark" />
      </svg>
      <figcaption>
        <span>{text}</span>
        <details>
          <summary>{texts.explain.hash}</summary>
          <p className="muted">
            {texts.explain.hashed(bucketBy)} <code>{input}</code> → <code>{hash}</code> →{" "}
            <code>{bucket.toFixed(4)}</code>
          </p>
        </details>
      </figcaption>
    </figure>
  );
}
