import type { QueryClient } from "@tanstack/react-query";
import { loginStore, whoAmI } from "./logins.ts";

let live = false;
const listeners = new Set<() => void>();

/** Whether the stream of changes is open. */
export const isLive = (): boolean => live;
export const subscribeLive = (heard: () => void) => {
  listeners.add(heard);
  return () => void listeners.delete(heard);
};

function setLive(next: boolean): void {
  if (live === next) return;
  live = next;
  for (const heard of listeners) heard();
}

/** What a topic changes besides itself. */
const ALSO: Record<string, readonly string[]> = {
  "v1/tasks": ["v1/workloads", "v1/runs", "v1/dashboard", "v1/flow"],
  "v1/workloads": ["v1/dashboard", "v1/flow"],
  "v1/workers": ["v1/flow"],
  sessions: ["workers", "health", "figures"],
  jobs: ["figures"],
  workers: ["health", "figures"],
};

/** What changed while it was being read, and must be read again. */
let missed = new Set<string>();
let waiting = false;
const CATCH_UP_MS = 1_000;
/** Until then, the pages poll. */
const REFUSED_MS = 30_000;

/** A read under way is left to end: with a change every second one that takes longer would never be shown. */
function readAgain(client: QueryClient, topics: ReadonlySet<string>): void {
  const predicate = ({ queryKey }: { queryKey: readonly unknown[] }) =>
    topics.has(String(queryKey[0]));
  for (const { queryKey } of client
    .getQueryCache()
    .findAll({ type: "active", fetchStatus: "fetching", predicate }))
    missed.add(String(queryKey[0]));
  void client.invalidateQueries({ predicate }, { cancelRefetch: false });
  if (missed.size === 0 || waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    const again = missed;
    missed = new Set();
    readAgain(client, again);
  }, CATCH_UP_MS);
}

/** Reads changed data again while the page is visible; a page in the background does nothing. */
export function startLive(client: QueryClient): void {
  let stream: EventSource | null = null;
  let again: ReturnType<typeof setTimeout> | undefined;
  let followed = false;
  const opened = () => {
    setLive(true);
    // What changed while it was closed was told to nobody.
    if (followed) void client.invalidateQueries({ type: "active" }, { cancelRefetch: false });
    followed = true;
  };
  const open = () => {
    if (stream !== null) return;
    stream = new EventSource("/ui/changes");
    stream.addEventListener("open", opened);
    stream.addEventListener("error", () => {
      setLive(false);
      // A stream that a server refused is not opened again by the browser.
      if (stream?.readyState === EventSource.CLOSED) again = setTimeout(reopen, REFUSED_MS);
    });
    stream.addEventListener("changed", (event) => {
      const { topics } = JSON.parse(event.data) as { topics: string[] };
      readAgain(client, new Set(topics.flatMap((topic) => [topic, ...(ALSO[topic] ?? [])])));
    });
  };
  const close = () => {
    clearTimeout(again);
    stream?.close();
    stream = null;
    setLive(false);
  };
  const reopen = () => {
    close();
    open();
  };
  const follow = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", follow);
  const reopenRefused = () => {
    if (stream?.readyState === EventSource.CLOSED) reopen();
  };
  window.addEventListener("focus", reopenRefused);
  // A stream that was refused without a login is let in with one.
  loginStore.subscribe(() => {
    if (whoAmI() !== null) reopenRefused();
  });
  follow();
}
