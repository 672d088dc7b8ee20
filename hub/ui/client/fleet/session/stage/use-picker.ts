import { useRef, useState } from "react";
import type { Picked } from "#shared/protocol/schema/recorded-input.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { errorText } from "../../../lib/query.ts";
import { act } from "../act.ts";

/** The element under the pointer, or the one that was chosen, with the ways to select it. */
export interface Picker {
  on: boolean;
  start(): void;
  stop(): void;
  /** What is under the pointer, or was chosen. */
  picked: Picked | null;
  /** It stays when the pointer moves on. */
  chosen: boolean;
  error: string | null;
  /** The selector whose matches are framed; by default the first. */
  shown: number;
  show(index: number): void;
  /** Asks for what is at a point of the picture; while an answer is due, the last point counts. */
  point(at: { x: number; y: number }): void;
  choose(): void;
  /** Frames what a selector names. */
  find(selector: string, frame: string[]): Promise<void>;
}

type Asked = Parameters<typeof act<"pick">>[2];

export function usePicker(session: Session): Picker {
  const [on, setOn] = useState(false);
  const [picked, setPicked] = useState<Picked | null>(null);
  const [chosen, setChosen] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [shown, show] = useState(0);
  const next = useRef<Asked | null>(null);
  const busy = useRef(false);
  /** Counts how often everything was forgotten: an answer to an earlier question is then nobody's. */
  const turn = useRef(0);
  const tell = (answer: Picked | null, failed: string | null, of_point: boolean) => {
    setPicked(answer);
    setError(failed);
    show(0);
    // A click chose it before its answer was there.
    if (failed !== null || (of_point && answer?.element === null)) setChosen(false);
  };
  const ask = async (asked: Asked) => {
    next.current = asked;
    if (busy.current) return;
    busy.current = true;
    while (next.current !== null) {
      const now = next.current;
      const its_turn = turn.current;
      next.current = null;
      try {
        const answer = await act(session, "pick", now);
        if (its_turn === turn.current) tell(answer, null, now.selector === undefined);
      } catch (err) {
        if (its_turn === turn.current) tell(null, errorText(err), false);
      }
    }
    busy.current = false;
  };
  const clear = () => {
    turn.current += 1;
    next.current = null;
    setPicked(null);
    setChosen(false);
    setError(null);
  };
  return {
    on,
    start: () => {
      clear();
      setOn(true);
    },
    stop: () => {
      clear();
      setOn(false);
    },
    picked,
    chosen,
    error,
    shown,
    show,
    point: (at) => void (chosen || ask({ ...at, timeout_s: 5 })),
    choose: () => setChosen(busy.current || (picked !== null && picked.element !== null)),
    find: async (selector, frame) => {
      clear();
      setChosen(true);
      await ask({ selector, ...(frame.length > 0 && { frame }), timeout_s: 5 });
    },
  };
}
