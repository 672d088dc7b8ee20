import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { counted } from "#shared/kit/words.ts";
import { useHealth } from "../lib/health.ts";
import { call } from "../lib/http.ts";
import type { Place } from "./places.ts";

/** A page is there before its navigation asks what else is wrong. */
const AFTER_MS = 1_500;
/** Nothing that a person waits for. */
const EVERY_MS = 30_000;

/** What is wrong in each place, in words; the places that are well are not in it. */
export function useTrouble(): Partial<Record<Place, string>> {
  const [soon, setSoon] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSoon(true), AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  const { data: health } = useHealth();
  // Under a key of its own: the stream of changes would have it read again each second.
  const { data: overview } = useQuery({
    queryKey: ["trouble"],
    queryFn: ({ signal }) => call("GET /api/v1/dashboard/overview", { signal }),
    enabled: soon,
    refetchInterval: EVERY_MS,
    staleTime: EVERY_MS,
  });
  const broken = new Set([
    ...(overview?.problems ?? []).map(({ workload }) => workload),
    ...(overview?.supervised ?? [])
      .filter(({ paused_at, problem }) => paused_at !== null || problem !== null)
      .map(({ workload }) => workload),
  ]).size;
  const degraded = health?.degraded.length ?? 0;
  return {
    ...(broken > 0 && { pipelines: `${counted(broken, "workload")} with a problem` }),
    ...(degraded > 0 && { system: "Not everything works" }),
  };
}
