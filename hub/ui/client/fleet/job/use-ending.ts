import { useEffect, useRef, useState } from "react";
import type { Job } from "#shared/protocol/schema/job.ts";

/** How long the page says so. */
const SAID_MS = 20_000;

/** Whether the job has ended a short while ago, before the eyes of whoever watches it. */
export function useEnding({ finished_at }: Job): boolean {
  const over = finished_at !== null;
  const ran = useRef(!over);
  const [said, setSaid] = useState(false);
  useEffect(() => {
    if (!over || !ran.current) return;
    ran.current = false;
    setSaid(true);
    const timer = setTimeout(() => setSaid(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [over]);
  return said;
}
