import {
  IconBroadcast,
  IconCircleDot,
  IconClockOff,
  IconHandFinger,
  IconLoader2,
  IconUnlink,
} from "@tabler/icons-react";
import { type Look, look } from "./look.ts";

interface Told {
  state: "opening" | "active" | "ended";
  /** Why it ended, in the server's words. */
  end_reason?: string | null;
  /** Who has the mouse: null is nobody, `you` this person. */
  driver?: string | null;
}

const LOST = /crash|browser|worker|lost|gone|connection/i;
const UNUSED = /idle|expire|unused|ttl|lifetime/i;

export function sessionLook({ state, end_reason = null, driver = null }: Told): Look {
  if (state === "opening") return look("Opening", "live", IconLoader2);
  if (state === "active")
    return driver === null
      ? look("Live", "live", IconBroadcast)
      : look(driver === "you" ? "You drive" : `${driver} drives`, "live", IconHandFinger);
  if (end_reason !== null && UNUSED.test(end_reason))
    return look("Ended, unused", "idle", IconClockOff);
  if (end_reason !== null && LOST.test(end_reason)) return look("Browser lost", "bad", IconUnlink);
  return look("Ended", "idle", IconCircleDot);
}
