import { CloseButton, Tabs } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { countText } from "../../../lib/units.ts";
import type { Range } from "../model/story.ts";
import { placeText } from "../model/transport.ts";

/** One of the lists beside the picture. */
export interface SidePanel {
  name: string;
  title: string;
  /** How many there are in the chosen time; null says nothing. */
  count?: number | null;
  /** Some of them are errors. */
  bad?: boolean;
  show: ReactNode;
}

interface SideProps {
  panels: readonly SidePanel[];
  panel: string;
  onPanel: (name: string) => void;
}

/** What happened beside the picture, one list at a time. */
export function Side({ panels, panel, onPanel }: SideProps) {
  const now = panels.find(({ name }) => name === panel) ?? panels[0];
  const name = now?.name ?? null;
  const tabs = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const list = tabs.current;
    const tab = list?.querySelector<HTMLElement>("[role=tab][data-active]");
    if (!list || !tab || name === null) return;
    const [box, own] = [tab.getBoundingClientRect(), list.getBoundingClientRect()];
    if (box.left < own.left || box.right > own.right) list.scrollLeft += box.left - own.left;
  }, [name]);
  return (
    <Tabs
      value={name}
      onChange={(next) => next && onPanel(next)}
      keepMounted={false}
      className="player-side"
    >
      <Tabs.List className="player-tabs" ref={tabs}>
        {panels.map(({ name: value, title, count, bad }) => (
          <Tabs.Tab key={value} value={value}>
            {title}
            {count !== undefined && count !== null && (
              <span className="player-count" data-bad={(bad && count > 0) || undefined}>
                {" "}
                {countText(count)}
              </span>
            )}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={name ?? ""} className="player-panel">
        {now?.show}
      </Tabs.Panel>
    </Tabs>
  );
}

/** The time that the panels show: of what was chosen, or the whole run. */
export function RangeChip({ range, onClear }: { range: Range | null; onClear: () => void }) {
  if (range === null) return <span className="player-chip">Whole run</span>;
  return (
    <span className="player-chip" data-set>
      {placeText(range.from_ms).replace(" s", "")} – {placeText(range.until_ms)}
      <CloseButton size="xs" aria-label="Show the whole run" onClick={onClear} />
    </span>
  );
}
