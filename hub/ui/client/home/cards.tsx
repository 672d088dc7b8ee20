import { Link } from "wouter";
import type { Figures, HostFigures } from "#shared/protocol/schema/figures.ts";
import type { DashboardOverview } from "#shared/protocol/schema/flow.ts";
import { workloadHref } from "../lib/links.ts";
import { useNow } from "../lib/now.ts";
import { bytesText, countText, durationText, percentText } from "../lib/units.ts";
import { workloadLook } from "../parts/status/workload.ts";
import { StatusMark } from "../parts/status-mark.tsx";
import { Card } from "./card.tsx";
import { forecastText } from "./home-words.ts";
import { capturesHref, settingsHref, workloadsHref } from "./links.ts";

const MOST_ROWS = 5;
/** A smaller share of captures that went well is marked. */
const WELL = 0.9;

function HostRow({ one, since }: { one: HostFigures; since: string }) {
  const ended = one.completed + one.http_error + one.failed;
  const completed = one.completed - one.login_needed;
  const good = ended === 0 ? null : completed / ended;
  const share = (n: number) => `${ended === 0 ? 0 : (n / ended) * 100}%`;
  const parts = [
    { n: completed, color: "--c-ok" },
    { n: one.http_error + one.login_needed, color: "--c-warn" },
    { n: one.failed, color: "--c-bad" },
  ];
  return (
    <li className="home-row">
      <Link
        className="home-row-name"
        href={capturesHref({ host: one.host, since })}
        title={one.host}
      >
        {one.host}
      </Link>
      <span className="home-meter" aria-hidden>
        {parts.map(({ n, color }) => (
          <i key={color} style={{ width: share(n), background: `var(${color})` }} />
        ))}
      </span>
      <span
        className="home-number"
        data-bad={(good !== null && good < WELL) || undefined}
        title={one.error ?? `${countText(completed)} of ${countText(ended)} succeeded`}
      >
        {percentText(good)}
      </span>
      <span className="home-number">{durationText(one.median_ms)}</span>
    </li>
  );
}

/** The hosts that fail most, then the slowest. */
export function HostsCard({ figures }: { figures: Figures }) {
  const { failing, slow } = figures.hosts;
  const named = new Set(failing.map(({ host }) => host));
  const rows = [...failing, ...slow.filter(({ host }) => !named.has(host))].slice(0, MOST_ROWS);
  return (
    <Card
      title={failing.length > 0 ? "Hosts with trouble" : "Slowest hosts"}
      aside={<span className="home-heads">succeeded · median</span>}
    >
      <ul className="home-rows">
        {rows.map((one) => (
          <HostRow key={one.host} one={one} since={figures.from} />
        ))}
        {rows.length === 0 && (
          <li className="home-none">Fewer than three captures of any host, and none failed.</li>
        )}
      </ul>
    </Card>
  );
}

const BROKEN = workloadLook({ enabled: true, broken: true, running: 0, success_rate: null });

/** What waits and how fast it goes; broken workloads first, then the longest queues. */
export function QueueCard({ overview }: { overview: DashboardOverview }) {
  const broken = new Set(overview.problems.map(({ workload }) => workload));
  const rank = ({ workload }: { workload: string }) => (broken.has(workload) ? 0 : 1);
  const rows = [...overview.queue_depths]
    .sort((a, b) => rank(a) - rank(b) || b.pending - a.pending || b.done_per_min - a.done_per_min)
    .slice(0, MOST_ROWS);
  return (
    <Card title="Task queue" aside={<span className="home-heads">ready · done a minute</span>}>
      <ul className="home-rows">
        {rows.map(({ workload, pending, done_per_min }) => (
          <li key={workload} className="home-row">
            <Link className="home-row-name" href={workloadHref(workload)} title={workload}>
              {workload}
            </Link>
            {broken.has(workload) && <StatusMark look={BROKEN} />}
            <span className="home-number">{countText(pending)}</span>
            <span className="home-number">{countText(Math.round(done_per_min * 10) / 10)}</span>
          </li>
        ))}
        {rows.length === 0 && (
          <li className="home-none">
            No workload yet. <Link href={workloadsHref}>Make one</Link>
          </li>
        )}
      </ul>
    </Card>
  );
}

const KINDS: Record<string, { word: string; color: string }> = {
  bodies: { word: "Bodies", color: "--c-1" },
  recordings: { word: "Recordings", color: "--c-5" },
  profiles: { word: "Profiles", color: "--c-6" },
  database: { word: "Records and logs", color: "--c-4" },
};
/** What is stored, and the room that is left. */
export function StorageCard({ figures: { storage } }: { figures: Figures }) {
  const now = useNow();
  const stored = storage.kinds.reduce((sum, { bytes }) => sum + bytes, 0);
  const size = storage.size_bytes ?? stored;
  const shown = storage.kinds.filter(({ bytes }) => bytes > 0);
  const share = (bytes: number) => `${size === 0 ? 0 : (bytes / size) * 100}%`;
  const others = Math.max(0, size - (storage.free_bytes ?? 0) - stored);
  return (
    <Card
      title="Storage"
      aside={
        <Link className="home-heads" href={settingsHref}>
          {storage.free_bytes === null
            ? bytesText(stored)
            : `${bytesText(stored)} · ${bytesText(storage.free_bytes)} free`}
        </Link>
      }
    >
      <div className="home-storage">
        <span className="home-meter" aria-hidden>
          {shown.map(({ kind, bytes }) => (
            <i
              key={kind}
              style={{ width: share(bytes), background: `var(${KINDS[kind]?.color})` }}
            />
          ))}
          {storage.free_bytes !== null && (
            <i style={{ width: share(others), background: "var(--c-rest)" }} />
          )}
        </span>
        <ul className="home-legend">
          {shown.map(({ kind, bytes }) => (
            <li key={kind}>
              <i style={{ background: `var(${KINDS[kind]?.color})` }} aria-hidden />
              {KINDS[kind]?.word} {bytesText(bytes)}
            </li>
          ))}
          {others > 0 && storage.free_bytes !== null && (
            <li>
              <i style={{ background: "var(--c-rest)" }} aria-hidden />
              Not Flotilla's {bytesText(others)}
            </li>
          )}
        </ul>
        <p>{forecastText(storage, now)}</p>
      </div>
    </Card>
  );
}
