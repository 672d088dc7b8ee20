import { ActionIcon, Button, SegmentedControl, Tooltip } from "@mantine/core";
import {
  IconBroadcast,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerSkipBack,
  IconPlayerSkipForward,
  IconPlayerTrackNext,
} from "@tabler/icons-react";
import type { ReactNode } from "react";
import { placeText, SPEEDS, type Transport } from "./model/transport.ts";
import type { TransportAction } from "./use-transport.ts";

interface ControlsProps {
  state: Transport;
  act: (action: TransportAction) => void;
  /** Whether there is an action before and behind this moment. */
  steps: { back: boolean; on: boolean };
  onStep: (by: 1 | -1) => void;
  /** Quiet time is skipped while it plays. */
  skipping: boolean;
  onSkipping: (skip: boolean) => void;
  /** At the end of the line. */
  children: ReactNode;
}

/** Play, speed, from action to action, and where we are. */
export function Controls(props: ControlsProps) {
  const { state, act, steps, onStep, skipping, onSkipping, children } = props;
  const { ms, whole_ms, playing, speed, following, live } = state;
  return (
    <div className="player-controls" role="group" aria-label="Player">
      <Step label="Action before" disabled={!steps.back} onClick={() => onStep(-1)}>
        <IconPlayerSkipBack size={16} stroke={1.75} />
      </Step>
      <ActionIcon
        variant="default"
        size="md"
        aria-label={playing ? "Pause" : "Play"}
        onClick={() => act({ do: "toggle" })}
      >
        {playing ? (
          <IconPlayerPause size={16} stroke={1.75} />
        ) : (
          <IconPlayerPlay size={16} stroke={1.75} />
        )}
      </ActionIcon>
      <Step label="Next action" disabled={!steps.on} onClick={() => onStep(1)}>
        <IconPlayerSkipForward size={16} stroke={1.75} />
      </Step>
      <span className="player-time">
        <b>{placeText(ms)}</b> / {placeText(whole_ms)}
      </span>
      <SegmentedControl
        aria-label="Speed"
        className="player-speeds"
        value={String(speed)}
        onChange={(value) => act({ do: "speed", speed: Number(value) })}
        data={SPEEDS.map((n) => ({ value: String(n), label: `${n === 0.5 ? "½" : n}×` }))}
      />
      <Button
        size="xs"
        variant={skipping ? "light" : "subtle"}
        color={skipping ? undefined : "gray"}
        className="player-quiet"
        aria-pressed={skipping}
        leftSection={<IconPlayerTrackNext size={14} />}
        onClick={() => onSkipping(!skipping)}
      >
        Skip quiet time
      </Button>
      {live && (
        <Button
          size="xs"
          variant={following ? "light" : "default"}
          aria-pressed={following}
          leftSection={<IconBroadcast size={14} />}
          onClick={() => act({ do: "seek", ms: whole_ms })}
        >
          Live
        </Button>
      )}
      <span className="player-end">{children}</span>
    </div>
  );
}

interface StepProps {
  label: string;
  disabled: boolean;
  onClick: () => void;
  children: ReactNode;
}

function Step({ label, disabled, onClick, children }: StepProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="md"
        aria-label={label}
        disabled={disabled}
        onClick={onClick}
      >
        {children}
      </ActionIcon>
    </Tooltip>
  );
}
