import { isBrowserUi } from "../cdp/browser-ui.ts";
import type { CdpConnection, CdpSession } from "../cdp/connection.ts";

/**
 * Runs in every page, frame, worker and worklet before scripts of its own. Each function is replaced by a proxy of
 * itself, which looks to scripts as the browser's own does. A target may have several sessions: the mark keeps a second
 * one from moving the clock again.
 */
const MOVE_CLOCK = `(offset_ms) => {
  const mark = Symbol.for("flotilla replay clock");
  const RealDate = Date;
  if (RealDate[mark] === true) return;
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;
  const realNow = RealDate.now;
  const realText = RealDate.prototype.toString;
  const now = () => realNow() + offset_ms;
  const replace = (owner, name, part, act) => {
    const had = owner && getOwnPropertyDescriptor(owner, name);
    if (!had?.configurable || typeof had[part] !== "function") return;
    defineProperty(owner, name, { ...had, [part]: new Proxy(had[part], { apply: act }) });
  };

  replace(RealDate, "now", "value", now);
  defineProperty(RealDate, mark, { value: true });
  const MovedDate = new Proxy(RealDate, {
    apply: () => apply(realText, new RealDate(now()), []),
    construct: (real, given, made) => construct(real, given.length === 0 ? [now()] : given, made),
  });
  defineProperty(globalThis, "Date", {
    ...getOwnPropertyDescriptor(globalThis, "Date"),
    value: MovedDate,
  });
  defineProperty(RealDate.prototype, "constructor", {
    ...getOwnPropertyDescriptor(RealDate.prototype, "constructor"),
    value: MovedDate,
  });

  const formats = globalThis.Intl?.DateTimeFormat?.prototype;
  const given = (values) => (values[0] === undefined ? [now()] : values);
  replace(formats, "formatToParts", "value", (real, self, values) => apply(real, self, given(values)));
  replace(formats, "format", "get", (real, self) =>
    new Proxy(apply(real, self, []), {
      apply: (format, of, values) => apply(format, of, given(values)),
    }),
  );

  const moved = (real, self) => {
    const ms = apply(real, self, []);
    // 0 says that it has not happened.
    return ms === 0 ? 0 : ms + offset_ms;
  };
  replace(globalThis.Performance?.prototype, "timeOrigin", "get", moved);
  const timing = globalThis.PerformanceTiming?.prototype;
  for (const name of timing ? ownKeys(timing) : []) replace(timing, name, "get", moved);

  const Clock = globalThis.Temporal?.Now;
  if (!Clock) return;
  const { Instant } = Temporal;
  const { timeZoneId } = Clock;
  const instant = () => Instant.fromEpochMilliseconds(now());
  const zoned = (zone = timeZoneId()) => instant().toZonedDateTimeISO(zone);
  replace(Clock, "instant", "value", instant);
  replace(Clock, "zonedDateTimeISO", "value", (_real, _self, [zone]) => zoned(zone));
  replace(Clock, "plainDateTimeISO", "value", (_real, _self, [zone]) => zoned(zone).toPlainDateTime());
  replace(Clock, "plainDateISO", "value", (_real, _self, [zone]) => zoned(zone).toPlainDate());
  replace(Clock, "plainTimeISO", "value", (_real, _self, [zone]) => zoned(zone).toPlainTime());
}`;

/**
 * Moves the clock that scripts in this browser see by `offset_ms` (rules/replay#the-clock). The commands are the first
 * of each session, so a target that waits has them before it runs.
 */
export function movePageClock(connection: CdpConnection, offset_ms: number): void {
  const source = `(${MOVE_CLOCK})(${Math.round(offset_ms)});`;
  connection.onSession.add((session: CdpSession) => {
    const { target } = session;
    if (target === null || isBrowserUi(target)) return;
    if (target.type === "page" || target.type === "iframe")
      session.post("Page.addScriptToEvaluateOnNewDocument", { source, runImmediately: true });
    else session.post("Runtime.evaluate", { expression: source });
  });
}
