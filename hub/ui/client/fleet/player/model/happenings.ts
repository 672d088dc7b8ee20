import type { Box, TimedEvent } from "#shared/recording/events.ts";
import { durationText } from "../../../lib/units.ts";
import { type ActKind, actionTitle, kindOf, targetOf } from "./act-words.ts";

/** What the scrubber marks. */
export type MarkKind = "navigation" | "action" | "error" | "input";

/** Something that was done to the page: an action of the API, or a step of a recipe, a script or an agent. */
export interface Act {
  key: string;
  /** When it began and when it was over, in milliseconds since the run began. */
  from_ms: number;
  at_ms: number;
  name: string;
  /** Its arguments, the text of a step, or the error. */
  detail: string;
  failed: boolean;
  box: Box | null;
  /** As a person would say it: `Click button “Buy”`. */
  title: string;
  kind: ActKind;
  /** What was touched; empty where that is not known. */
  target: string;
  /** Why it failed, or why it was done. */
  said: string;
}

export interface Mark {
  at_ms: number;
  kind: MarkKind;
  text: string;
}

/** A line of the console or of the log. */
export interface Said {
  key: string;
  at_ms: number;
  level: "info" | "warn" | "error";
  name: string;
  text: string;
}

const MOST_TEXT = 300;
const short = (text: string): string =>
  text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;

