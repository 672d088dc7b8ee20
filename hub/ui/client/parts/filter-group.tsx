import { Button } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import { type ReactNode, useId, useState } from "react";

interface FilterGroupProps {
  /** Says what is filtered, for screen readers. */
  label: string;
  /** Filters that are set beside the first. */
  set: number;
  /** The one that is always seen. */
  first: ReactNode;
  children: ReactNode;
}

/** Filters of a list. On a phone those after the first are folded away: they would fill half of the screen. */
export function FilterGroup({ label, set, first, children }: FilterGroupProps) {
  const [open, setOpen] = useState(false);
  const more = useId();
  return (
    <search className="filters" aria-label={label}>
      {first}
      <Button
        hiddenFrom="sm"
        size="xs"
        variant="default"
        leftSection={<IconFilter size={14} />}
        aria-expanded={open}
        aria-controls={more}
        onClick={() => setOpen(!open)}
      >
        {set === 0 ? "Filters" : `Filters (${set})`}
      </Button>
      <div id={more} className="filters-more" data-open={open || undefined}>
        {children}
      </div>
    </search>
  );
}
