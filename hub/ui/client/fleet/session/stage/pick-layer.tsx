import type { RefObject } from "react";
import { onStage, pictureIn, toPicture } from "./picture.ts";
import type { Picker } from "./use-picker.ts";

interface PickLayerProps {
  viewer: RefObject<HTMLIFrameElement | null>;
  picker: Picker;
}

const matchesText = (count: number): string => (count === 1 ? "1 match" : `${count} matches`);

/** Over the picture: what is under the pointer, or was chosen, and what its selector matches. */
export function PickLayer({ viewer, picker }: PickLayerProps) {
  const { on, picked, chosen, shown } = picker;
  const frame = pictureIn(viewer.current);
  if (!on && picked === null) return null;
  const selector = picked?.selectors[shown];
  const { element } = picked ?? {};
  const label = element ? `${element.role ?? element.tag} “${element.name}”` : "";
  const boxes = selector?.boxes ?? [];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what is picked is told in the panel beside it
    <div
      className="pick-layer"
      data-on={on || undefined}
      role="presentation"
      onPointerMove={({ clientX, clientY, currentTarget }) => {
        // Where the picture is now: it may have come, or changed its size, since this was drawn.
        const now = pictureIn(viewer.current);
        const { left, top } = currentTarget.getBoundingClientRect();
        if (on && now) picker.point(toPicture(now, clientX - left, clientY - top));
      }}
      onClick={() => on && (chosen ? picker.start() : picker.choose())}
    >
      {frame &&
        boxes.map((box, i) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: boxes are a list of places
            key={i}
            className="pick-box"
            style={onStage(frame, box)}
          />
        ))}
      {frame && element && (
        <span className="pick-box" data-main style={onStage(frame, element.box)}>
          <b>
            {label} {selector && `· ${matchesText(selector.matches)}`}
          </b>
        </span>
      )}
    </div>
  );
}
