import { Text } from "@mantine/core";
import { type ReactNode, useCallback, useMemo } from "react";
import type { TimedEvent } from "#shared/recording/events.ts";
import type { Recording } from "#shared/recording/record.ts";
import { Controls } from "./controls.tsx";
import { ExportMenu } from "./export-menu.tsx";
import { failureMs } from "./model/failure.ts";
import { actsOf, consoleOf, logOf, marksOf, unheardOf } from "./model/happenings.ts";
import type { KeyCommand } from "./model/keys.ts";
import { actAt, pageAt, stepFrom } from "./model/moment.ts";
import { JUMP_MS } from "./model/transport.ts";
import { Acts } from "./panels/acts.tsx";
import type { MomentRow } from "./panels/moment-list.tsx";
import { Panels } from "./panels/panels.tsx";
import { Scrubber } from "./scrubber.tsx";
import type { RecordingOf } from "./source.ts";
import { Stage } from "./stage.tsx";
import { useMomentInAddress, useMomentParam } from "./use-moment-param.ts";
import { usePlayerKeys } from "./use-player-keys.ts";
import { useScreens } from "./use-screens.ts";
import { useTransport } from "./use-transport.ts";

/** A line from elsewhere, at a time in epoch milliseconds or at a moment of the recording. */
export type TimedRow = Omit<MomentRow, "at_ms"> & ({ at: number } | { at_ms: number });

export interface PlayerProps {
  of: RecordingOf;
  info: Recording;
  events: readonly TimedEvent[];
  requests: readonly TimedRow[];
  no_requests: string;
  log: readonly TimedRow[];
  /** The screen of a run that goes on, shown at the right end. */
  live: ReactNode;
}

/** The rows in the time of the recording, which begins with its run. */
const inTime = (rows: readonly TimedRow[], started_at: string): MomentRow[] => {
  const began = Date.parse(started_at);
  return rows.map((row) => ({
    ...row,
    at_ms: "at" in row ? Math.max(0, row.at - began) : row.at_ms,
  }));
};

const byTime = (a: MomentRow, b: MomentRow): number => a.at_ms - b.at_ms;

/** A recording: its picture, what happened, and everything that goes back and forth in it. */
export function Player({ of, info, events, requests, no_requests, log, live }: PlayerProps) {
  const { ms: whole_ms, started_at, chunks } = info;
  const at_ms = useMomentParam(started_at);
  const pictures = chunks.length > 0;
  const [state, act] = useTransport({ whole_ms, live: info.state === "live", at_ms });
  const { readChunk, stills } = useScreens(of, chunks);
  const acts = useMemo(() => actsOf(events), [events]);
  const marks = useMemo(() => marksOf(events), [events]);
  const said = useMemo(() => consoleOf(events), [events]);
  const asked = useMemo(() => inTime(requests, started_at).sort(byTime), [requests, started_at]);
  const lines = useMemo(
    () => [...logOf(events), ...inTime(log, started_at)].sort(byTime),
    [events, log, started_at],
  );
  const seek = useCallback((ms: number) => act({ do: "seek", ms }), [act]);
  const { ms, following } = state;
  // Before the last event has come, a later one could be where it failed.
  const whole = info.state !== "live" && events.length >= info.events;
  const failure_ms = whole ? failureMs(events, acts, whole_ms) : null;
  useMomentInAddress(state, seek, failure_ms);
  const step = (by: 1 | -1) => {
    act({ do: "pause" });
    const next = stepFrom(acts, ms, by);
    if (next) seek(next.from_ms);
  };
  usePlayerKeys((command) => {
    runCommand(command, { step, seek, ms, whole_ms, toggle: () => act({ do: "toggle" }) });
  });
  const touched = actAt(acts, ms);
  const begun = acts.findLast(({ from_ms }) => from_ms <= ms) ?? null;
  return (
    <div className="player">
      <div className="player-main">
        <Place events={events} ms={ms} />
        <Stage
          chunks={chunks}
          readChunk={readChunk}
          ms={ms}
          box={touched?.box ?? null}
          boxTitle={touched?.name ?? ""}
          instead={following ? live : null}
          onPress={() => act({ do: "toggle" })}
        />
        <Scrubber
          {...{ ms, whole_ms: state.whole_ms, following, marks, pictures, stills }}
          onSeek={seek}
        />
        <Controls
          state={state}
          act={act}
          onStep={step}
          exports={<ExportMenu of={of} info={info} />}
          steps={{
            back: stepFrom(acts, ms, -1) !== null,
            on: stepFrom(acts, ms, 1) !== null,
          }}
        />
      </div>
      <Panels
        acts={
          <Acts
            {...{ acts, ms, pictures, stills }}
            now={touched ?? begun}
            whole_ms={state.whole_ms}
            onSeek={seek}
          />
        }
        act_count={acts.length}
        requests={asked}
        no_requests={no_requests}
        console={said}
        unheard={unheardOf(events)}
        log={lines}
        ms={ms}
        onSeek={seek}
      />
    </div>
  );
}

interface CommandDeps {
  step: (by: 1 | -1) => void;
  seek: (ms: number) => void;
  toggle: () => void;
  ms: number;
  whole_ms: number;
}

function runCommand(command: KeyCommand, { step, seek, toggle, ms, whole_ms }: CommandDeps): void {
  if (command.do === "toggle") toggle();
  if (command.do === "jump") seek(ms + command.by * JUMP_MS);
  if (command.do === "step") step(command.by);
  if (command.do === "begin") seek(0);
  if (command.do === "end") seek(whole_ms);
}

/** Where the page was at the moment. */
function Place({ events, ms }: { events: readonly TimedEvent[]; ms: number }) {
  const { url, tabs } = pageAt(events, ms);
  return (
    <Text size="sm" c="dimmed" truncate className="player-place" title={url ?? undefined}>
      {url ?? "No page is open yet"}
      {tabs > 1 && ` — ${tabs} tabs are open`}
    </Text>
  );
}
