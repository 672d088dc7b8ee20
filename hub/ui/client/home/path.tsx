import { Button } from "@mantine/core";
import { IconPlugConnected, IconServer, IconTerminal2 } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { counted } from "#shared/kit/words.ts";
import type { Figures } from "#shared/protocol/schema/figures.ts";
import { PageHead } from "../parts/page-head.tsx";
import { UpdatesBanner } from "../parts/updates/banner.tsx";
import { type FirstRun, STEPS, type Step } from "./first-run.ts";
import {
  CapturePicture,
  CaptureStep,
  isOver as hasEnded,
  useCapture,
} from "./steps/capture-step.tsx";
import { EngineStep } from "./steps/engine-step.tsx";
import { StepFrame } from "./steps/frame.tsx";
import { SessionPicture, SessionStep } from "./steps/session-step.tsx";
import { TasksStep } from "./steps/tasks-step.tsx";

const TITLES: Record<Step, { title: string; text: string }> = {
  capture: {
    title: "Capture a page",
    text: "Opens it in a real Chromium and keeps every byte, every frame and the page's own log.",
  },
  session: {
    title: "Open a live session",
    text: "A browser that stays open: watch it, take it over, drive it from a script.",
  },
  tasks: {
    title: "Run ten tasks",
    text: "A small workload with a queue and a record of every attempt.",
  },
  engine: {
    title: "Add an engine",
    text: "Let a model answer questions about a page, or write the script for you.",
  },
};

const WAYS = [
  { icon: IconTerminal2, text: "Do it with curl", href: "/guide/start/first-job" },
  {
    icon: IconPlugConnected,
    text: "Connect Playwright or Puppeteer",
    href: "/guide/how-to/playwright",
  },
  { icon: IconServer, text: "Add another worker", href: "/guide/how-to/several-machines" },
];

/** What is there to begin with. */
function readiness(lanes: Figures["lanes"] | undefined): string {
  if (lanes === undefined) return "Flotilla is ready.";
  if (lanes.workers === 0)
    return "No browser worker is connected yet. The steps wait until one is: start it where Chromium is installed.";
  const has = lanes.workers === 1 ? "one worker" : `${lanes.workers} workers`;
  const verb = lanes.workers === 1 ? "is" : "are";
  return `Flotilla is ready: ${has} with ${counted(lanes.total, "browser lane")} ${verb} connected.`;
}

interface PathProps {
  run: FirstRun;
  change: (changed: Partial<FirstRun>) => void;
  /** Of the steps that this server has. */
  done: Partial<Record<Step, boolean>>;
  lanes: Figures["lanes"] | undefined;
  onEnd: () => void;
}

/** The first run, done in place: each step leaves something that can be kept. */
export function FirstRunPath({ run, change, done: known, lanes, onEnd }: PathProps) {
  const steps = STEPS.filter((step) => step in known);
  const [job_id, setJob] = useState("");
  const [sid, setSid] = useState("");
  const [round, setRound] = useState("");
  const [engine, setEngine] = useState("");
  const capture = useCapture(job_id);
  // What was done here is known before the server's figures say it.
  const done = {
    ...known,
    capture: known.capture || (capture.data !== undefined && hasEnded(capture.data)),
    session: known.session || sid !== "",
    tasks: known.tasks || round !== "",
    engine: known.engine || engine !== "",
  };
  const isOver = (step: Step) => done[step] === true || run.skipped.includes(step);
  const next = steps.find((step) => !isOver(step));
  // What is read again closes no step: what came of it stays until the reader goes on, and the figures may say that it is
  // done before its own answer does.
  const [open, setOpen] = useState<Step | null>(next ?? null);
  const job = capture.data;
  const skip = (step: Step) => {
    change({ skipped: [...run.skipped, step] });
    setOpen(steps.find((one) => one !== step && !isOver(one)) ?? null);
  };
  const body: Record<Step, () => ReactNode> = {
    capture: () => <CaptureStep job={job} onJob={setJob} />,
    session: () => <SessionStep sid={sid} address={job?.url ?? ""} onSession={setSid} />,
    tasks: () => <TasksStep round={round} onRound={setRound} />,
    engine: () => <EngineStep onEngine={setEngine} />,
  };
  const following = steps.find((step) => step !== open && !isOver(step));
  return (
    <>
      <PageHead
        title="Home"
        primary={
          <Button variant="subtle" color="gray" onClick={onEnd}>
            {next === undefined ? "Show Home" : "Hide these steps"}
          </Button>
        }
      />
      <UpdatesBanner alarms />
      <div className="first-run">
        <div>
          <h2 className="first-title">
            {next === undefined ? "That was all of it" : "See your first page in ten seconds"}
          </h2>
          <p className="first-lead">
            {readiness(lanes)}{" "}
            {next !== undefined &&
              `${steps.length === 1 ? "One step shows what it does, and leaves" : "Four steps show what it does; each leaves"} something you can keep.`}
          </p>
          <ol className="first-steps">
            {steps.map((step, i) => (
              <StepFrame
                key={step}
                n={i + 1}
                {...TITLES[step]}
                state={
                  step === open
                    ? "open"
                    : done[step]
                      ? "done"
                      : run.skipped.includes(step)
                        ? "skipped"
                        : "later"
                }
                onOpen={() => setOpen(step)}
                onSkip={done[step] ? null : () => skip(step)}
              >
                {body[step]()}
                {done[step] && following !== undefined && (
                  <Button
                    mt="sm"
                    variant="default"
                    onClick={() => setOpen(following)}
                  >{`Next: ${TITLES[following].title.toLowerCase()}`}</Button>
                )}
                {done[step] && next === undefined && (
                  <Button mt="sm" onClick={onEnd}>
                    Show Home
                  </Button>
                )}
              </StepFrame>
            ))}
          </ol>
        </div>
        <div className="first-aside">
          {open === "session" && sid !== "" ? (
            <SessionPicture sid={sid} />
          ) : (
            <CapturePicture job={job} />
          )}
          <ul className="first-ways">
            {WAYS.map(({ icon: Icon, text, href }) => (
              <li key={href}>
                <a href={href} target="_blank" rel="noreferrer">
                  <Icon size={14} aria-hidden />
                  {text}
                </a>
              </li>
            ))}
          </ul>
        </div>
      </div>
    </>
  );
}
