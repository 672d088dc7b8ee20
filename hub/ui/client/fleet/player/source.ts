import type { UseQueryResult } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { pathOf } from "#shared/client/operation.ts";
import type { TimedEvent } from "#shared/recording/events.ts";
import type { Recording, RecordingEvents, VideoFormat } from "#shared/recording/record.ts";
import { call, open } from "../../lib/http.ts";
import { useGet } from "../../lib/query.ts";
import { mergeEvents, readOnFrom } from "./model/events.ts";
import type { ReadBytes } from "./screen/chunks.ts";

/** Whose recording. */
export interface RecordingOf {
  kind: "job" | "session";
  id: string;
}

/** A recording that grows is sent to the hub once a second. */
const LIVE_MS = 1_000;

/** The same routes exist below each. */
const ROUTES = {
  job: {
    record: "/jobs/{id}/recording",
    data: "GET /jobs/{id}/recording/data",
    events: "GET /jobs/{id}/recording/events",
    exports: "/jobs/{id}/recording/exports",
    ask: "POST /jobs/{id}/recording/exports",
    mp4: "GET /jobs/{id}/recording/video.mp4",
    webm: "GET /jobs/{id}/recording/video.webm",
  },
  session: {
    record: "/sessions/{sid}/recording",
    data: "GET /sessions/{sid}/recording/data",
    events: "GET /sessions/{sid}/recording/events",
    exports: "/sessions/{sid}/recording/exports",
    ask: "POST /sessions/{sid}/recording/exports",
    mp4: "GET /sessions/{sid}/recording/video.mp4",
    webm: "GET /sessions/{sid}/recording/video.webm",
  },
} as const;
/** Each route reads its own of the two. */
const paramsOf = (id: string) => ({ id, sid: id });

/** @param enabled whether there can be one */
export const useRecording = (
  { kind, id }: RecordingOf,
  enabled = true,
): UseQueryResult<Recording> =>
  useGet(
    ROUTES[kind].record,
    { params: paramsOf(id) },
    { enabled, refetchInterval: ({ state }) => (state.data?.state === "live" ? LIVE_MS : false) },
  );

/** All events so far; they are read on as the recording grows. */
export function useRecordingEvents(
  { kind, id }: RecordingOf,
  count: number,
): { events: readonly TimedEvent[]; error: unknown } {
  const [events, setEvents] = useState<readonly TimedEvent[]>([]);
  const [error, setError] = useState<unknown>(null);
  const known = useRef(events);
  useEffect(() => {
    known.current = events;
  }, [events]);
  useEffect(() => {
    if (count === known.current.length) return;
    const over = new AbortController();
    const readOn = async () => {
      let all = known.current;
      for (let more = true; more; ) {
        const after_ms = readOnFrom(all);
        const answer: RecordingEvents = await call(ROUTES[kind].events, {
          params: paramsOf(id),
          query: { after_ms },
          signal: over.signal,
        });
        if (over.signal.aborted) return;
        all = mergeEvents(all, after_ms, answer.items);
        ({ more } = answer);
      }
      setEvents(all);
      setError(null);
    };
    readOn().catch((err) => {
      if (!over.signal.aborted) setError(err);
    });
    return () => over.abort();
  }, [kind, id, count]);
  return { events, error };
}

/** Reads bytes of the recording's file. */
export const readerOf =
  ({ kind, id }: RecordingOf): ReadBytes =>
  async (offset, length, signal) => {
    const response = await open(ROUTES[kind].data, {
      params: paramsOf(id),
      headers: { accept: "*/*", range: `bytes=${offset}-${offset + length - 1}` },
      signal,
    });
    return new Uint8Array(await response.arrayBuffer());
  };

/** The videos of a recording that has ended; while one is made, how far it is. */
export const useExports = ({ kind, id }: RecordingOf, enabled: boolean) =>
  useGet(
    ROUTES[kind].exports,
    { params: paramsOf(id) },
    {
      enabled,
      refetchInterval: ({ state }) =>
        state.data?.items.some(({ status }) => status === "queued" || status === "running")
          ? LIVE_MS
          : false,
    },
  );

export const askForVideo = ({ kind, id }: RecordingOf, format: VideoFormat) =>
  call(ROUTES[kind].ask, { params: paramsOf(id), json: { format } });

export const videoAddress = ({ kind, id }: RecordingOf, format: VideoFormat): string =>
  pathOf(ROUTES[kind][format], { params: paramsOf(id) });
