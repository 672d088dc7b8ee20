import { Button, CloseButton } from "@mantine/core";
import type { ReactNode } from "react";
import { countText } from "../lib/units.ts";

interface Matching {
  count: number;
  /** There are more, which nobody counts. */
  more: boolean;
}

const allText = ({ count, more }: Matching): string =>
  `All ${countText(count)}${more ? "+" : ""} that match`;

interface SelectionBarProps {
  /** How many are chosen; nothing shows for none. */
  count: number;
  /** How many match what the list is filtered by; where they are more than those, a button chooses them with `onAll`. */
  matching?: Matching | undefined;
  onAll?: () => void;
  /** All that match are chosen. */
  all?: boolean;
  onClear: () => void;
  /** In place of the number: how far what is done with them has come. */
  said?: string | undefined;
  /** Buttons of what is done with them; ones of size `xs` and variant `subtle`. */
  children: ReactNode;
}

/** Floats at the foot of a list while some of it is chosen. */
export function SelectionBar(props: SelectionBarProps) {
  const { count, matching, onAll, all = false, onClear, said, children } = props;
  if (count === 0) return null;
  return (
    <div className="selection-bar" role="toolbar" aria-label="Selection">
      <b className="selection-count" role="status">
        {said ?? (all && matching ? allText(matching) : `${countText(count)} selected`)}
      </b>
      {onAll && !all && matching !== undefined && matching.count > count && (
        <Button size="xs" variant="subtle" onClick={onAll}>
          {allText(matching)}
        </Button>
      )}
      <span className="selection-line" />
      {children}
      <CloseButton aria-label="Clear selection" onClick={onClear} />
    </div>
  );
}
