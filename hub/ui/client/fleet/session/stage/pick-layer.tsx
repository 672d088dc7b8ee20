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
  if (!frame || (!on && picked === null)) return null;
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
        const { left, top } = currentTarget.getBoundingClientRect();
        if (on) picker.point(toPicture(frame, clientX - left, clientY - top));
      }}
      onClick={() => on && (chosen ? picker.start() : picker.choose())}
    >
      {boxes.map((box, i) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: boxes are a list of places
          key={i}
          className="pick-box"
          style={onStage(frame, box)}
        />
      ))}
      {element && (
        <span className="pick-box" data-main style={onStage(frame, element.box)}>
          <b>
            {label} {selector && `· ${matchesText(selector.matches)}`}
          </b>
        </span>
      )}
    </div>
  );
}