/** `selector: "h1", button: 2` */
function argumentsText(given: Record<string, unknown> | undefined): string {
  const parts = Object.entries(given ?? {}).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${name}: ${text}`;
  });
  return short(parts.join(", "));
}

const withReason = (text: string, reason: string | undefined): string =>
  short(reason ? `${text} — ${reason}` : text);

/** Everything that was done, in the order in which it was over. */
export function actsOf(events: readonly TimedEvent[]): Act[] {
  return events.flatMap((event, i): Act[] => {
    const { at_ms } = event;
    if (event.type === "action") {
      const { name, ms, outcome, error, box = null } = event;
      const detail = [argumentsText(event.arguments), error].filter(Boolean).join(" — ");
      const from_ms = Math.max(0, at_ms - ms);
      const act = { key: `${i}`, from_ms, at_ms, name, detail, failed: outcome === "failed", box };
      const target = short(targetOf(event.arguments));
      const title = short(actionTitle(name, event.arguments));
      return [{ ...act, title, kind: kindOf(name), target, said: error ?? "" }];
    }
    if (event.type !== "step") return [];
    const { of, text, reason, outcome, box = null } = event;
    const detail = withReason(text, reason);
    const failed = outcome === "failed";
    const act = { key: `${i}`, from_ms: at_ms, at_ms, name: `${of} step`, detail, failed, box };
    return [{ ...act, title: short(text), kind: kindOf(text), target: "", said: reason ?? "" }];
  });
}

/** The mark of one event; null for what is only listed. */
function markOf(event: TimedEvent): Omit<Mark, "at_ms"> | null {
  switch (event.type) {
    case "navigation":
      return { kind: "navigation", text: short(event.url) };
    case "action":
      return event.outcome === "failed"
        ? { kind: "error", text: short(`${event.name} failed: ${event.error ?? ""}`) }
        : { kind: "action", text: short(`${event.name} ${argumentsText(event.arguments)}`) };
    case "step":
      return event.outcome === "failed"
        ? { kind: "error", text: short(`${event.of} step failed: ${event.text}`) }
        : { kind: "action", text: short(event.text) };
    case "error":
      return { kind: "error", text: short(event.text) };
    case "request_failed":
      return { kind: "error", text: short(`${event.error}: ${event.url}`) };
    case "input":
      return { kind: "input", text: inputText(event) };
    case "viewer":
      return { kind: "input", text: viewerText(event) };
    default:
      return null;
  }
}

/** What is written when it is over stands where it began: there the picture is about to change. */
function beganAt(event: TimedEvent): number {
  const over = event.type === "action" || event.type === "input";
  return over ? Math.max(0, event.at_ms - (event.ms ?? 0)) : event.at_ms;
}

export function marksOf(events: readonly TimedEvent[]): Mark[] {
  return events.flatMap((event): Mark[] => {
    const mark = markOf(event);
    if (mark === null) return [];
    return [{ at_ms: beganAt(event), kind: mark.kind, text: mark.text }];
  });
}

const INPUTS = { pointer: "Pointer", keys: "Keys", wheel: "Wheel", paste: "Paste" } as const;

function inputText(event: TimedEvent & { type: "input" }): string {
  const by = event.by ? ` by ${event.by}` : "";
  const at = event.x === undefined || event.y === undefined ? "" : ` at ${event.x}, ${event.y}`;
  return `${INPUTS[event.kind]}${by}${at}, ${event.count}×`;
}

const STATES = { connected: "came", took_over: "took over", disconnected: "left" } as const;
const MODES = { view: "to watch", control: "to act" } as const;

/** Who, what, and where from: `desk of anna (10.0.0.7) came to watch`. */
function viewerText({ state, by, from, mode }: TimedEvent & { type: "viewer" }): string {
  const who = [by ?? "somebody", from && from !== by ? `(${from})` : ""].filter(Boolean).join(" ");
  return [who, STATES[state], state === "connected" && mode ? MODES[mode] : ""]
    .filter(Boolean)
    .join(" ");
}

const said = (
  key: number,
  { at_ms }: TimedEvent,
  name: string,
  text: string,
  level: Said["level"] = "info",
): Said => ({ key: `r${key}`, at_ms, level, name, text });

/** Kinds of events that the run never heard, because its page could have noticed it. */
export function unheardOf(events: readonly TimedEvent[]): readonly string[] {
  const [start] = events;
  const unheard = (start?.type === "start" && start.unheard) || [];
  const heard = new Set(events.flatMap((event) => (event.type === "hears" ? event.kinds : [])));
  return unheard.filter((kind) => !heard.has(kind));
}

const LEVELS: Record<string, Said["level"]> = { error: "error", warning: "warn", warn: "warn" };

const placeText = ({ url, line }: { url?: string; line?: number }): string =>
  url ? ` (${url}${line === undefined ? "" : `:${line}`})` : "";

/** What the page said: its console, errors that nothing caught, and requests that failed. */
export function consoleOf(events: readonly TimedEvent[]): Said[] {
  return events.flatMap((event, i): Said[] => {
    switch (event.type) {
      case "console":
        return [said(i, event, event.level, event.text + placeText(event), LEVELS[event.level])];
      case "error":
        return [said(i, event, "error", event.text + placeText(event), "error")];
      case "request_failed":
        return [said(i, event, "request", `${event.error}: ${event.url}`, "error")];
      default:
        return [];
    }
  });
}

/** Everything else that happened, as lines: what the lane, the tabs and people did. */
export function logOf(events: readonly TimedEvent[]): Said[] {
  return events.flatMap((event, i): Said[] => {
    switch (event.type) {
      case "stage":
        return [said(i, event, "stage", [event.stage, event.text].filter(Boolean).join(": "))];
      case "navigation":
        return [said(i, event, "navigation", [event.status, event.url].filter(Boolean).join(" "))];
      case "viewer":
        return [said(i, event, "viewer", viewerText(event))];
      case "cdp":
        return [said(i, event, event.type, [event.by, event.state].filter(Boolean).join(" "))];
      case "input":
        return [said(i, event, "input", inputText(event))];
      case "tab":
        return [said(i, event, "tab", `${event.state} ${event.url ?? event.tab}`)];
      case "dialog":
        return [said(i, event, "dialog", `${event.kind} ${event.state}: ${event.text ?? ""}`)];
      case "download":
        return [downloadLine(i, event)];
      case "note":
        return [said(i, event, "note", event.text, event.level)];
      default:
        return [];
    }
  });
}

function downloadLine(i: number, event: TimedEvent & { type: "download" }): Said {
  const level = event.state === "failed" ? "error" : "info";
  return said(i, event, "download", `${event.name} ${event.state}`, level);
}

/** `took 1.2 s`, for what took any time. */
export const tookText = ({ from_ms, at_ms }: Act): string =>
  at_ms > from_ms ? durationText(at_ms - from_ms) : "";
