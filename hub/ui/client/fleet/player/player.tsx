import { useElementSize } from "@mantine/hooks";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { TimedEvent } from "#shared/recording/events.ts";
import type { Recording } from "#shared/recording/record.ts";
import { useFilters } from "../../lib/filters.ts";
import { Controls } from "./controls.tsx";
import { ExportMenu } from "./export-menu.tsx";
import { useFrames } from "./film-strip.tsx";
import { KeysList } from "./keys-list.tsx";
import { PlayerLayout } from "./layout.tsx";
import { Legend } from "./legend.tsx";
import { nextError } from "./model/failure.ts";
import { consoleOf, logOf, unheardOf } from "./model/happenings.ts";
import type { KeyCommand } from "./model/keys.ts";
import { actAt, beforeAndAfter, pageAt, stepFrom } from "./model/moment.ts";
import { isIn, type TimedStage } from "./model/story.ts";
import { NUDGE_MS } from "./model/transport.ts";
import { copyMoment, tellMoment } from "./moment-link.ts";
import { NowBar, placeIn } from "./now-bar.tsx";
import type { MomentRow } from "./panels/moment-list.tsx";
import { Requests } from "./panels/requests.tsx";
import { Said } from "./panels/said.tsx";
import { RangeChip, type SidePanel } from "./panels/side.tsx";
import { Story } from "./panels/story.tsx";
import { Scrubber } from "./scrubber.tsx";
import type { RecordingOf } from "./source.ts";
import { Stage } from "./stage.tsx";
import { type PlayerState, usePlayer } from "./use-player.ts";
import { usePlayerKeys } from "./use-player-keys.ts";
import { useScreens } from "./use-screens.ts";

/** A line from elsewhere, at a time in epoch milliseconds or at a moment of the recording. */
export type TimedRow = Omit<MomentRow, "at_ms"> & ({ at: number } | { at_ms: number });

/** What the page around the player adds to it; a page without any of it has a player all the same. */
export interface PlayerExtras {
  /** The stages of the run. */
  stages?: readonly TimedStage[];
  /** Panels behind those of the player. */
  panels?: readonly SidePanel[];
  /** In place of the picture where there is none. */
  still?: ReactNode;
  /** In place of the last picture of a film that was over before the page was drawn. */
  atEnd?: ReactNode;
  /** Where its page was at first and at the end, for moments that no event tells of. */
  pages?: { first: string; last: string };
  /** Whether the run leaves a Playwright trace. */
  trace?: boolean;
  /** What can be done from a moment on. @param url where the page was */
  fromHere?: (url: string | null) => ReactNode;
  /** Below what happened. */
  storyFoot?: ReactNode;
  /** Beside the number of log lines. */
  logNote?: ReactNode;
}

export interface PlayerProps extends PlayerExtras {
  of: RecordingOf;
  info: Recording;
  events: readonly TimedEvent[];
  requests: readonly TimedRow[];
  no_requests: string;
  log: readonly TimedRow[];
  /** The screen of a run that goes on, shown at the right end. */
  live: ReactNode;
  /** Nothing of it was recorded: it has neither film nor exports. */
  bare?: boolean;
}

const NO_STAGES: readonly TimedStage[] = [];
/** Panel names used in older addresses. */
const FORMER: Record<string, string> = { har: "requests", overview: "details" };

/** The rows in the time of the recording, which begins with its run. */
const inTime = (rows: readonly TimedRow[], began: number): MomentRow[] =>
  rows.map((row) => ({ ...row, at_ms: "at" in row ? Math.max(0, row.at - began) : row.at_ms }));

const byTime = (a: MomentRow, b: MomentRow): number => a.at_ms - b.at_ms;

/** A recording: its picture, what happened, and everything that goes back and forth in it. */
export function Player(props: PlayerProps) {
  const { of, info, events, live, bare = false, still = null, fromHere, storyFoot } = props;
  const player = usePlayer({ info, events, stages: props.stages ?? NO_STAGES });
  const { state, act, acts, marks, story, seek } = player;
  const { ms, following } = state;
  const [filters, setFilters] = useFilters({ tab: "" });
  const { readChunk, stills } = useScreens(of, info.chunks);
  const { ref: strip, width } = useElementSize();
  const frames = useFrames(info.chunks.length > 0, state.whole_ms, width);
  const [keys, setKeys] = useState(false);
  const panels = usePanels(props, player);
  const turnTo = (tab: string) => setFilters({ tab });
  const touched = actAt(acts, ms);
  const now = touched ?? acts.findLast(({ from_ms }) => from_ms <= ms) ?? null;
  const pair = now
    ? beforeAndAfter(acts, now, state.whole_ms)
    : { before_ms: 0, after_ms: state.whole_ms };
  useShared(following ? null : ms);
  usePlayerKeys((command) => {
    runCommand(command, {
      player,
      frames,
      onPanel: (n) => panels[n - 1] && turnTo(panels[n - 1]?.name ?? ""),
      onPair: () => now && seek(placeIn(ms, pair) === "after" ? pair.before_ms : pair.after_ms),
      onKeys: () => setKeys(!keys),
    });
  });
  const told = pageAt(events, ms);
  const untold = bare ? props.pages?.last : props.pages?.first;
  const page = { url: told.url ?? untold ?? null, tabs: told.tabs };
  return (
    <PlayerLayout
      count={acts.length}
      panels={panels}
      panel={FORMER[filters.tab] ?? filters.tab}
      onPanel={turnTo}
      story={
        <Story
          story={story}
          count={acts.length}
          now={now}
          began={player.began}
          foot={storyFoot}
          chosen={player.chosen?.key ?? null}
          onAct={player.chooseAct}
          onStage={player.chooseStage}
        />
      }
      picture={
        <div className="player-main">
          <Stage
            chunks={info.chunks}
            readChunk={readChunk}
            ms={ms}
            page={page}
            still={still}
            box={touched?.box ?? null}
            boxTitle={touched ? touched.target || touched.title : ""}
            instead={following ? live : null}
            undrawn={!following && ms >= state.whole_ms ? (props.atEnd ?? null) : null}
            onPress={() => act({ do: "toggle" })}
          />
          {!following && (
            <NowBar act={now} pair={pair} ms={ms} onSeek={seek}>
              {fromHere?.(page.url)}
            </NowBar>
          )}
        </div>
      }
      strip={(more) => (
        <div className="player-strip" ref={strip}>
          <Controls
            state={state}
            act={act}
            skipping={player.skipping}
            onSkipping={player.setSkipping}
            onStep={player.step}
            steps={{ back: stepFrom(acts, ms, -1) !== null, on: stepFrom(acts, ms, 1) !== null }}
          >
            <Legend />
            {!bare && <ExportMenu of={of} info={info} trace={props.trace ?? false} />}
            <KeysList opened={keys} onChange={setKeys} />
            {more}
          </Controls>
          <Scrubber
            ms={ms}
            following={following}
            marks={marks}
            frames={frames}
            stills={stills}
            stages={story.stages}
            whole_ms={state.whole_ms}
            onSeek={seek}
          />
        </div>
      )}
    />
  );
}

