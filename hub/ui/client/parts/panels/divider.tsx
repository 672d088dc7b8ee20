import type { KeyboardEvent, PointerEvent } from "react";
import { SIZES, type Side } from "./sizes.ts";

/** How far an arrow key moves it. */
const STEP_PX = 16;

interface DividerProps {
  side: Side;
  label: string;
  size: number;
  onResize: (px: number) => void;
  onReset: () => void;
}

/** Between two panels: drags, and moves with the arrow keys; a double click gives the panel its usual size. */
export function Divider({ side, label, size, onResize, onReset }: DividerProps) {
  const grows = side === "left" ? 1 : -1;
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    const { currentTarget: handle, clientX: from, pointerId } = event;
    event.preventDefault();
    handle.setPointerCapture(pointerId);
    const move = ({ clientX }: { clientX: number }) => onResize(size + grows * (clientX - from));
    const end = () => {
      handle.removeEventListener("pointermove", move);
      handle.removeEventListener("pointerup", end);
      handle.removeEventListener("pointercancel", end);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    onResize(size + grows * way * STEP_PX);
  };
  return (
    <div
      className="divider"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={size}
      aria-valuemin={SIZES[side].least}
      aria-valuemax={SIZES[side].most}
      title="Drag, or double-click for the usual width"
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
      onDoubleClick={onReset}
    />
  );
}
