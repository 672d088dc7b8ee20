import { Button, Group, Select, Slider, Text } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { clockText, dayText } from "../../lib/units.ts";

export const MINUTE_MS = 60_000;
/** Ranges in minutes; the control plane keeps the last (rules/pipeline-views#flow-rates). */
const RANGES = [
  { value: "60", label: "1 hour" },
  { value: "360", label: "6 hours" },
  { value: "1440", label: "1 day" },
  { value: "2880", label: "2 days" },
];
/** How long a minute of the past takes when it is played. */
const STEP_MS = 600;

const minuteText = (at: number): string => {
  const date = new Date(at);
  return `${dayText(date)}, ${clockText(date)}`;
};

interface ScrubberProps {
  range_min: number;
  /** Beginning of the last whole minute, epoch ms. */
  last: number;
  /** The minute that is shown, epoch ms; null is now. */
  at: number | null;
  onRange: (minutes: number) => void;
  onGo: (at: number | null) => void;
}

/** Goes back in time by minutes, and plays them. */
export function Scrubber({ range_min, last, at, onRange, onGo }: ScrubberProps) {
  const [playing, setPlaying] = useState(false);
  const first = last - (range_min - 1) * MINUTE_MS;
  const end = Math.round((last - first) / MINUTE_MS) + 1;
  const index = at === null ? end : Math.max(0, Math.round((at - first) / MINUTE_MS));
  const go = (to: number) => onGo(to >= end ? null : first + to * MINUTE_MS);
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => {
      if (index + 1 >= end) setPlaying(false);
      go(index + 1);
    }, STEP_MS);
    return () => clearTimeout(timer);
  });
  const play = () => {
    // From now there is nothing to play: it begins at the start of the range.
    if (!playing && at === null) go(0);
    setPlaying(!playing);
  };
  return (
    <Group gap="sm" wrap="wrap" mb="sm" role="group" aria-label="Time">
      <Button
        size="xs"
        variant="default"
        leftSection={playing ? <IconPlayerPause size={14} /> : <IconPlayerPlay size={14} />}
        onClick={play}
      >
        {playing ? "Pause" : "Play"}
      </Button>
      <Slider
        flex={1}
        miw={140}
        min={0}
        max={end}
        value={index}
        onChange={(to) => {
          setPlaying(false);
          go(to);
        }}
        label={null}
        thumbLabel="Shown minute"
        thumbProps={{
          "aria-valuetext": at === null ? "now" : minuteText(at),
        }}
      />
      <Text size="sm" className="nums" w={{ base: "100%", xs: 180 }}>
        {at === null ? "Now" : minuteText(at)}
      </Text>
      <Button size="xs" variant="default" disabled={at === null} onClick={() => onGo(null)}>
        To now
      </Button>
      <Select
        size="xs"
        w={100}
        aria-label="Range of time"
        data={RANGES}
        value={String(range_min)}
        onChange={(value) => value && onRange(Number(value))}
        allowDeselect={false}
      />
    </Group>
  );
}
