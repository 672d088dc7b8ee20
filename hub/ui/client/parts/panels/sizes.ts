import { useCallback, useState } from "react";

export type Side = "left" | "right";

/** In pixels: what a panel is at first, and between what it may be. */
export const SIZES: Record<Side, { usual: number; least: number; most: number }> = {
  left: { usual: 280, least: 200, most: 480 },
  right: { usual: 380, least: 280, most: 720 },
};

export const within = (side: Side, px: number): number =>
  Math.round(Math.min(SIZES[side].most, Math.max(SIZES[side].least, px)));

interface Kept {
  left?: number;
  right?: number;
  folded?: Partial<Record<Side, boolean>>;
}

const keyOf = (name: string) => `flotilla-panels-${name}`;

function read(name: string): Kept {
  try {
    return JSON.parse(localStorage.getItem(keyOf(name)) ?? "{}") as Kept;
  } catch {
    return {};
  }
}

/**
 * Sizes of a page's panels and which are folded, kept in this browser.
 * @param usual of this page, where it differs
 */
export function useSizes(name: string, usual: Partial<Record<Side, number>> = {}) {
  const [kept, setKept] = useState(() => read(name));
  const keep = useCallback(
    (change: (before: Kept) => Kept) =>
      setKept((before) => {
        const next = change(before);
        localStorage.setItem(keyOf(name), JSON.stringify(next));
        return next;
      }),
    [name],
  );
  const usualOf = (side: Side) => usual[side] ?? SIZES[side].usual;
  const sizeOf = (side: Side) => {
    const px = kept[side];
    return typeof px === "number" ? within(side, px) : usualOf(side);
  };
  return {
    sizes: { left: sizeOf("left"), right: sizeOf("right") },
    folded: { left: kept.folded?.left === true, right: kept.folded?.right === true },
    resize: (side: Side, px: number) => keep((now) => ({ ...now, [side]: within(side, px) })),
    reset: (side: Side) => keep((now) => ({ ...now, [side]: usualOf(side) })),
    fold: (side: Side) =>
      keep((now) => ({ ...now, folded: { ...now.folded, [side]: now.folded?.[side] !== true } })),
  };
}
