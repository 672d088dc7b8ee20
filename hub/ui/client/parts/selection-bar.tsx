import { Button, CloseButton } from "@mantine/core";
import type { ReactNode } from "react";
import { countText } from "../lib/units.ts";

interface SelectionBarProps {
  /** How many are chosen; nothing shows for none. */
  count: number;
  /** How many match what the list is filtered by; with `onAll` there is a button that chooses them. */
  matching?: number;
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
        {said ?? (all ? `All ${countText(count)} that match` : `${countText(count)} selected`)}
      </b>
      {onAll && !all && matching !== undefined && matching > count && (
        <Button size="xs" variant="subtle" onClick={onAll}>
          All {countText(matching)} that match
        </Button>
      )}
      <span className="selection-line" />
      {children}
      <CloseButton aria-label="Clear selection" onClick={onClear} />
    </div>
  );
}
