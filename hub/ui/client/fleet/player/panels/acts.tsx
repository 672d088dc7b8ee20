import { Text } from "@mantine/core";
import { useMemo } from "react";
import { Still } from "../film-strip.tsx";
import { type Act, tookText } from "../model/happenings.ts";
import { beforeAndAfter } from "../model/moment.ts";
import type { Stills } from "../screen/stills.ts";
import { MomentList, type MomentRow } from "./moment-list.tsx";

interface ActsProps {
  acts: readonly Act[];
  /** The one that the moment belongs to. */
  now: Act | null;
  ms: number;
  whole_ms: number;
  /** Whether there are pictures. */
  pictures: boolean;
  stills: Stills | null;
  onSeek: (ms: number) => void;
}

/** Everything that was done to the page, with the page before and after it. */
export function Acts({ acts, now, ms, whole_ms, pictures, stills, onSeek }: ActsProps) {
  const rows = useMemo(() => rowsOf(acts), [acts]);
  return (
    <>
      {now && (
        <ActDetail
          act={now}
          {...beforeAndAfter(acts, now, whole_ms)}
          pictures={pictures}
          stills={stills}
          onSeek={onSeek}
        />
      )}
      <MomentList
        label="Actions"
        rows={rows}
        ms={ms}
        onSeek={onSeek}
        empty="Nothing was done by the API, a script or a recipe."
      />
    </>
  );
}

/** In the order in which they began, because a row leads to the page before it. */
const rowsOf = (acts: readonly Act[]): MomentRow[] =>
  acts
    .map((act) => ({
      key: act.key,
      at_ms: act.from_ms,
      name: act.name,
      text: act.detail,
      level: act.failed ? "error" : "info",
      note: tookText(act),
    }))
    .sort((a, b) => a.at_ms - b.at_ms);

interface ActDetailProps {
  act: Act;
  before_ms: number;
  after_ms: number;
  /** Whether there are pictures. */
  pictures: boolean;
  stills: Stills | null;
  onSeek: (ms: number) => void;
}

const PICTURE_PX = 320;

function ActDetail({ act, before_ms, after_ms, pictures, stills, onSeek }: ActDetailProps) {
  const moments = [
    { title: "Before", ms: before_ms },
    { title: "After", ms: after_ms },
  ];
  return (
    <div className="player-act" data-failed={act.failed || undefined}>
      <Text size="sm" fw={600} span>
        {act.name}
      </Text>{" "}
      <Text size="sm" span className="wrap">
        {act.detail}
      </Text>
      {pictures && (
        <div className="player-pair">
          {moments.map(({ title, ms }) => (
            <button key={title} type="button" onClick={() => onSeek(ms)}>
              <Still
                ms={ms}
                width={PICTURE_PX}
                stills={stills}
                soon
                alt={`The page ${title.toLowerCase()} ${act.name}`}
              />
              <span>{title}</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
