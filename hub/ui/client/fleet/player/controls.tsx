import { ActionIcon, Badge, Button, Group, Select, Text, Tooltip } from "@mantine/core";
import {
  IconLink,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerTrackNext,
  IconPlayerTrackPrev,
} from "@tabler/icons-react";
import { withQuery } from "../../lib/http.ts";
import { Copy } from "../../parts/copy.tsx";
import { momentParam, placeText, SPEEDS, type Transport } from "./model/transport.ts";
import type { TransportAction } from "./use-transport.ts";

interface ControlsProps {
  state: Transport;
  act: (action: TransportAction) => void;
  /** Whether there is an action before and behind this moment. */
  steps: { back: boolean; on: boolean };
  onStep: (by: 1 | -1) => void;
  /** What the recording can be saved as. */
  exports: React.ReactNode;
}

/** Play, speed, from action to action, and where we are. */
export function Controls({ state, act, steps, onStep, exports }: ControlsProps) {
  const { ms, whole_ms, playing, speed, following, live } = state;
  return (
    <Group gap="xs" role="group" aria-label="Player">
      <Button
        size="xs"
        w={92}
        leftSection={playing ? <IconPlayerPause size={14} /> : <IconPlayerPlay size={14} />}
        onClick={() => act({ do: "toggle" })}
      >
        {playing ? "Pause" : "Play"}
      </Button>
      <Step label="Action before" disabled={!steps.back} onClick={() => onStep(-1)}>
        <IconPlayerTrackPrev size={14} />
      </Step>
      <Step label="Next action" disabled={!steps.on} onClick={() => onStep(1)}>
        <IconPlayerTrackNext size={14} />
      </Step>
      <Select
        size="xs"
        w={80}
        aria-label="Speed"
        allowDeselect={false}
        data={SPEEDS.map((n) => ({ value: String(n), label: `${n}×` }))}
        value={String(speed)}
        onChange={(value) => value && act({ do: "speed", speed: Number(value) })}
      />
      <Text size="sm" className="nums player-time">
        {placeText(ms)} / {placeText(whole_ms)}
      </Text>
      {live &&
        (following ? (
          <Badge color="red" variant="light" className="status">
            live
          </Badge>
        ) : (
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => act({ do: "seek", ms: whole_ms })}
          >
            To live
          </Button>
        ))}
      <Copy
        variant="default"
        icon={IconLink}
        label="Copy a link to this moment"
        text={linkTo(following ? null : ms)}
      />
      {exports}
    </Group>
  );
}

/** The address of this page at a moment, whatever else it shows. */
function linkTo(ms: number | null): string {
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const t = ms === null ? undefined : momentParam(ms);
  return location.origin + withQuery(location.pathname, { ...query, t });
}

interface StepProps {
  label: string;
  disabled: boolean;
  onClick: () => void;
  children: React.ReactNode;
}

function Step({ label, disabled, onClick, children }: StepProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="default"
        size={30}
        aria-label={label}
        disabled={disabled}
        onClick={onClick}
      >
        {children}
      </ActionIcon>
    </Tooltip>
  );
}
