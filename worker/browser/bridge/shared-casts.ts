import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { LiveSession } from "../session/live-session.ts";
import { type Screencast, startScreencast } from "./screencast.ts";

/** One screencast for all viewers of a session: it runs while at least one is watching. */
export interface SharedCasts {
  /** @throws when the browser does not answer. */
  take(session: LiveSession): Promise<{ screencast: Screencast; release(): void }>;
}

export function createSharedCasts(deps: { port: number; clock: Clock; log: Log }): SharedCasts {
  /** The running one of each session, with its number of viewers. */
  const running = new Map<string, { starting: Promise<Screencast>; viewers: number }>();

  return {
    take: async (session) => {
      const key = session.session_id;
      let entry = running.get(key);
      if (!entry) {
        const starting = startScreencast({ ...deps, activeTarget: () => session.activeTarget() });
        const started = { starting, viewers: 0 };
        entry = started;
        running.set(key, started);
        const forget = () => {
          if (running.get(key) === started) running.delete(key);
        };
        // A browser that was replaced gets a new screencast.
        starting.then((cast) => cast.closed.then(forget), forget);
      }
      const mine = entry;
      mine.viewers += 1;
      let released = false;
      const release = () => {
        if (released) return;
        released = true;
        mine.viewers -= 1;
        if (mine.viewers > 0) return;
        if (running.get(key) === mine) running.delete(key);
        mine.starting.then((cast) => cast.close()).catch(() => {});
      };
      try {
        return { screencast: await mine.starting, release };
      } catch (err) {
        release();
        throw err;
      }
    },
  };
}
