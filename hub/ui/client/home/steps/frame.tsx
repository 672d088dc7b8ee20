import { IconCheck } from "@tabler/icons-react";
import type { ReactNode } from "react";

interface StepFrameProps {
  n: number;
  title: string;
  text: string;
  state: "open" | "later" | "done" | "skipped";
  onOpen: () => void;
  /** Null where it is done. */
  onSkip: (() => void) | null;
  children: ReactNode;
}

const WORDS = { done: "Done", skipped: "Left out", open: null, later: null };

/** One step of the first run: its number, what it is for, and in the one that is open what does it. */
export function StepFrame({ n, title, text, state, onOpen, onSkip, children }: StepFrameProps) {
  const open = state === "open";
  return (
    <li className="first-step" data-state={state}>
      <span className="first-number" aria-hidden>
        {state === "done" ? <IconCheck size={14} stroke={2.5} /> : n}
      </span>
      <div className="first-body">
        <h2>
          {open ? (
            title
          ) : (
            <button type="button" onClick={onOpen} aria-expanded={false}>
              {title}
            </button>
          )}
          {WORDS[state] && <span className="first-word">{WORDS[state]}</span>}
        </h2>
        <p>{text}</p>
        {open && <div className="first-do">{children}</div>}
        {open && onSkip && (
          <button type="button" className="first-skip" onClick={onSkip}>
            Leave this step out
          </button>
        )}
      </div>
    </li>
  );
}
