import { useEffect, useRef, useState } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import { open } from "../../lib/http.ts";

/** A browser has few connections for one server: at most this many load previews at a time. */
const AT_ONCE = 3;
/** After a preview that failed, the wait for the next one is this much longer. */
const BACK_OFF = 5;
const TIMEOUT_MS = 10_000;

let taken = 0;
const waiting: (() => void)[] = [];

async function takeTurn(): Promise<() => void> {
  if (taken >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else taken += 1;
  return () => {
    const next = waiting.shift();
    if (next) next();
    else taken -= 1;
  };
}

async function readPreview(sid: string, signal: AbortSignal): Promise<Blob> {
  const done = await takeTurn();
  try {
    signal.throwIfAborted();
    const response = await open("GET /sessions/{sid}/preview.jpg", {
      params: { sid },
      headers: { accept: "image/jpeg" },
      signal,
      timeout_ms: TIMEOUT_MS,
    });
    return await response.blob();
  } finally {
    done();
  }
}

export type Picture = { state: "coming" } | { state: "there"; url: string } | { state: "none" };

/**
 * The picture of a session, a new one every `interval_ms` while the returned element is in view of a page that is seen.
 * One picture is kept at a time.
 */
export function usePreview(sid: string, interval_ms: number) {
  const box = useRef<HTMLDivElement>(null);
  const [picture, setPicture] = useState<Picture>({ state: "coming" });
  useEffect(() => {
    if (box.current === null) return;
    const gone = new AbortController();
    let url: string | null = null;
    let in_view = false;
    let reading = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isSeen = () => in_view && !document.hidden && !gone.signal.aborted;
    const show = (blob: Blob) => {
      const before = url;
      url = URL.createObjectURL(blob);
      setPicture({ state: "there", url });
      if (before !== null) URL.revokeObjectURL(before);
    };
    const step = async () => {
      clearTimeout(timer);
      if (reading || !isSeen()) return;
      reading = true;
      let wait_ms = interval_ms;
      try {
        const blob = await readPreview(sid, gone.signal);
        if (!gone.signal.aborted) show(blob);
      } catch (err) {
        if (gone.signal.aborted) return;
        wait_ms *= BACK_OFF;
        if (url === null) setPicture({ state: "none" });
        if (err instanceof FlotillaError && err.status === 404) return;
      } finally {
        reading = false;
      }
      timer = setTimeout(step, wait_ms);
    };
    const observer = new IntersectionObserver(([entry]) => {
      in_view = entry?.isIntersecting ?? false;
      void step();
    });
    const onVisible = () => void step();
    observer.observe(box.current);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      gone.abort();
      clearTimeout(timer);
      observer.disconnect();
      document.removeEventListener("visibilitychange", onVisible);
      if (url !== null) URL.revokeObjectURL(url);
    };
  }, [sid, interval_ms]);
  return [box, picture] as const;
}
