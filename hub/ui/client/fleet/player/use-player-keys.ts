import { useEffect, useRef } from "react";
import { commandOf, type KeyCommand, OWN_KEYS } from "./model/keys.ts";

/** The player's keys, wherever on the page the focus is, unless what has it uses the key itself. */
export function usePlayerKeys(run: (command: KeyCommand) => void): void {
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  useEffect(() => {
    const take = (event: KeyboardEvent, command: KeyCommand | null) => {
      if (command === null || !(event.target instanceof Element)) return;
      if (event.target.closest(`${OWN_KEYS[command.do]}, [role=dialog]`)) return;
      // Neither does the page scroll.
      event.preventDefault();
      event.stopPropagation();
      latest.current(command);
    };
    const pressed = (event: KeyboardEvent) =>
      take(event, event.defaultPrevented ? null : commandOf(event));
    // Every page lists its keys by this one: here it lists those of the player, so that it must be heard first.
    const asked = (event: KeyboardEvent) => {
      const command = commandOf(event);
      if (command?.do === "keys") take(event, command);
    };
    document.addEventListener("keydown", pressed);
    document.addEventListener("keydown", asked, true);
    return () => {
      document.removeEventListener("keydown", pressed);
      document.removeEventListener("keydown", asked, true);
    };
  }, []);
}
