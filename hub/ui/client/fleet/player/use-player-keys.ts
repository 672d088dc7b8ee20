import { useEffect, useRef } from "react";
import { commandOf, type KeyCommand, OWN_KEYS } from "./model/keys.ts";

/** The player's keys, wherever on the page the focus is, unless what has it uses the key itself. */
export function usePlayerKeys(run: (command: KeyCommand) => void): void {
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const command = event.defaultPrevented ? null : commandOf(event);
      if (command === null || !(event.target instanceof Element)) return;
      if (event.target.closest(`${OWN_KEYS[command.do]}, [role=dialog]`)) return;
      // Neither does the page scroll.
      event.preventDefault();
      latest.current(command);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}
