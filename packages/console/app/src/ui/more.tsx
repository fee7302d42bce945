/** Loads the next page of a list, where there is one. */
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Button } from "./button.tsx";
import { Row } from "./layout.tsx";

interface MoreProps {
  readonly list: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => unknown;
  };
}

export function More({ list }: MoreProps): ReactNode {
  if (!list.hasNextPage) return null;
  return (
    <Row>
      <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        {texts.common.more}
      </Button>
    </Row>
  );
}
