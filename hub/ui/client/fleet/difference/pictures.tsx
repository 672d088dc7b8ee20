import { Anchor, Checkbox, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { shareText } from "#shared/kit/words.ts";
import type { JobComparison, PictureCompared } from "#shared/protocol/schema/comparison.ts";
import { countText } from "../../lib/units.ts";

type Side = PictureCompared["before"];

const percent = (part: number, whole: number): string => `${(100 * part) / whole}%`;

function noteOf({ picture, picture_missing }: JobComparison["page"]): string {
  if (picture === null) return `Not compared, because ${picture_missing ?? "there is none"}.`;
  const { ratio, boxes } = picture;
  if (ratio === 0) return "The pictures look the same.";
  const places = boxes.length === 1 ? "one place" : `${countText(boxes.length)} places`;
  return `${shareText(ratio)} of the picture differs, in ${places}.`;
}

/** Both pictures have the same scale, and what differs is framed at the same place of each. */
function Picture(props: { name: string; side: Side; widest: number; boxes: Box[] }) {
  const { name, side, widest, boxes } = props;
  const { href, width, height } = side;
  return (
    <figure className="picture-side">
      <Text component="figcaption" size="sm" mb={4}>
        {name === "before" ? "Before" : "After"},{" "}
        <Anchor href={href} target="_blank" rel="noreferrer" size="sm" underline="always">
          {width} × {height} pixels
        </Anchor>
      </Text>
      <div className="picture-window" role="region" aria-label={`Picture ${name}`} tabIndex={0}>
        <div className="picture-whole" style={{ width: percent(width, widest) }}>
          <img
            className="picture-shot"
            src={href}
            alt={`The page ${name}`}
            width={width}
            height={height}
          />
          {boxes
            .filter(({ x, y }) => x < width && y < height)
            .map((box) => (
              <i
                className="picture-frame"
                key={`${box.x} ${box.y} ${box.width}`}
                style={{
                  left: percent(box.x, width),
                  top: percent(box.y, height),
                  width: percent(box.width, width),
                  height: percent(box.height, height),
                }}
              />
            ))}
        </div>
      </div>
    </figure>
  );
}

type Box = PictureCompared["boxes"][number];

/** The pages as they were at the end of both jobs (rules/comparison#picture). */
export function Pictures({ page }: { page: JobComparison["page"] }) {
  const [framed, setFramed] = useState(true);
  const { picture } = page;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Picture
      </Title>
      <Text size="sm" className="wrap">
        {noteOf(page)}
      </Text>
      {picture && picture.boxes.length > 0 && (
        <Checkbox
          label="Frame what differs"
          checked={framed}
          onChange={(event) => setFramed(event.currentTarget.checked)}
        />
      )}
      {picture && (
        <div className="picture-pair">
          {(["before", "after"] as const).map((name) => (
            <Picture
              key={name}
              name={name}
              side={picture[name]}
              widest={Math.max(picture.before.width, picture.after.width)}
              boxes={framed ? picture.boxes : []}
            />
          ))}
        </div>
      )}
    </Stack>
  );
}
