import { useCallback, useMemo, useState } from "react";
import type { TimedEvent } from "#shared/recording/events.ts";
import type { Recording } from "#shared/recording/record.ts";
import { errorMoments, failureMs } from "./model/failure.ts";
import { type Act, actsOf, marksOf } from "./model/happenings.ts";
import { actAt, stepFrom } from "./model/moment.ts";
import {
  isIn,
  type Range,
  rangeOf,
  type StoryStage,
  storyOf,
  type TimedStage,
} from "./model/story.ts";
import { useMomentInAddress, useMomentParam } from "./use-moment-param.ts";
import { useOpening } from "./use-opening.ts";
import { usePlaying, useTransport } from "./use-transport.ts";

interface Given {
  info: Recording;
  events: readonly TimedEvent[];
  stages: readonly TimedStage[];
}

/** What was chosen in the list of what happened. */
interface Chosen extends Range {
  key: string;
}

const NONE: readonly TimedStage[] = [];

/** Where a player is, what happened, and what was chosen of it. */
export function usePlayer({ info, events, stages = NONE }: Given) {
  const { ms: whole_ms, started_at } = info;
  const began = Date.parse(started_at);
  const at_ms = useMomentParam(started_at);
  const live = info.state === "live";
  const [state, act] = useTransport({ whole_ms, live, at_ms });
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [skipping, setSkipping] = useState(false);
  const acts = useMemo(() => actsOf(events), [events]);
  const marks = useMemo(() => marksOf(events), [events]);
  const errors = useMemo(() => errorMoments(events, acts), [events, acts]);
  const story = useMemo(() => storyOf(stages, acts, began), [stages, acts, began]);
  const busy = useMemo(() => marks.map((mark) => mark.at_ms).sort((a, b) => a - b), [marks]);
  usePlaying(state, act, skipping ? busy : null);
  const seek = useCallback(
    (ms: number) => {
      act({ do: "seek", ms });
      // What was chosen is left with its time.
      setChosen((now) => (now && isIn(now, ms) ? now : null));
    },
    [act],
  );
  // Before the last event has come, a later one could be where it failed.
  const whole = !live && events.length >= info.events;
  const open = useCallback(
    (ms: number) => {
      seek(ms);
      const failed = acts.find((one) => one.failed && actAt(acts, ms) === one);
      if (failed) setChosen({ key: failed.key, ...rangeOf(failed.from_ms, failed.at_ms) });
    },
    [acts, seek],
  );
  const opening_ms = useOpening({
    asked: at_ms !== null || new URLSearchParams(location.search).has("t"),
    live,
    at_ms: whole ? (errors[0] ?? whole_ms) : null,
    ms: state.ms,
    whole_ms,
    onSeek: open,
  });
  useMomentInAddress(state, open, {
    failure_ms: whole ? failureMs(events, acts, whole_ms) : null,
    opening_ms,
  });
  const choose = (of: { key: string; from_ms: number }, until_ms: number) => {
    act({ do: "pause" });
    act({ do: "seek", ms: of.from_ms });
    setChosen({ key: of.key, ...rangeOf(of.from_ms, until_ms) });
  };
  const chooseAct = (one: Act) => choose(one, one.at_ms);
  return {
    state,
    act,
    acts,
    marks,
    errors,
    story,
    began,
    seek,
    skipping,
    setSkipping,
    chosen,
    clear: () => setChosen(null),
    chooseAct,
    chooseStage: (stage: StoryStage) => choose(stage, stage.until_ms ?? state.whole_ms),
    step: (by: 1 | -1) => {
      const next = stepFrom(acts, state.ms, by);
      if (next) chooseAct(next);
    },
  };
}

export type PlayerState = ReturnType<typeof usePlayer>;