/** Says to the rest of the page where the player is. */
function useShared(ms: number | null): void {
  const at = useRef(ms);
  useEffect(() => {
    at.current = ms;
  });
  useEffect(() => tellMoment(() => at.current), []);
}

/** The player's own panels, for the chosen time, and those of the page. */
function usePanels(props: PlayerProps, player: PlayerState): readonly SidePanel[] {
  const { events, requests, no_requests, log, of, panels: more = [], logNote } = props;
  const { began, chosen, clear, seek, state } = player;
  const said = useMemo(() => consoleOf(events), [events]);
  const unheard = useMemo(() => unheardOf(events), [events]);
  const asked = useMemo(() => inTime(requests, began).sort(byTime), [requests, began]);
  const lines = useMemo(() => {
    // The recording has the lines of the job's own log as well: of the two, that one says more.
    const heard = log.length > 0 ? events.filter(({ type }) => type !== "stage") : events;
    return [...logOf(heard), ...inTime(log, began)].sort(byTime);
  }, [events, log, began]);
  const within = <T extends MomentRow>(rows: readonly T[]): readonly T[] =>
    chosen === null ? rows : rows.filter(({ at_ms }) => isIn(chosen, at_ms));
  const chip = <RangeChip range={chosen} onClear={clear} />;
  const common = { ms: state.ms, onSeek: seek, chip };
  const shown = { requests: within(asked), console: within(said), log: within(lines) };
  return [
    {
      name: "requests",
      title: "Requests",
      count: shown.requests.length,
      show: (
        <Requests
          {...common}
          rows={shown.requests}
          all={asked.length}
          empty={chosen === null ? no_requests : "The page requested nothing in this time."}
          whole_ms={state.whole_ms}
          job_id={of.kind === "job" ? of.id : null}
        />
      ),
    },
    {
      name: "console",
      title: "Console",
      count: shown.console.length,
      bad: shown.console.some(({ level }) => level === "error"),
      show: (
        <Said {...common} label="Console" rows={shown.console} empty={noConsoleText(unheard)} />
      ),
    },
    {
      name: "log",
      title: "Log",
      show: (
        <Said
          {...common}
          label="Log"
          rows={shown.log}
          empty="Nothing has happened in this time."
          note={logNote}
        />
      ),
    },
    ...more,
  ];
}

const noConsoleText = (unheard: readonly string[]): string =>
  unheard.length === 0
    ? "The page said nothing."
    : `Nothing was heard. This run cannot hear ${unheard.join(", ")} without its page noticing.`;

interface CommandDeps {
  player: PlayerState;
  frames: readonly number[];
  onPanel: (n: number) => void;
  onPair: () => void;
  onKeys: () => void;
}

/** Moments that are nearer than this count as the same picture. */
const SAME_MS = 1;

function frameFrom(frames: readonly number[], ms: number, by: 1 | -1): number | null {
  const ahead =
    by > 0 ? frames.find((at) => at > ms + SAME_MS) : frames.findLast((at) => at < ms - SAME_MS);
  return ahead ?? null;
}

function runCommand(command: KeyCommand, deps: CommandDeps): void {
  const { player, frames, onPanel, onPair, onKeys } = deps;
  const { state, act, seek, step, errors } = player;
  const goTo = (ms: number | null) => {
    act({ do: "pause" });
    if (ms !== null) seek(ms);
  };
  switch (command.do) {
    case "toggle":
      act({ do: "toggle" });
      break;
    case "step":
      step(command.by);
      break;
    case "frame":
      goTo(frameFrom(frames, state.ms, command.by));
      break;
    case "nudge":
      goTo(state.ms + command.by * NUDGE_MS);
      break;
    case "error":
      goTo(nextError(errors, state.ms));
      break;
    case "begin":
      seek(0);
      break;
    case "end":
      seek(state.whole_ms);
      break;
    case "panel":
      onPanel(command.n);
      break;
    case "pair":
      onPair();
      break;
    case "fill":
      fillScreen();
      break;
    case "copy":
      void copyMoment();
      break;
    case "keys":
      onKeys();
  }
}

function fillScreen(): void {
  if (document.fullscreenElement) void document.exitFullscreen();
  else
    void document
      .querySelector(".player-stage")
      ?.requestFullscreen()
      .catch(() => {});
}
