import {
  type Icon,
  IconAlertTriangle,
  IconChevronDown,
  IconChevronRight,
  IconCircleCheck,
  IconCircleX,
  IconLoader2,
} from "@tabler/icons-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { counted } from "#shared/kit/words.ts";
import { useNow } from "../../../lib/now.ts";
import { durationText } from "../../../lib/units.ts";
import { ActIcon } from "../act-icon.tsx";
import { type Act, tookText } from "../model/happenings.ts";
import type { StoryStage, Story as Told } from "../model/story.ts";
import { placeText } from "../model/transport.ts";

interface StoryProps {
  story: Told;
  /** How many acts there are. */
  count: number;
  /** The act of the moment. */
  now: Act | null;
  /** Key of the stage or act that was chosen. */
  chosen: string | null;
  onAct: (act: Act) => void;
  onStage: (stage: StoryStage) => void;
  /** When the run began, for what still goes on. */
  began: number;
  /** Below the list. */
  foot?: ReactNode;
}

/** More acts are folded away, but for those of a stage that failed. */
const MANY = 60;

/** What happened: the stages in order, and in them what was done. */
export function Story(props: StoryProps) {
  const { story, count, now, chosen, onAct, onStage, began, foot } = props;
  const [turned, setTurned] = useState<Record<string, boolean>>({});
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (now !== null) keepInView(list.current);
  }, [now]);
  const row = (act: Act) => (
    <ActRow key={act.key} act={act} now={now} chosen={chosen} onOpen={() => onAct(act)} />
  );
  return (
    <div className="player-story">
      <header className="player-side-head">
        <h2>What happened</h2>
        <span>{counted(count, "action")}</span>
      </header>
      <ol ref={list} aria-label="Actions" tabIndex={-1}>
        {story.loose.map(row)}
        {story.stages.map((stage) => {
          const own = stage.acts.some(({ key }) => key === now?.key);
          const usual = count <= MANY || stage.tone === "bad" || own;
          const open = turned[stage.key] ?? usual;
          return [
            <StageRow
              key={stage.key}
              stage={stage}
              open={open}
              began={began}
              chosen={chosen === stage.key}
              onOpen={() => onStage(stage)}
              onFold={() => setTurned({ ...turned, [stage.key]: !open })}
            />,
            ...(open ? stage.acts.map(row) : []),
          ];
        })}
        {story.stages.length === 0 && story.loose.length === 0 && (
          <li className="player-none">Nothing was done by the API, a script or a recipe.</li>
        )}
      </ol>
      {foot && <footer>{foot}</footer>}
    </div>
  );
}

/** The row of the moment, by the list's own scroll bar: a page that scrolled with it would run away from who reads it. */
function keepInView(list: HTMLElement | null): void {
  const row = list?.querySelector<HTMLElement>("[data-now]");
  if (!list || !row) return;
  const [box, own] = [row.getBoundingClientRect(), list.getBoundingClientRect()];
  if (box.top < own.top) list.scrollTop -= own.top - box.top;
  else if (box.bottom > own.bottom) list.scrollTop += box.bottom - own.bottom;
}

const ICONS: Record<StoryStage["tone"], Icon> = {
  ok: IconCircleCheck,
  warn: IconAlertTriangle,
  bad: IconCircleX,
  live: IconLoader2,
};
const WORDS = { ok: "", warn: "With a warning", bad: "Failed", live: "Goes on" };

interface StageRowProps {
  stage: StoryStage;
  open: boolean;
  began: number;
  chosen: boolean;
  onOpen: () => void;
  onFold: () => void;
}

function StageRow({ stage, open, began, chosen, onOpen, onFold }: StageRowProps) {
  const { title, tone, took_ms, said, acts } = stage;
  const Mark = ICONS[tone];
  const Fold = open ? IconChevronDown : IconChevronRight;
  return (
    <li className="player-stage-row" data-tone={tone} data-chosen={chosen || undefined}>
      <button type="button" className="player-story-main" onClick={onOpen} title={said}>
        <Mark size={15} stroke={2} role="img" aria-label={WORDS[tone] || "Done"} />
        <span className="player-story-text">
          <b>{title}</b>
          {tone !== "ok" && said && <span className="player-story-said">{said}</span>}
        </span>
        <span className="player-story-took">
          {took_ms === null ? <Going since={began + stage.from_ms} /> : durationText(took_ms)}
        </span>
      </button>
      {acts.length > 0 && (
        <button
          type="button"
          className="player-fold"
          aria-expanded={open}
          aria-label={`${open ? "Hide" : "Show"} the actions of ${title}`}
          onClick={onFold}
        >
          <Fold size={14} aria-hidden />
        </button>
      )}
    </li>
  );
}

const Going = ({ since }: { since: number }) => <>{durationText(Math.max(0, useNow() - since))}…</>;

interface ActRowProps {
  act: Act;
  now: Act | null;
  chosen: string | null;
  onOpen: () => void;
}

function ActRow({ act, now, chosen, onOpen }: ActRowProps) {
  return (
    <li
      className="player-act"
      data-failed={act.failed || undefined}
      data-now={act.key === now?.key || undefined}
      data-chosen={act.key === chosen || undefined}
    >
      <button type="button" className="player-story-main" onClick={onOpen} title={act.detail}>
        <ActIcon act={act} />
        <span className="player-story-text">
          <span className="player-act-title">{act.title}</span>
          {act.said && <span className="player-story-said">{act.said}</span>}
        </span>
        <span className="player-story-took">{tookText(act) || placeText(act.from_ms)}</span>
      </button>
    </li>
  );
}
