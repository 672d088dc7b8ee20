import { Drawer } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import type { CSSProperties, ReactNode } from "react";
import { useBesideRoom } from "./beside/use-beside-room.ts";
import { Divider } from "./panels/divider.tsx";
import { type Side, useSizes } from "./panels/sizes.ts";

interface PanelsProps {
  /** Under which the sizes are kept: the page's name. */
  name: string;
  /** Timeline. */
  left: ReactNode;
  leftTitle: string;
  /** What is looked at; as wide as it gets. */
  children: ReactNode;
  title: string;
  /** The detail. */
  right: ReactNode;
  rightTitle: string;
  /** Whether the right one is open where it is a drawer. */
  rightOpen: boolean;
  /** Closes the drawer. */
  onCloseRight: () => void;
}

/**
 * Three panels side by side. Dividers drag, a double click on one resets it, sizes are kept for the page, `[` and `]` fold the
 * sides. Below 1100 px the right one is a drawer.
 */
export function Panels(props: PanelsProps) {
  const { name, left, leftTitle, children, title, right, rightTitle } = props;
  const { rightOpen, onCloseRight } = props;
  const roomy = useBesideRoom();
  const { sizes, resize, reset, fold, folded } = useSizes(name);
  const beside = roomy && !folded.right;
  useHotkeys([
    ["[", () => fold("left")],
    ["]", () => fold("right")],
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
      {!folded.left && (
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
          opened={rightOpen}
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
