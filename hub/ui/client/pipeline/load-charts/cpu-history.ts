import { useEffect, useRef, useState } from "react";
import type { WorkersCpu } from "#shared/protocol/schema/flow.ts";

/** Readings that are kept while the page is open: two hours of one every 5 s. */
const MOST = 1_440;
export const EMPTY_S = 300;

export interface CpuReading {
  /** Seconds since the epoch. */
  at: number;
  hosts: Record<string, number | null>;
}

/** The last `MOST` answers, newest last. The control plane keeps only the last one. */
export function keepReading(
  before: readonly CpuReading[],
  { hosts }: WorkersCpu,
  at: number,
): CpuReading[] {
  const reading = {
    at,
    hosts: Object.fromEntries(hosts.map(({ host, cpu_percent }) => [host, cpu_percent])),
  };
  // A chart of one moment has no scale: the first reading stands at the end of five empty minutes.
  if (before.length === 0) return [{ at: at - EMPTY_S, hosts: {} }, reading];
  return [...before.slice(-(MOST - 1)), reading];
}

/** CPU of hosts since the page was opened. */
export function useCpuHistory(data: WorkersCpu | undefined, updated_at: number): CpuReading[] {
  const [history, setHistory] = useState<CpuReading[]>([]);
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const now = latest.current;
    if (now && updated_at > 0) setHistory((before) => keepReading(before, now, updated_at / 1_000));
  }, [updated_at]);
  return history;
}
