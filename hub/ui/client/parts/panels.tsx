import { Drawer, Tabs } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { type CSSProperties, type ReactNode, useState } from "react";
import { useRoom } from "../lib/width.ts";
import { useBesideRoom } from "./beside/use-beside-room.ts";
import { Divider } from "./panels/divider.tsx";
import { type Side, useSizes } from "./panels/sizes.ts";

interface PanelsProps {
  /** Under which the sizes are kept: the page's name. */
  name: string;
  /** List or timeline. */
  left?: ReactNode;
  leftTitle?: string;
  /** What is looked at; as wide as it gets. */
  children: ReactNode;
  /** Its name among the tabs of a phone. */
  title: string;
  /** The detail of what is chosen; null while nothing is. */
  right?: ReactNode;
  rightTitle?: string;
  /** Whether the right one is open where it is a drawer. */
  rightOpen: boolean;
  /** Closes the drawer. */
  onCloseRight: () => void;
}

/**
 * Up to three panels side by side. Dividers drag, a double click on one resets it, sizes are kept for the page, `[` and `]`
 * fold the sides. Below 1100 px the right one is a drawer, below 640 px they are tabs.
 */
export function Panels(props: PanelsProps) {
  return useRoom() === "phone" ? <TabPanels {...props} /> : <SidePanels {...props} />;
}

function SidePanels(props: PanelsProps) {
  const { name, left, leftTitle = "List", children, title, right, rightTitle = "Detail" } = props;
  const { rightOpen, onCloseRight } = props;
  const roomy = useBesideRoom();
  const { sizes, resize, reset, fold, folded } = useSizes(name);
  const beside = roomy && Boolean(right) && !folded.right;
  useHotkeys([
    ["[", () => left && fold("left")],
    ["]", () => right && fold("right")],
  ]);
  const divider = (side: Side) => (
    <Divider
      side={side}
      label={`Width of ${side === "left" ? leftTitle : rightTitle}`}
      size={sizes[side]}
      onResize={(px) => resize(side, px)}
      onReset={() => reset(side)}
    />
  );
  const style = {
    "--left": `${sizes.left}px`,
    "--right": `${sizes.right}px`,
  } as CSSProperties;
  return (
    <div className="panels" style={style}>
      {left && !folded.left && (
        <>
          <section className="panel panel-left" aria-label={leftTitle}>
            {left}
          </section>
          {divider("left")}
        </>
      )}
      <section className="panel panel-main" aria-label={title}>
        {children}
      </section>
      {beside && (
        <>
          {divider("right")}
          <section className="panel panel-right" aria-label={rightTitle}>
            {right}
          </section>
        </>
      )}
      {!roomy && (
        <Drawer
          opened={Boolean(right) && rightOpen}
          onClose={onCloseRight}
          position="right"
          size={460}
          title={rightTitle}
        >
          {right}
        </Drawer>
      )}
    </div>
  );
}

function TabPanels({ left, leftTitle = "List", children, title, right, rightTitle }: PanelsProps) {
  const [tab, setTab] = useState<string | null>("main");
  const tabs = [
    { value: "main", name: title, panel: children },
    ...(left ? [{ value: "left", name: leftTitle, panel: left }] : []),
    ...(right ? [{ value: "right", name: rightTitle ?? "Detail", panel: right }] : []),
  ];
  const shown = tabs.some(({ value }) => value === tab) ? tab : "main";
  return (
    <Tabs value={shown} onChange={setTab}>
      <Tabs.List>
        {tabs.map(({ value, name }) => (
          <Tabs.Tab key={value} value={value}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ value, panel }) => (
        <Tabs.Panel key={value} value={value} pt="sm">
          {panel}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
